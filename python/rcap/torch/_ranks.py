"""What a sampler needs from torch.distributed."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from .. import InvalidArgument


ROUNDING = 1e-6  # a loss below 0 by at most this counts as 0

Observed = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Ids and their losses."""


class Ranks:
    """The processes that train together; a single one if torch.distributed is not in use."""

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self._group = group
        self.size = self._current_size()
        self.rank = dist.get_rank(group) if self.size > 1 else 0

    def _current_size(self) -> int:
        active = dist.is_available() and dist.is_initialized()
        return dist.get_world_size(self._group) if active else 1

    def require_unchanged(self) -> None:
        """Raises if the process group was initialised after this was made: each would then train on everything."""
        if self._current_size() != self.size:
            raise InvalidArgument(f"PruningSampler: it was made for {self.size} ranks, now there are "
                                  f"{self._current_size()}; make it after torch.distributed.init_process_group")

    def require_equal(self, where: str, values: Mapping[str, object]) -> None:
        """Raises on every rank if any value differs between ranks."""
        if self.size == 1:
            return
        digests = [hashlib.blake2b(repr(value).encode(), digest_size=7).digest() for value in values.values()]
        numbers = self._gather_numbers([int.from_bytes(digest, "big") for digest in digests])
        for column, (name, value) in enumerate(values.items()):
            others = [rank for rank in range(self.size) if numbers[rank, column] != numbers[self.rank, column]]
            if (numbers[:, column] != numbers[0, column]).any():
                raise InvalidArgument(f"{where}: the ranks disagree on {name}: here it is {value}, but not on ranks "
                                      f"{others}; it must be the same on all")

    def gather_number(self, number: int) -> list[int]:
        """A number of each rank."""
        return [number] if self.size == 1 else self._gather_numbers([number])[:, 0].tolist()

    def gather(self, parts: "Sequence[Observed]", progress: Mapping[str, int]) -> "list[Observed]":
        """The ids and losses of all ranks, whose numbers may differ; several pairs of arrays at once.

        Ranks that have diverged are detected here: `progress` holds, by name, what must be the same on all.
        """
        numbers = self._gather_numbers([*(len(ids) for ids, _ in parts), *progress.values()])
        for column, name in enumerate(progress, len(parts)):
            if (numbers[:, column] != numbers[0, column]).any():
                raise InvalidArgument(f"PruningSampler: the ranks disagree on {name}: {numbers[:, column].tolist()}; "
                                      "all must load the same state, and go through the same epochs")
        gathered = []
        for column, (ids, losses) in enumerate(parts):
            counts = numbers[:, column].tolist()
            gathered.append((self._gather_padded(ids, counts), self._gather_padded(losses, counts)))
        return gathered

    def _gather_numbers(self, numbers: Sequence[int]) -> torch.Tensor:
        return torch.stack(self._all_gather(torch.tensor(numbers, dtype=torch.int64, device=self._device()))).cpu()

    def _gather_padded(self, values: NDArray[Any], counts: Sequence[int]) -> NDArray[Any]:
        if max(counts) == 0:
            return values
        own = torch.from_numpy(values)
        padded = torch.zeros(max(counts), dtype=own.dtype, device=self._device())
        padded[:len(own)] = own.to(padded.device)
        parts = self._all_gather(padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]).cpu().numpy()

    def _all_gather(self, values: torch.Tensor) -> list[torch.Tensor]:
        parts = [torch.empty_like(values) for _ in range(self.size)]
        dist.all_gather(parts, values, group=self._group)
        if values.device.type == "cpu":
            _wait_until_released([values, *parts])
        return parts

    def _device(self) -> torch.device:
        backend = dist.get_backend(self._group)
        return torch.device("cuda", torch.cuda.current_device()) if backend == "nccl" else torch.device("cpu")


def _wait_until_released(tensors: Sequence[torch.Tensor]) -> None:
    """Waits until nobody else holds these tensors.

    Gloo's threads release them a little after a collective returns. The last thread to do so needs the interpreter for
    it, and a worker that a DataLoader forks at that moment hangs forever (seen with Python 3.11).
    """
    use_count = getattr(torch.Tensor, "_use_count", None)  # not a public method; without it, wait long enough
    if use_count is None:
        time.sleep(0.01)
        return
    end = time.monotonic() + 1
    while any(use_count(tensor) > 1 for tensor in tensors) and time.monotonic() < end:
        time.sleep(0.0001)


