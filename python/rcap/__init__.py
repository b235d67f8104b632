"""Cheaper training: each epoch runs on a small, well-chosen part of the data, and every class keeps its share of it.

    import rcap

    pruner = rcap.RCAP(labels, pruning_rate=0.9)
    pruner.observe(range(len(labels)), initial_losses)    # once, before training
    for epoch in range(epochs):
        selection = pruner.select(epoch)                   # int64 positions in the data set
        pruner.observe(selection.ids, train(selection.ids))

`rcap.torch` has a sampler for PyTorch's DataLoader, `rcap.lightning` a callback, `rcap.hf` a mixin for the Trainer of
transformers. None of them is imported, and nothing they need, before you ask for it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ._core import (
    CCS, RCAP, RS2, TDDS, UCB, Balanced, DivergenceScorer, EpsilonGreedy, Full, InfoBatch, MarginScorer, MetriQ, Pruner,
    Random, RecallScorer, RS2Replace, Selection)

if TYPE_CHECKING:  # the stub of _core, which nanobind makes, has classes alone that say they are of _core
    __version__: str

    class Error(Exception): ...
    class InvalidArgument(Error, ValueError): ...
    class BadFile(Error, OSError): ...
    class StateMismatch(Error, ValueError): ...
    class InternalError(Error, RuntimeError): ...
else:
    from ._core import BadFile, Error, InternalError, InvalidArgument, StateMismatch, __version__

METHODS: dict[str, type[Pruner]] = {
    "rcap": RCAP, "rs2": RS2, "rs2-replace": RS2Replace, "infobatch": InfoBatch, "ucb": UCB,
    "epsilon-greedy": EpsilonGreedy, "ccs": CCS, "metriq": MetriQ, "tdds": TDDS, "random": Random,
    "balanced": Balanced, "full": Full}
"""The class of every method, by the name that the command line gives it."""


def make_pruner(method: str, labels: object, **options: object) -> Pruner:
    """Makes a pruner by the name of its method.

    >>> make_pruner("rs2", [0, 1, 0, 1], pruning_rate=0.5).keep_count
    2

    Args:
        method: A name of `METHODS`.
        labels: The class of every sample.
        **options: Those of the method.

    Raises:
        InvalidArgument: If there is no such method, or labels or options break a rule.
    """
    if method not in METHODS:
        raise InvalidArgument(f'make_pruner: there is no method "{method}"; there are {", ".join(METHODS)}')
    make: Callable[..., Pruner] = METHODS[method]
    return make(labels, **options)


__all__ = [
    "METHODS", "make_pruner", "Pruner", "Selection", "RCAP", "RS2", "RS2Replace", "InfoBatch", "UCB", "EpsilonGreedy",
    "CCS", "MetriQ", "TDDS", "Random", "Balanced", "Full", "MarginScorer", "DivergenceScorer", "RecallScorer", "Error",
    "InvalidArgument", "BadFile", "StateMismatch", "InternalError", "__version__"]
