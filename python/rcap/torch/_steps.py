"""What a run will need: losses before it, and how many steps."""

from typing import TYPE_CHECKING

from .. import InvalidArgument, Pruner

if TYPE_CHECKING:
    from ._sampler import PruningSampler


def wants_initial_losses(pruner: Pruner) -> bool:
    """Whether the loss of some sample is still missing before the first epoch."""
    return pruner.needs_initial_losses and pruner.epoch < 0 and pruner.pending_count > 0


def keeps_length(pruner: Pruner) -> bool:
    """Whether all epochs of a method are equally long."""
    first = pruner.planned_batches(1, 1)
    return first is not None and pruner.planned_batches(2, 1) == 2 * first


def planned_count(pruner: Pruner, epoch: int) -> int | None:
    """How many samples an epoch will have; None if the method cannot tell in advance."""
    until, before = pruner.planned_batches(epoch + 1, 1), pruner.planned_batches(epoch, 1)
    return None if until is None or before is None else until - before


def total_steps(sampler: "PruningSampler", epochs: int, batch_size: int) -> int:
    """How many batches each rank makes in a run, for a learning rate schedule of exactly that length.

    Args:
        sampler: The sampler of the run.
        epochs: Epochs of the whole run.
        batch_size: Batch size of one rank's loader.

    Raises:
        InvalidArgument: If the method cannot tell in advance (InfoBatch without batch_size), epochs is negative, or
            batch_size is below 1.
    """
    pruner, whole = sampler.pruner, batch_size * sampler.rank_count
    selections = epochs * sampler.windows_per_pass
    steps = pruner.planned_batches(selections, whole)  # refuses invalid epochs and batch sizes
    if sampler.drops_last:
        counts = [planned_count(pruner, selection) for selection in range(selections)]
        steps = None if None in counts else sum(count // whole for count in counts if count is not None)
    if steps is None:
        raise InvalidArgument(f"total_steps: {pruner.method} cannot tell in advance how many batches it makes; give "
                              "InfoBatch epochs and batch_size (of all ranks), or use a schedule by epoch (by tokens, "
                              "where samples have lengths)")
    return steps
