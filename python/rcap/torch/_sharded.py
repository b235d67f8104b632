"""A sampler whose ranks hold the labels and losses of a part of the data set each."""

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from .. import InvalidArgument, Pruner, ShardedPruner, StateMismatch
from .. import shard_range as _range_of
from .._report import Report
from ._ahead import Ahead
from ._current_filter import CurrentFilter
from ._epoch import NOTHING, Chosen
from ._exchange import Bytes, Exchange, as_bytes
from ._observer import Observer
from ._ranks import Observed, Ranks
from ._rows import Rows
from ._sampler import PruningSampler
from ._shared import PrunerCopy

Result = TypeVar("Result")

LabelSource = Any  # an array of labels, or Callable[[int, int], array]


def shard_range(total: int, group: dist.ProcessGroup | None = None) -> range:
    """The ids of this rank's samples if `total` samples are spread evenly over the ranks.

    Raises:
        InvalidArgument: If torch.distributed is not initialised.
    """
    _require_ranks("shard_range")
    first, count = _range_of(total, dist.get_world_size(group), dist.get_rank(group))
    return range(first, first + count)


class ShardedSampler(PruningSampler):
    """A `PruningSampler` over ranks that hold a part of the labels and losses each: memory falls with their number.

    Each rank has the samples of consecutive ids, in the order of the ranks. Batches, weights and gathered states are
    those of a `PruningSampler`, bit for bit, whatever the number of ranks. Making the sampler, iterating over it,
    moving to another epoch and states are collective: every rank must do them, in the same order.

        sampler = ShardedSampler("rcap", read_labels, total=10**9, pruning_rate=0.9)

    Args:
        method: "rcap", "balanced", "rs2", "rs2-replace", "infobatch", "top-loss" or "ucb".
        labels: The class of every sample of this rank. Or a function of (first id, number of samples) that returns the
            classes of these, which is called with the range of this rank (`shard_range`).
        total: How many samples all ranks have; for a function.
        locality: Whether position p of the epoch's order goes to rank p modulo their number ("everywhere"), as in
            PruningSampler, or each sample to the rank that has it, except for what evens out the counts ("shard"), for
            data on local disks.
        exchange_every: After how many batches losses are brought to the ranks that have the samples; by default once an
            epoch.
        class_count: Number of classes; by default the largest label of all ranks + 1.
        batch_size: As for PruningSampler.
        group: As for PruningSampler.
        hands_out: As for PruningSampler.
        counts_epochs: As for PruningSampler.
        bad_losses: As for PruningSampler.
        **options: Options of the method.

    Raises:
        InvalidArgument: On every rank, if torch.distributed is not initialised, ranges overlap or leave samples out, or
            ranks disagree on the number of samples, the method or options.
    """

    def __init__(self, method: str, labels: LabelSource, *, total: int | None = None,
                 locality: Literal["everywhere", "shard"] = "everywhere", exchange_every: int | None = None,
                 class_count: int | None = None, batch_size: int | None = None,
                 group: dist.ProcessGroup | None = None, hands_out: Literal["rest", "whole"] = "rest",
                 counts_epochs: bool = True, bad_losses: Literal["raise", "keep"] = "raise", **options: Any) -> None:
        _require_ranks("ShardedSampler")
        if callable(labels) != (total is not None):
            raise InvalidArgument("ShardedSampler: give total with a function that returns labels, and only with one")
        if exchange_every is not None and exchange_every < 1:
            raise InvalidArgument(f"ShardedSampler: exchange_every is {exchange_every}; it must be at least 1")
        self._locality = locality
        self._exchange_every = exchange_every
        self._ranks = _ShardRanks(group)
        first, own_labels, count_of_all = _own_labels(self._ranks.exchange, labels, total)
        held = ShardedPruner(method, own_labels, first_id=first, total=count_of_all,
                             exchange=_CoreExchange(self._ranks.exchange), class_count=class_count, **options)
        self._held = _ShardCopy(held)
        super().__init__(self._face, batch_size=batch_size, group=group, hands_out=hands_out,
                         counts_epochs=counts_epochs, bad_losses=bad_losses)

    def _face(self) -> Pruner:
        return self._held.pruner

    def join(self) -> None:
        """Without effect: the ranks joined when the sampler was made."""
        if self._copy is None:
            self._copy = cast(PrunerCopy, self._held)
            self._class_names = None
            self._start()

    def _make_observer(self) -> Observer:
        return _ShardObserver(self._shared(), self._ranks, self.bad_losses, self._repeats)

    @property
    def own_ids(self) -> range:
        """The ids of the samples whose labels and losses this rank has."""
        return range(self._held.core.first_id, self._held.core.first_id + self._held.core.count)

    def observe(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor,
                tokens: torch.Tensor | None = None) -> torch.Tensor:
        """As `PruningSampler.observe`. Collective in every `exchange_every`-th batch of a pass."""
        mean = super().observe(ids, losses, tokens)
        if self._exchange_every is not None and self._epoch.batches % self._exchange_every == 0:
            self.synchronize()
        return mean

    def _choose_now(self, number: int, ahead: Ahead | None) -> Chosen:
        return self._choose(number)

    def _choose(self, number: int) -> Chosen:
        core = self._held.core
        ids, weights = core.select(number, self._locality)
        if len(ids) == 0 and core.weighs:
            weights = np.empty(0, np.float32)  # other ranks may have some, of which one fills up this part
        selection = types.SimpleNamespace(ids=ids, weights=weights, rate_factor=1.0)
        return Chosen(number, selection, core.clipped_part, core.log_prior(), count=core.selected_count)

    def _own_part(self) -> tuple[NDArray[np.int64], int, NDArray[np.float32] | None]:
        epoch, pending = self._epoch, self._pending_count()
        ids, weights, count = epoch.ids, None if epoch.weights is None else epoch.weights.numpy(), epoch.count
        if self.hands_out == "rest" and pending < count:
            ids, weights, count = *self._deal_rest(ids, weights), pending
        share = self._share(count)
        own_count = min(len(ids), share)
        ids, weights = ids[:share], None if weights is None else weights[:share]
        if share * self._ranks.size > count:  # known to all ranks, so all of them exchange
            ids, weights = self._filled_up(ids, weights, share, count)
        return ids, own_count, weights

    def _filled_up(self, ids: NDArray[np.int64], weights: NDArray[np.float32] | None, share: int,
                   count: int) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """The first samples of the epoch fill up the last batches of the last ranks."""
        epoch, size = self._epoch, self._ranks.size
        first = np.zeros(1, _SAMPLE)
        if len(epoch.ids) > 0:
            first["id"], first["weight"] = epoch.ids[0], 1 if epoch.weights is None else epoch.weights[0]
        own = as_bytes(first[:len(epoch.ids)])
        firsts = np.concatenate(self._ranks.exchange.all_gather("fill up", own)).view(_SAMPLE)
        places = np.arange(len(ids), share) * size + self._ranks.rank - count
        if self._locality == "shard":
            places = np.arange(len(places)) + self._ranks.rank + 1  # of another rank
        repeats = firsts[places % len(firsts)]
        ids = np.concatenate([ids, repeats["id"]])
        return ids, None if weights is None else np.concatenate([weights, repeats["weight"]])

    def _deal_rest(self, ids: NDArray[np.int64], weights: NDArray[np.float32] | None) -> tuple[
            NDArray[np.int64], NDArray[np.float32] | None]:
        """What is left of the epoch, dealt anew: place p of what is left goes to rank p modulo their number."""
        exchange, size, rank = self._ranks.exchange, self._ranks.size, self._ranks.rank
        left = self._pending_of(ids)
        of_ranks = [np.unpackbits(bits) for bits in exchange.all_gather("deal the rest", np.packbits(left))]
        counts = exchange.gather_numbers("deal the rest: counts", [len(left)])[:, 0].tolist()
        if self._locality == "shard":
            before = np.cumsum([0, *(bits.sum(dtype=np.int64) for bits in of_ranks)])
            places = np.arange(before[rank], before[rank + 1])
        else:
            order = np.zeros(max(counts) * size, bool)  # where place p is place p // size of rank p % size
            for number, (bits, count) in enumerate(zip(of_ranks, counts, strict=True)):
                order[number:count * size:size] = bits[:count]
            places = (np.cumsum(order) - 1)[rank::size][:len(left)][left]
        samples = np.zeros(len(places), _SAMPLE)
        samples["place"], samples["id"] = places, ids[left]
        samples["weight"] = 1 if weights is None else weights[left]
        taken = exchange.all_to_all("deal the rest: samples",
                                    [as_bytes(samples[places % size == to]) for to in range(size)])
        dealt = np.concatenate(taken).view(_SAMPLE)
        dealt = dealt[np.argsort(dealt["place"])]
        return dealt["id"].copy(), None if weights is None else dealt["weight"].copy()

    def _pending_of(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these samples have not been observed; the ranks that have them know."""
        exchange, core = self._ranks.exchange, self._held.core
        firsts = exchange.gather_numbers("ask for the rest", [core.first_id])[:, 0]
        owner = np.searchsorted(firsts, ids, side="right") - 1
        asked = exchange.all_to_all("ask for the rest: ids",
                                    [as_bytes(ids[owner == rank]) for rank in range(self._ranks.size)])
        words = np.asarray(core.shard_state()["pending"]).view(np.uint8)
        pending = np.unpackbits(words, bitorder="little")
        answers = exchange.all_to_all("ask for the rest: answers",
                                      [pending[each.view(np.int64) - core.first_id] for each in asked])
        left = np.empty(len(ids), bool)
        for rank, answer in enumerate(answers):
            left[owner == rank] = answer
        return left

    def state_dict(self) -> dict[str, Any]:
        """All state, of which each rank has its part, for torch.distributed.checkpoint. Collective.

            torch.distributed.checkpoint.save({"sampler": sampler}, checkpoint_id=folder)
            torch.distributed.checkpoint.load({"sampler": sampler}, checkpoint_id=folder)

        Any number of ranks may load it.

        Raises:
            InvalidArgument: If `synchronize` has to be called first.
        """
        self._require_exchanged()
        core = self._held.core
        parts = core.shard_state()
        common = parts.pop("common").tobytes()
        return {"common": common, **{name: _rows_of(part, core) for name, part in parts.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues exactly where `state_dict` was called, or a state of `PruningSampler`. Collective.

        Raises:
            StateMismatch: If it is not such a state, or belongs to other data, another method or other options.
        """
        self._observer.settle()
        core = self._held.core
        if "pruner" in state:  # of a PruningSampler: all of it, on every rank
            core.set_state(state["pruner"].cpu().numpy().tobytes())
        elif "common" in state:
            parts = {name: part.own.numpy().view(part.kind) for name, part in state.items() if name != "common"}
            core.set_shard_state({"common": np.frombuffer(state["common"], np.uint8), **parts})
        else:
            raise StateMismatch('load_state_dict: not a state of ShardedSampler: it has no "common"')
        self._held.update()
        self._start()

    def gather_state_dict(self) -> dict[str, torch.Tensor]:
        """The state that a `PruningSampler` of one process continues, on rank 0; nothing elsewhere. Collective.

        Raises:
            InvalidArgument: If `synchronize` has to be called first.
        """
        self._require_exchanged()
        state = self._held.core.gather_state()
        return {} if state is None else {"pruner": torch.from_numpy(np.frombuffer(bytearray(state), np.uint8))}

    def save(self, path: Any) -> None:
        """Writes the state file that `rcap select` or one process continues. Collective; rank 0 writes."""
        self._require_exchanged()
        self._held.core.save(path)

    def _missing(self) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]]:
        return lambda ids: np.ones(len(ids), bool)  # only the ranks that have the samples know better

    def _filter_stream(self, repeats: Literal["raise", "first"]) -> CurrentFilter:
        raise InvalidArgument("Filtered: a rank of a ShardedSampler knows a part of the selection only; give it a "
                              "PruningSampler")

    def select_ahead(self) -> None:
        """Refused: a selection of shards exchanges, and another thread would do so out of step."""
        raise InvalidArgument("select_ahead: ranks that hold a part each select together; leave it out")

    def report(self) -> Report:
        """Refused: no rank knows the classes of what it trains on."""
        raise InvalidArgument("report: a rank of a ShardedSampler does not know the classes of samples that other "
                              "ranks have; leave it out, or use PruningSampler")

    def __getstate__(self) -> dict[str, Any]:
        raise InvalidArgument("ShardedSampler: it holds a part of what the ranks know together; it cannot be copied")

    def __repr__(self) -> str:
        core = self._held.core
        return (f"ShardedSampler({core.method}, {core.total:,} samples, {core.count:,} of them on rank {core.rank} of "
                f"{core.size})")


