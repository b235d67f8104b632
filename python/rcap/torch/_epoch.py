"""An epoch, and how far a sampler has come in it."""

import dataclasses
import enum

import numpy as np
import torch
from numpy.typing import NDArray

from ._device_losses import copied_to

NOTHING = np.empty(0, np.int64)


class Phase(enum.Enum):
    COMING = enum.auto()  # not selected yet
    SELECTED = enum.auto()  # and no pass has begun
    UNDER_WAY = enum.auto()  # a pass hands out its samples
    HANDED_OUT = enum.auto()  # a pass came to its end, or a loaded state leaves nothing to hand out


@dataclasses.dataclass(eq=False)
class Epoch:
    """What an epoch trains on, and what has been handed out and observed of it."""

    number: int
    phase: Phase
    ids: NDArray[np.int64]  # what all ranks train on, in training order
    weights: torch.Tensor | None = None  # of every sample of the data set, where the method weighs them
    part: NDArray[np.int64] = dataclasses.field(default_factory=lambda: NOTHING)  # what the pass hands to this rank
    observed: int = 0  # how many samples of it this rank has observed
    batches: int = 0  # how many calls brought them
    first_batch: int = 0  # the size of the first one
    _weights_on: dict[torch.device, torch.Tensor] = dataclasses.field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether all was handed out and observed. Workers ask for samples long before these are observed."""
        return self.phase is Phase.HANDED_OUT and self.observed >= len(self.part)

    def weights_beside(self, ids: torch.Tensor) -> torch.Tensor:
        """The weights of samples whose ids have come to be on a device; all weights are copied there once an epoch."""
        assert self.weights is not None
        if ids.device not in self._weights_on:
            self._weights_on[ids.device] = copied_to(ids.device, self.weights)
        return torch.take(self._weights_on[ids.device], ids)

    def begin_pass(self, part: NDArray[np.int64]) -> None:
        self.phase, self.part, self.observed, self.batches = Phase.UNDER_WAY, part, 0, 0

    def end_pass(self, part: NDArray[np.int64]) -> None:
        """A pass came to its end; that says nothing where another one has begun since."""
        if self.part is part:
            self.phase = Phase.HANDED_OUT
