"""What a sampler needs from torch.distributed."""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch.distributed as dist
from numpy.typing import NDArray

from .. import InvalidArgument
from ._exchange import Bytes, Exchange, as_bytes
from ._host import Host

ROUNDING = 1e-6  # a loss below 0 by at most this counts as 0

Observed = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Ids and their losses."""


class Ranks:
    """The processes that train together; a single one if torch.distributed is not in use.

    Args:
        group: The process group; the default one if None.
        host: The host whose ranks share a pruner, if they do.
    """

    def __init__(self, group: dist.ProcessGroup | None = None, host: Host | None = None) -> None:
        self._group = group
        self.size = self._current_size()
        self.rank = dist.get_rank(group) if self.size > 1 else 0
        self.host = host

    @property
    def exchanges(self) -> bool:
        """Whether losses wait on each rank for an exchange."""
        return self.size > 1

    def _current_size(self) -> int:
        active = dist.is_available() and dist.is_initialized()
        return dist.get_world_size(self._group) if active else 1

    @functools.cached_property
    def exchange(self) -> Exchange:
        return Exchange("PruningSampler", self._group)

    def find_host(self) -> Host | None:
        """The host of this rank if there are hosts with several ranks; collective."""
        self.host = Host(self.exchange) if self.size > 1 else None
        if self.host is not None and len(self.host.members_of) == self.size:
            self.host = None
        return self.host

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
        numbers = self.exchange.gather_numbers(where, [int.from_bytes(digest, "big") for digest in digests])
        for column, (name, value) in enumerate(values.items()):
            others = [rank for rank in range(self.size) if numbers[rank, column] != numbers[self.rank, column]]
            if (numbers[:, column] != numbers[0, column]).any():
                raise InvalidArgument(f"{where}: the ranks disagree on {name}: here it is {value}, but not on ranks "
                                      f"{others}; it must be the same on all")

    def require_same_options(self, where: str, options: Sequence[str]) -> None:
        """Raises on every rank if options differ, of which each is "name=value"."""
        if self.size == 1:
            return
        told = self.exchange.all_gather(where, np.frombuffer("\n".join(options).encode(), np.uint8))
        of_ranks = [text.tobytes().decode().split("\n") for text in told]
        common = set.intersection(*map(set, of_ranks))
        differing = [[option for option in each if option not in common] for each in of_ranks]
        if any(differing):
            found = ", ".join(f"rank {rank} has {', '.join(each)}" for rank, each in enumerate(differing) if each)
            raise InvalidArgument(f"{where}: the ranks disagree on options: {found}; they must be the same on all")

    def gather_number(self, step: str, number: int) -> list[int]:
        """A number of each rank."""
        return [number] if self.size == 1 else self.exchange.gather_numbers(step, [number])[:, 0].tolist()

    def gather(self, parts: "Sequence[Observed]", progress: Mapping[str, int]) -> "list[Observed] | None":
        """The ids and losses of all ranks, whose numbers may differ; several pairs of arrays at once.

        Ranks that have diverged are detected here: `progress` holds, by name, what must be the same on all. Where ranks
        share a pruner, those that do not hold it get empty arrays. None if no rank has anything.
        """
        counts = self._counts(parts, progress)
        if not counts.any():
            return None
        found = self._gather_packed(_packed(parts), counts.sum(axis=1) * _BYTES_OF_ONE)
        by_rank = [_unpacked(found[rank], counts[rank].tolist()) for rank in sorted(found)]
        return [joined([each[column] for each in by_rank]) for column in range(len(parts))]

    def _counts(self, parts: "Sequence[Observed]", progress: Mapping[str, int]) -> NDArray[np.int64]:
        """How much each rank has; raises if they have diverged."""
        told = [*(len(ids) for ids, _ in parts), *progress.values()]
        numbers = self.exchange.gather_numbers("exchange losses", told)
        for column, name in enumerate(progress, len(parts)):
            if (numbers[:, column] != numbers[0, column]).any():
                raise InvalidArgument(f"PruningSampler: the ranks disagree on {name}: {numbers[:, column].tolist()}; "
                                      "all must load the same state, and go through the same epochs")
        return numbers[:, :len(parts)]

    def _gather_packed(self, packed: Bytes, sizes: NDArray[np.int64]) -> dict[int, Bytes]:
        """What all ranks give, by rank, on those that hold a pruner."""
        if self.host is None:
            return dict(enumerate(self.exchange.all_gather("exchange losses", packed)))
        found = self.host.collect("exchange losses", packed)
        if not self.host.leads or len(self.host.members_of) == 1:
            return found
        of_host = np.concatenate([found[rank] for rank in self.host.members])
        of_hosts = self._leaders.all_gather("exchange losses", of_host)
        for members, together in zip(self.host.members_of.values(), of_hosts, strict=True):
            found.update(zip(members, np.split(together, np.cumsum(sizes[members])[:-1]), strict=True))
        return found

    @functools.cached_property
    def _leaders(self) -> Exchange:
        assert self.host is not None
        return self.exchange.among(list(self.host.members_of))


_BYTES_OF_ONE = 12  # an id and a loss


def _packed(parts: "Sequence[Observed]") -> Bytes:
    return np.concatenate([as_bytes(array) for pair in parts for array in pair])


def _unpacked(packed: Bytes, counts: Sequence[int]) -> "list[Observed]":
    sizes = [size for count in counts for size in (8 * count, 4 * count)]
    arrays = np.split(packed, np.cumsum(sizes)[:-1])
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    return [(ids.view(np.int64), losses.view(np.float32)) for ids, losses in pairs]


class Part:
    """The samples that a pass hands to this rank, in this order, and where each of them is."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids
        self._next = 0  # where the next batch is expected
        self._order: NDArray[np.intp] | None = None  # that sorts the ids

    def __len__(self) -> int:
        return len(self._ids)

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each of these ids; -1 for those that are not among them."""
        first, last = self._next, self._next + len(ids)
        if np.array_equal(self._ids[first:last], ids):  # most loaders give batches in order
            self._next = last
            return np.arange(first, last)
        found = self._found(ids)
        self._next = int(found[-1]) + 1 if len(found) > 0 else first
        return found

    def _found(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(self._ids) == 0:
            return np.full(len(ids), -1)
        if self._order is None:
            self._order = np.argsort(self._ids)
        rows = np.searchsorted(self._ids, ids, sorter=self._order)
        places = self._order[np.minimum(rows, len(self._ids) - 1)]
        return np.where(self._ids[places] == ids, places, -1)


class LocalLosses:
    """What this rank has observed and the others do not have yet.

    A sample that fills up the last batches of a rank belongs to another rank, which reports its loss; here it is
    accepted and ignored.
    """

    _EXPECTED, _OBSERVED, _REPEAT, _REPEATED = range(4)
    _MOST_NAMED = 8

    def __init__(self, sample_count: int, *, learns: bool, keeps_bad: bool) -> None:
        self._sample_count = sample_count
        self._learns = learns
        self._keeps_bad = keeps_bad
        self._part: Part | None = None  # of this pass; None in the one before training, where any sample may come
        self._status = np.empty(0, np.uint8)  # of each sample of the part
        self._batches: list[Observed] = []
        self._late: list[Observed] = []

    def __bool__(self) -> bool:
        return bool(self._batches or self._late)

    @property
    def observed(self) -> Observed:
        """What was added since the last `take`."""
        return joined(self._batches)

    def expect(self, part: NDArray[np.int64], own_count: int) -> None:
        """These samples are handed to this rank; those after the first `own_count` to another one as well."""
        self._part = Part(part)
        self._status = np.full(len(part), self._REPEAT, np.uint8)
        self._status[:own_count] = self._EXPECTED

    def unobserved(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these samples that were handed to this rank and not observed by it."""
        return self._with_status(ids, self._EXPECTED, self._REPEAT)

    def was_observed(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these samples this rank has observed."""
        return np.isin(ids, self._with_status(ids, self._OBSERVED, self._REPEATED))

    def owed(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these samples whose loss this rank must report."""
        return self._with_status(ids, self._EXPECTED)

    def _with_status(self, ids: NDArray[np.int64], *wanted: int) -> NDArray[np.int64]:
        if self._part is None:
            return ids[:0]
        places = self._part.places(ids)
        ids, places = ids[places >= 0], places[places >= 0]
        return ids[np.isin(self._status[places], wanted)]

    def add(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        """Adds the losses of a batch, or refuses all of them. A bad loss that is not refused becomes NaN."""
        ids, losses = self._checked(ids, losses)
        if self._part is not None:
            places = self._part.places(ids)
            self._refuse_if(places < 0, ids, "was not handed to this rank")
            status = self._status[places]
            self._refuse_if(status == self._OBSERVED, ids, "was observed before in this epoch; each counts once")
            own = status == self._EXPECTED
            self._status[places] = np.where(own, self._OBSERVED, self._REPEATED)
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