class LocalLosses:
    """What this rank has observed and the others do not have yet.

    A sample that fills up the last batches of a rank belongs to another rank, which reports its loss; here it is
    accepted and ignored.
    """

    _ELSEWHERE, _EXPECTED, _OBSERVED, _REPEAT, _REPEATED = range(5)
    _MOST_NAMED = 8

    def __init__(self, sample_count: int, *, learns: bool, keeps_bad: bool) -> None:
        self._sample_count = sample_count
        self._learns = learns
        self._keeps_bad = keeps_bad
        # Of every sample; None in the pass before training, where any may come.
        self._status: NDArray[np.uint8] | None = None
        self._batches: list[Observed] = []
        self._late: list[Observed] = []

    def __bool__(self) -> bool:
        return bool(self._batches or self._late)

    @property
    def observed(self) -> Observed:
        """What was added since the last `take`."""
        return joined(self._batches)

    def expect(self, own: NDArray[np.int64], repeats: NDArray[np.int64]) -> None:
        """These samples are handed to this rank; the repeats are handed to another one as well."""
        self._status = np.full(self._sample_count, self._ELSEWHERE, np.uint8)
        self._status[repeats] = self._REPEAT
        self._status[own] = self._EXPECTED

    def unobserved(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these samples that were handed to this rank and not observed by it."""
        if self._status is None:
            return ids[:0]
        status = self._status[ids]
        handed_out: NDArray[np.bool_] = (status == self._EXPECTED) | (status == self._REPEAT)
        return ids[handed_out]

    def was_observed(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these samples this rank has observed."""
        if self._status is None:
            return np.zeros(len(ids), bool)
        status = self._status[ids]
        observed: NDArray[np.bool_] = (status == self._OBSERVED) | (status == self._REPEATED)
        return observed

    def owed(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these samples whose loss this rank must report."""
        return ids[self._status[ids] == self._EXPECTED] if self._status is not None else ids[:0]

    def add(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        """Adds the losses of a batch, or refuses all of them. A bad loss that is not refused becomes NaN."""
        ids, losses = self._checked(ids, losses)
        if self._status is not None:
            status = self._status[ids]
            self._refuse_if(status == self._ELSEWHERE, ids, "was not handed to this rank")
            self._refuse_if(status == self._OBSERVED, ids, "was observed before in this epoch; each counts once")
            own = status == self._EXPECTED
            self._status[ids] = np.where(own, self._OBSERVED, self._REPEATED)
            ids, losses = ids[own], losses[own]
        self._batches.append((ids, losses))

    def add_late(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        """Adds losses of the previous epoch."""
        self._late.append(self._checked(ids, losses))

    def take(self) -> tuple[Observed, Observed]:
        """Removes and returns all losses: those of this epoch, and those of the previous one."""
        taken = joined(self._batches), joined(self._late)
        self._batches, self._late = [], []
        return taken

    def _checked(self, ids: NDArray[Any], losses: NDArray[Any]) -> Observed:
        if len(ids) != len(losses):
            raise InvalidArgument(f"observe: {len(losses)} losses for {len(ids)} ids; give one loss per sample, not "
                                  "the mean of a batch")
        if ids.dtype.kind not in "iu":
            raise InvalidArgument(f"observe: ids must be integers, not {ids.dtype}")
        self._refuse_if((ids < 0) | (ids >= self._sample_count), ids,
                        f"does not exist; ids lie between 0 and {self._sample_count - 1}")
        ordered = np.sort(ids)
        self._refuse_if(ordered[1:] == ordered[:-1], ordered[1:], "appears twice in the batch; each counts once")
        bad = ~((losses >= -ROUNDING) & np.isfinite(losses))
        if self._learns and not self._keeps_bad:
            self._refuse_if(bad, ids, "has a loss that is negative or not finite")
        return ids.astype(np.int64), np.where(bad, np.nan, np.maximum(losses, 0)).astype(np.float32)

    def _refuse_if(self, wrong: NDArray[np.bool_], ids: NDArray[Any], reason: str) -> None:
        if wrong.any():
            first, *others = ids[wrong].tolist()
            named = ", ".join(map(str, others[:self._MOST_NAMED]))
            more = f" and {len(others) - self._MOST_NAMED} more" if len(others) > self._MOST_NAMED else ""
            also = f" (also {named}{more})" if others else ""
            raise InvalidArgument(f"observe: sample {first} {reason}{also}; nothing was recorded")


def joined(batches: Sequence[Observed]) -> Observed:
    """Batch after batch."""
    ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in batches)])
    return ids, np.concatenate([np.empty(0, np.float32), *(losses for _, losses in batches)])
