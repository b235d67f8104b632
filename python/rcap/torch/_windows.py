"""Windows: selections that are renewed within a pass over the data."""

from .. import InvalidArgument, Pruner


def require_possible_windows(steps: int | None, batch_size: int | None, hands_out: str) -> None:
    """Refuses what windows of so many steps cannot go with.

    Raises:
        InvalidArgument: If steps is below 1, batch_size is not known, or passes are handed out whole.
    """
    if steps is None:
        return
    if steps < 1 or batch_size is None:
        raise InvalidArgument(f"PruningSampler: window_steps is {steps} and batch_size is {batch_size}; a window has "
                              "at least 1 step of a known batch_size")
    if hands_out == "whole":
        raise InvalidArgument("PruningSampler: window_steps does not go with hands_out=\"whole\": a resumed pass "
                              "cannot hand out its earlier windows again")


def set_windows(pruner: Pruner, steps: int, batch_size: int, rank_count: int) -> None:
    """Gives the pruner windows of so many steps, unless it has them.

    Args:
        pruner: Selects the windows.
        steps: Of each window.
        batch_size: Of each rank.
        rank_count: How many ranks share a window.

    Raises:
        InvalidArgument: If the method does not select windows, they are larger than the data set, or the pruner has
            windows of another size.
    """
    samples = steps * batch_size * rank_count
    if samples > pruner.sample_count:
        raise InvalidArgument(f"PruningSampler: a window of {steps} steps has {samples} samples, more than the "
                              f"{pruner.sample_count} of the data set; choose fewer steps")
    window = samples * pruner.token_count // pruner.sample_count  # with lengths: about so many steps
    if pruner.window is None:
        pruner.set_window(window)
    elif pruner.window != window:
        of = "tokens" if pruner.token_count != pruner.sample_count else "samples"
        raise InvalidArgument(f"PruningSampler: the pruner has windows of {pruner.window} {of}, but {steps} steps of "
                              f"{rank_count} x {batch_size} samples are {window}; leave out one of the two")


def windows_per_pass(pruner: Pruner, steps: int | None) -> int:
    """How many selections a pass over the data has, if windows of so many steps are set."""
    return 1 if steps is None or pruner.window is None else pruner.token_count // pruner.window