_IDS_OF_WORD = 64  # a bit each
_SAMPLE = np.dtype([("place", np.int64), ("id", np.int64), ("weight", np.float32)])


class _ShardRanks(Ranks):
    """Ranks of which each keeps its losses until the core brings them to their owners."""

    @property
    def exchanges(self) -> bool:
        return True

    def gather(self, parts: Sequence[Observed], progress: Mapping[str, int]) -> list[Observed] | None:
        return list(parts) if self._counts(parts, progress).any() else None


class _ShardObserver(Observer):
    def _tell_all(self, in_time: Observed, late: Observed, refreshed: Observed) -> None:
        super()._tell_all(in_time, late, refreshed)
        cast(Any, self._pruner).exchange_losses()


class _ShardCopy:
    """In place of `PrunerCopy`."""

    leads = True
    is_shared = False
    watch = None

    def __init__(self, core: ShardedPruner) -> None:
        self.core = core
        self._pruner = _PrunerOfShards(core)
        self.update()

    @property
    def pruner(self) -> Pruner:
        return cast(Pruner, self._pruner)

    @property
    def selected(self) -> NDArray[np.int64]:
        return self._pruner.selected

    @selected.setter
    def selected(self, ids: NDArray[np.int64]) -> None:
        self._pruner.selected = ids

    def change(self, step: str, act: Callable[[], Result]) -> Result:
        result = act()
        self.update()
        return result

    def update(self) -> None:
        self._pruner.pending_count = self.core.pending_count()


