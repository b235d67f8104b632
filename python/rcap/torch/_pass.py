"""What a sampler hands out in one pass, in a form that torchdata's StatefulDataLoader can save and resume."""

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from .. import InvalidArgument

if TYPE_CHECKING:
    from ._sampler import PruningSampler

_PIECE = 4096  # ids converted to Python integers at a time


class LossLog:
    """What is observed from some moment on, in memory that states share.

    A loader with workers asks for the state when it fetches a batch, long before that batch is trained on. So a state
    refers to this log and includes what came later, up to the moment it is written.
    """

    def __init__(self, base: Mapping[str, torch.Tensor], most: int) -> None:
        self.base = base  # the sampler's state at that moment
        self.ids = torch.zeros(most, dtype=torch.int64)
        self.losses = torch.zeros(most, dtype=torch.float32)
        self.count = torch.zeros(1, dtype=torch.int64)

    def add(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        first = int(self.count)
        last = first + len(ids)
        self.ids.numpy()[first:last] = ids
        self.losses.numpy()[first:last] = losses
        self.count += len(ids)

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {**self.base, "ids": self.ids, "losses": self.losses, "count": self.count}


class Pass:
    """A pass of a sampler through its epoch, and how many samples it has handed out."""

    def __init__(self, sampler: "PruningSampler", begins_later: bool) -> None:
        self._sampler = sampler
        self._part: NDArray[np.int64] | None = None if begins_later else sampler._begin_pass()
        self._given = 0  # up to the end of the last piece
        self._piece: Iterator[int] | None = None  # what is left of that piece

    def ids(self) -> Iterator[Iterator[int]]:
        """All ids, piece by piece."""
        for piece in self._pieces(_PIECE, 0):
            self._piece = iter(piece.tolist())
            yield self._piece

    def batches(self, batch_size: int, drop_last: bool) -> Iterator[NDArray[np.int64]]:
        return self._pieces(batch_size, batch_size - 1 if drop_last else 0)

    def _pieces(self, size: int, most_left: int) -> Iterator[NDArray[np.int64]]:
        if self._part is None:
            self._part = self._sampler._begin_pass()
        part: NDArray[np.int64] | None = self._part
        while part is not None:
            while len(part) - self._given > most_left:
                piece = part[self._given:self._given + size]
                self._given += len(piece)
                yield piece
            self._sampler._end_pass(part)
            part = self._sampler._next_window(part)
            if part is not None:
                self._part, self._given = part, 0

    @property
    def done(self) -> int:
        """How many samples were handed out."""
        left = 0 if self._piece is None else self._piece.__length_hint__()  # type: ignore[attr-defined]
        return self._given - left

    def state_dict(self) -> dict[str, Any]:
        if self._part is None:
            return {}
        return {**self._sampler._log().state_dict(), "part": torch.from_numpy(self._part), "done": self.done,
                "own": self._sampler._own_count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self._given > 0:
            raise InvalidArgument("PruningSampler: this pass has already begun; load a state before the first batch")
        if state:
            self._part = self._sampler._resume_pass(state)


class IdIterator(itertools.chain[int]):
    """The ids of a pass, as fast as a list."""

    handed_out: Pass

    @classmethod
    def over(cls, handed_out: Pass) -> "IdIterator":
        ids = cls.from_iterable(handed_out.ids())
        ids.handed_out = handed_out  # type: ignore[attr-defined]  # from_iterable makes one of this class
        return ids  # type: ignore[return-value]

    def state_dict(self) -> dict[str, Any]:
        return self.handed_out.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.handed_out.load_state_dict(state)


class BatchIterator(Iterator[NDArray[np.int64]]):
    """The batches of a pass."""

    def __init__(self, handed_out: Pass, batch_size: int, drop_last: bool) -> None:
        self._handed_out = handed_out
        self._batches = handed_out.batches(batch_size, drop_last)

    def __next__(self) -> NDArray[np.int64]:
        return next(self._batches)

    def state_dict(self) -> dict[str, Any]:
        return self._handed_out.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._handed_out.load_state_dict(state)
