"""An epoch, and how far a sampler has come in it."""

import dataclasses
import enum
import functools
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .. import Pruner
from .._core import _gather_weights, _weigh_in_order
from ._device_losses import copied_to

NOTHING = np.empty(0, np.int64)
NO_PRIOR = np.empty(0, np.float64)


class Phase(enum.Enum):
    COMING = enum.auto()  # not selected yet
    SELECTED = enum.auto()  # and no pass has begun
    UNDER_WAY = enum.auto()  # a pass hands out its samples
    HANDED_OUT = enum.auto()  # a pass came to its end, or a loaded state leaves nothing to hand out


@functools.lru_cache(maxsize=8)
def _even_factors(count: int) -> torch.Tensor:
    """The factors that turn a sum of losses into their mean; a loop has batches of one or two sizes."""
    with torch.inference_mode(False):  # the first batch may be one of an evaluation
        return torch.full((count,), 1 / count, dtype=torch.float32)


@dataclasses.dataclass(eq=False)
class Chosen:
    """What a pruner chose for an epoch, as it tells it to the ranks that share it."""

    number: int
    selection: Any = None
    clipped_part: float = 0.0
    log_prior: NDArray[np.float64] = dataclasses.field(default_factory=lambda: NO_PRIOR)
    class_counts: NDArray[np.int64] | None = None
    count: int | None = None  # of all ranks, if the selection is only this rank's part

    def epoch_of(self, pruner: Pruner) -> "Epoch":
        selection = self.selection
        weights = None if selection.weights is None else torch.from_numpy(selection.weights)
        count = len(selection.ids) if self.count is None else self.count
        return Epoch(self.number, Phase.SELECTED, selection.ids, weights, pruner.sample_count, self.clipped_part,
                     selection.rate_factor, self.log_prior, self.class_counts, count)


@dataclasses.dataclass(eq=False)
class Epoch:
    """What an epoch trains on, and what has been handed out and observed of it."""

    number: int
    phase: Phase
    ids: NDArray[np.int64]  # what all ranks train on, in training order
    weights: torch.Tensor | None = None  # one per id, if the method has weights
    sample_count: int = 0  # of the data set
    clipped_part: float = 0.0  # of the losses that its selection follows
    rate_factor: float = 1.0  # of the learning rate
    log_prior: NDArray[np.float64] = dataclasses.field(default_factory=lambda: NO_PRIOR)  # up to and with this epoch
    class_counts: NDArray[np.int64] | None = None  # of what all ranks train on, where labels are not at hand
    count: int = 0  # of the samples that all ranks train on
    part: NDArray[np.int64] = dataclasses.field(default_factory=lambda: NOTHING)  # what the pass hands to this rank
    observed: int = 0  # how many samples of it this rank has observed
    batches: int = 0  # in how many calls
    first_batch: int = 0  # the size of the first one
    part_weights: NDArray[np.float32] | None = None  # in its order, if they are known
    _order: torch.Tensor | None = None  # the part, if the pass hands out the ids of the epoch in their order
    _table: torch.Tensor | None = None
    _table_on: dict[torch.device, torch.Tensor] = dataclasses.field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether all of it was handed out and observed. Workers ask for samples long before they are observed."""
        return self.phase is Phase.HANDED_OUT and self.observed >= len(self.part)

    @property
    def table(self) -> torch.Tensor:
        """The weight of every sample of the data set, for batches whose place in the order is not known."""
        if self._table is None:
            assert self.weights is not None
            self._table = torch.ones(self.sample_count, dtype=torch.float32)
            self._table.numpy()[self.ids] = self.weights.numpy()
        return self._table

    def table_beside(self, ids: torch.Tensor) -> torch.Tensor:
        """The table on the device of these ids; it is copied there once an epoch."""
        if ids.device not in self._table_on:
            self._table_on[ids.device] = copied_to(ids.device, self.table)
        return self._table_on[ids.device]

    def weights_of(self, ids: NDArray[np.int64], first: int) -> NDArray[np.float32]:
        """The weights of a batch.

        Args:
            ids: On the host.
            first: How many samples of the pass came before. Most loaders give batches in the order in which they were
                handed out: the weights are then contiguous, and no table is needed.
        """
        assert self.weights is not None
        if self.part_weights is not None and np.array_equal(self.part[first:first + len(ids)], ids):
            return self.part_weights[first:first + len(ids)]
        weights: NDArray[np.float32] = self.table.numpy()[ids]
        return weights

    def factors(self, ids_at: int, count: int) -> torch.Tensor:
        """The factor of each loss in the mean of the next batch, from the address of int64 ids on the host."""
        if self.weights is None:
            return _even_factors(count)
        factors = torch.empty(count, dtype=torch.float32)
        out = factors.data_ptr()
        if self._order is None or not _weigh_in_order(self._order.data_ptr(), self.weights.data_ptr(),
                                                      len(self.part), self.observed, ids_at, out, count):
            _gather_weights(self.table.data_ptr(), ids_at, out, count)
        return factors

    def begin_pass(self, part: NDArray[np.int64], weights: NDArray[np.float32] | None = None) -> None:
        self.phase, self.part, self.observed, self.batches = Phase.UNDER_WAY, part, 0, 0
        self.part_weights = weights
        begins_as_the_epoch = part.strides == self.ids.strides and part.ctypes.data == self.ids.ctypes.data
        self._order = torch.from_numpy(part) if begins_as_the_epoch and self.weights is not None else None

    def end_pass(self, part: NDArray[np.int64]) -> None:
        """Ends a pass; without effect if another one has begun since."""
        if self.part is part:
            self.phase = Phase.HANDED_OUT