class _PrunerOfShards:
    """What a sampler asks a pruner for."""

    refreshes = False

    def __init__(self, core: ShardedPruner) -> None:
        self._core = core
        self.pending_count = 0
        self.selected = NOTHING

    @property
    def sample_count(self) -> int:
        return self._core.total

    def pending_ids(self) -> NDArray[np.int64]:
        return self.selected  # of this rank, which knows itself what it has observed

    def unrefreshed_ids(self) -> NDArray[np.int64]:
        return NOTHING

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._core, name)

    def __repr__(self) -> str:
        return repr(self._core)


class _CoreExchange:
    """The exchanges that the core asks for."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.rank, self.size = exchange.rank, exchange.size

    def all_reduce(self, numbers: NDArray[np.int64], op: Literal["sum", "max"]) -> None:
        self._exchange.all_reduce("shards: reduce", numbers, op)

    def all_gather(self, data: Bytes) -> list[Bytes]:
        return self._exchange.all_gather("shards: gather", data)

    def all_to_all(self, parts: Sequence[Bytes]) -> list[Bytes]:
        return self._exchange.all_to_all("shards: deal", parts)


def _own_labels(exchange: Exchange, labels: LabelSource, total: int | None) -> tuple[int, Any, int]:
    """The first id of this rank, its labels, and how many samples all ranks have. An error of one is one of all."""
    error: Exception | None = None
    own: Any = ()
    first, wanted = (0, -1) if total is None else _range_of(total, exchange.size, exchange.rank)
    try:
        own = np.asarray(labels if total is None else labels(first, wanted))
    except Exception as caught:
        error = caught
    told = exchange.gather_numbers("read the labels", [-1 if total is None else total, wanted, len(own),
                                                       error is not None])
    totals, wants, counts, failed = told.T
    if error is not None:
        raise error
    if failed.any():
        raise InvalidArgument(f"ShardedSampler: rank {np.flatnonzero(failed)[0]} could not read its labels; it says "
                              "why")
    if (totals != totals[0]).any():
        raise InvalidArgument(f"ShardedSampler: the ranks disagree on total: {totals.tolist()} (-1 where labels are "
                              "given); it must be the same on all")
    if total is None:
        return int(counts[:exchange.rank].sum()), own, int(counts.sum())
    wrong = np.flatnonzero(counts != wants)
    if len(wrong) > 0:
        raise InvalidArgument(f"ShardedSampler: the function gave {counts[wrong[0]]} labels for the {wants[wrong[0]]} "
                              f"samples of rank {wrong[0]}; one for each is needed")
    return first, own, total


def _rows_of(part: NDArray[Any], core: ShardedPruner) -> Rows:
    """A part of the core's state as PyTorch has it: without unsigned types, which not every version knows."""
    ids_of_row = _IDS_OF_WORD if part.dtype == np.uint64 else 1
    known = part.view(f"i{part.itemsize}") if part.dtype.kind == "u" and part.itemsize > 1 else part
    return Rows(torch.from_numpy(known), core.first_id // ids_of_row, -(-core.total // ids_of_row), part.dtype.str)


def _require_ranks(where: str) -> None:
    if not (dist.is_available() and dist.is_initialized()):
        raise InvalidArgument(f"{where}: torch.distributed is not initialised; call init_process_group first, or use "
                              "PruningSampler in a single process")
