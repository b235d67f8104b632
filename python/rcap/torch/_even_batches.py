"""As many batches on every rank, where a stream gives them different numbers."""

import collections
import enum
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from .. import InvalidArgument
from ._sampler import PruningSampler, _require_word

_KEPT = 4  # batches that are repeated in turn


class _Now(enum.IntEnum):
    """Where a rank is in a pass."""

    HAS_BATCH = 0
    ENDED = 1
    EMPTY = 2  # ended without any batch
    FAILED = 3


class EvenBatches:
    """Ends the passes of all ranks together, although a filter keeps more of some ranks' shards than of others'.

    Otherwise DistributedDataParallel waits for ever for the ranks that have ended (its own way out is
    `torch.distributed.algorithms.Join`). Before each batch the ranks tell each other whether they have one, and a rank
    whose loader raises an exception ends the others with an error.

        for (x, y), ids in EvenBatches(loader, sampler):
            sampler.observe(ids, losses).backward()

    Args:
        loader: The loader of this rank.
        sampler: The sampler that filters its stream.
        short: What a rank does whose loader has ended: "repeat" some of its last batches, which are trained on and
            whose losses do not count again; or "stop" all ranks, so that the rest of the others is left out, which a
            warning tells at the end of the epoch.

    Raises:
        InvalidArgument: If `short` is something else.
    """

    def __init__(self, loader: Iterable[Any], sampler: PruningSampler,
                 short: Literal["repeat", "stop"] = "repeat") -> None:
        _require_word("short", short, "repeat", "stop")
        self.loader = loader
        self._sampler = sampler
        self._stops = short == "stop"

    def __iter__(self) -> Iterator[Any]:
        if self._sampler.rank_count == 1:
            yield from self.loader
            return
        batches: Iterator[Any] | None = None
        last: collections.deque[Any] = collections.deque(maxlen=_KEPT)
        now, batch = _Now.HAS_BATCH, None
        while True:
            if now is _Now.HAS_BATCH:
                try:
                    batches = iter(self.loader) if batches is None else batches
                    batch = next(batches)
                except StopIteration:
                    now = _Now.ENDED if last else _Now.EMPTY
                except BaseException:
                    self._tell(_Now.FAILED)
                    raise
            all_ranks = self._tell(now)
            if _Now.FAILED in all_ranks:
                raise RuntimeError(f"EvenBatches: the loader of rank {all_ranks.index(_Now.FAILED)} raised an "
                                   "exception, which that rank shows; all ranks end here")
            if _Now.HAS_BATCH not in all_ranks or (self._stops and set(all_ranks) != {_Now.HAS_BATCH}):
                return
            if _Now.EMPTY in all_ranks:
                raise InvalidArgument(f"EvenBatches: rank {all_ranks.index(_Now.EMPTY)} has no batch in epoch "
                                      f"{self._sampler.epoch}, so it has nothing to repeat; give it more shards, or "
                                      "short=\"stop\"")
            if now is _Now.ENDED:
                self._sampler._observer.take_repeats()
                batch = last[0]
                last.rotate(-1)
            elif not self._stops:
                last.append(batch)
            yield batch

    def _tell(self, now: _Now) -> list[int]:
        """Where all ranks are; collective."""
        return self._sampler._ranks.gather_number("a batch of EvenBatches", now)
