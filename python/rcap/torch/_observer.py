"""How losses get from a loop to the pruner: from devices, across ranks, and some of them late."""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from .. import InvalidArgument
from ._device_losses import Batch, DeviceLosses, can_copy_ahead, in_single_precision, on_host
from ._epoch import NOTHING, Epoch, Phase
from ._pass import LossLog
from ._ranks import ROUNDING, LocalLosses, Observed, Ranks, joined
from ._shared import PrunerCopy


@dataclasses.dataclass(eq=False)
class _Before:
    """The previous epoch, if losses of it may still come."""

    epoch: Epoch
    missing: NDArray[np.int64]  # samples without a loss, in the order in which they were handed out
    owed: NDArray[np.int64]  # those whose loss this rank must report; the others fill up the last batches
    reported: bool = False

    @property
    def handed_out(self) -> int:  # to this rank
        return len(self.epoch.part)


class Observer:
    """Takes the losses of batches, in any order, and hands them to the pruner.

    Losses on an accelerator are copied while the loop goes on, and recorded when they arrive: `settle` waits for
    them. With several ranks they are kept here until `exchange`.
    """

    def __init__(self, copy: PrunerCopy, ranks: Ranks, bad_losses: Literal["raise", "keep"],
                 repeats: Literal["raise", "first"] | None = None) -> None:
        self._copy = copy
        self._pruner = pruner = copy.pruner
        self._ranks = ranks
        self._keeps_bad = bad_losses == "keep"
        self._local = LocalLosses(pruner.sample_count, learns=pruner.learns, keeps_bad=self._keeps_bad)
        self._coming = DeviceLosses()
        self._begun = 0  # how many losses of the pass have begun to be copied
        self._copies_ahead: dict[str, bool] = {}  # by the type of a device
        self._before: _Before | None = None
        self._log: LossLog | None = None
        self._refreshed: list[Observed] = []  # that the other ranks do not have yet
        self._is_plain = False  # whether a batch only has to be recorded; the first one of a pass is checked
        # What to do with samples that a stream repeats. With a stream any rank may observe any sample of the epoch.
        self.repeats = repeats
        self._takes_repeats = False  # in this pass, of this rank
        self._seen = np.empty(0, bool)  # of every sample, where a single rank takes repeats
        self._epoch = Epoch(-1, Phase.COMING, NOTHING)

    def __bool__(self) -> bool:
        """Whether this rank has observed anything that the others do not have."""
        return bool(self._local) or bool(self._refreshed)

    def begin_epoch(self, epoch: Epoch) -> None:
        """From now on losses belong to this epoch, or to the previous one if that was handed out completely."""
        self._epoch, self._is_plain = epoch, False

    def take_repeats(self) -> None:
        """For the rest of the pass, a sample that this rank has observed may come again, and counts no more."""
        self._takes_repeats, self._is_plain = True, False

    def begin_pass(self, own_count: int) -> None:
        """The pass hands out its part; this rank reports the losses of its beginning, other ranks those of the rest."""
        self._log, self._is_plain, self._begun = None, False, 0
        self._takes_repeats = self.repeats == "first"
        if self._takes_repeats and not self._ranks.exchanges:
            self._seen = np.zeros(self._pruner.sample_count, bool)
        if self._ranks.exchanges:
            self._local.expect(self._epoch.part, own_count)

    def log(self) -> LossLog:
        """What is observed in this pass, from the first call on."""
        self.settle()
        if self._log is None:
            known_here = self._local.observed  # but not to the pruner
            self._log = LossLog(self._copy.state(), len(self._epoch.part) + len(known_here[0]))
            self._log.add(*known_here)
            self._is_plain = False
        return self._log

    def resume(self, ids: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Takes what was observed in this pass before it was stopped."""
        if len(ids) > 0:
            self._record(ids, losses)

    def end_epoch(self) -> None:
        """Remembers which samples of the epoch have not been observed, if it was handed out completely.

        A loader that prefetches asks for the next epoch before it has yielded all batches of this one.
        """
        self.warn_if_nothing_came()  # from the epoch before this one
        epoch, owed = self._epoch, NOTHING
        if epoch.phase is Phase.HANDED_OUT and epoch.observed < len(epoch.part):
            owed = self._pending(epoch.part)
        if len(owed) == 0:
            self._before = None
            return
        missing = owed
        if self._ranks.exchanges:
            missing, owed = self._local.unobserved(epoch.part), self._local.owed(owed)
        self._before = _Before(epoch, missing, owed)

    def warn_if_nothing_came(self) -> None:
        """Warns if the previous epoch brought no loss; to be called when none can come any more."""
        before = self._before
        if before is None or before.reported or len(before.missing) < before.handed_out or not self._pruner.learns:
            return
        before.reported = True
        warnings.warn(f"no loss was observed in epoch {before.epoch.number}, so {self._pruner.method} learns nothing: "
                      "call sampler.observe(ids, losses) for every batch", RuntimeWarning, stacklevel=4)

    def _pending(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these samples whose loss the pruner does not have yet."""
        if self._pruner.pending_count == len(self._epoch.ids) and ids is self._epoch.part:
            return ids
        return ids[np.isin(ids, self._pruner.pending_ids())]

    # ---- a batch

    def observe(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor) -> torch.Tensor:
        """Records a batch; returns the mean of its losses to differentiate, weighted if the method has weights."""
        if type(ids) is np.ndarray and ids.dtype == np.int64 and ids.flags.writeable:
            ids = torch.from_numpy(ids)
        # The usual batch on a CPU: the pruner reads both in place, which takes a third of the time.
        if (self._is_plain and type(ids) is torch.Tensor and type(losses) is torch.Tensor
                and losses.dtype is torch.float32 and ids.dtype is torch.int64 and losses.is_cpu and ids.is_cpu
                and losses.dim() == ids.dim() == 1 and 0 < losses.numel() == ids.numel()
                and losses.is_contiguous() and ids.is_contiguous()):
            mean = self._observe_in_place(ids, losses)
            if mean is not None:
                return mean
        _require_losses(losses)
        if not losses.is_cpu and self._copies(losses.device):
            return self._observe_ahead(ids, losses)
        numbers = on_host(ids) if isinstance(ids, torch.Tensor) else np.asarray(ids)
        first = self._epoch.observed
        epoch = self._record(numbers, on_host(in_single_precision(losses)))
        if epoch.weights is None:
            return losses.mean()
        weights = torch.from_numpy(epoch.weights_of(numbers, first)).to(losses.device, losses.dtype)
        return (losses * weights).mean()

    def _observe_in_place(self, ids: torch.Tensor, losses: torch.Tensor) -> torch.Tensor | None:
        """As `observe`; None if it may be a batch of the previous epoch."""
        epoch, count, ids_at = self._epoch, losses.numel(), ids.data_ptr()  # len() of a tensor takes six times as long
        try:
            self._pruner._observe_at(ids_at, losses.data_ptr(), count)
        except InvalidArgument:
            if self._before is None:
                raise
            return None
        factors = epoch.factors(ids_at, count)
        epoch.observed += count
        epoch.batches += 1
        return torch.dot(losses, factors)  # in half the time of a mean

    def _record(self, ids: NDArray[Any], losses: NDArray[Any]) -> Epoch:
        """Records losses that are on the host; returns the epoch they belong to."""
        if self._before is not None and self._is_late(ids):
            return self._record_late(ids, losses)
        if self._takes_repeats:
            ids, losses = self._without_repeats(ids, losses)
        if self._epoch.batches == 0:
            self._look_at_first_batch(ids)
        if self._ranks.exchanges:
            self._local.add(ids, losses)
        elif self._keeps_bad:
            sound = _sound(losses)
            self._pruner.pass_over(ids[~sound])
            self._tell(ids[sound], losses[sound])
        else:
            self._tell(ids, losses)
        if self._takes_repeats and not self._ranks.exchanges:
            self._seen[ids] = True
        self._epoch.observed += len(ids)
        self._epoch.batches += 1
        if self._log is not None:
            self._log.add(ids, losses)
        else:
            self._is_plain = (not self._ranks.exchanges and not self._keeps_bad and self._copy.watch is None
                              and not self._takes_repeats)
        return self._epoch

    def _tell(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        self._pruner.observe(ids, losses)
        if self._copy.watch is not None:
            self._copy.watch.add(ids, losses)

    def _tell_late(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        self._pruner.observe_late(ids, losses)
        if self._copy.watch is not None:
            self._copy.watch.add_late(ids, losses)

    def _look_at_first_batch(self, ids: NDArray[Any]) -> None:
        if self._before is not None:
            self._report(self._before)
        self._epoch.first_batch = len(ids)
        if self._ranks.size > 1 and len(ids) > 1 and self.repeats is None:
            self._refuse_if_shared_out_twice(ids)

    def _refuse_if_shared_out_twice(self, ids: NDArray[Any]) -> None:
        part, size = self._epoch.part, self._ranks.size
        if np.array_equal(part[:len(ids)], ids):
            return
        if any(np.array_equal(part[rank::size][:len(ids)], ids) for rank in range(size)):
            raise InvalidArgument(
                f"PruningSampler: the samples of this rank were sharded twice: the loader trains on one in {size} of "
                f"them. {_HOW_TO_SHARE_ONCE}")

    # ---- samples that a stream repeats

    def _without_repeats(self, ids: NDArray[Any], losses: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The samples that this rank has not observed before. What is wrong otherwise, others say."""
        sound = len(ids) == len(losses) and ids.dtype.kind in "iu"
        if not sound or ((ids < 0) | (ids >= self._pruner.sample_count)).any():
            return ids, losses
        new = ~(self._local.was_observed(ids) if self._ranks.exchanges else self._seen[ids])
        first = np.zeros(len(ids), bool)
        first[np.unique(ids, return_index=True)[1]] = True
        return ids[new & first], losses[new & first]

    def _once(self, ids: NDArray[np.int64], losses: NDArray[np.float32]) -> Observed:
        """What several ranks have observed, each sample once."""
        pending = np.zeros(self._pruner.sample_count, bool)
        pending[self._pruner.pending_ids()] = True
        first = np.sort(np.unique(ids, return_index=True)[1])
        counts = first[pending[ids[first]]]
        if len(counts) < len(ids) and self.repeats == "raise":
            repeated = np.setdiff1d(np.arange(len(ids)), counts)
            raise InvalidArgument(
                f"PruningSampler: {len(repeated)} of {len(ids)} samples were observed by more than one rank, the first "
                f"is {ids[repeated[0]]}; let each rank read its own shards, or give the filter repeats=\"first\" if "
                "the stream repeats samples to fill up; nothing was recorded")
        return ids[counts], losses[counts]

    # ---- samples that were left out

    def unrefreshed(self) -> NDArray[np.int64]:
        """The samples that this rank is still to refresh."""
        own = self._pruner.unrefreshed_ids()[self._ranks.rank::self._ranks.size]
        return own[~np.isin(own, joined(self._refreshed)[0])]

    def observe_refreshed(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor) -> None:
        """Records losses of a forward pass over samples that the epoch left out."""
        _require_losses(losses)
        numbers = on_host(ids) if isinstance(ids, torch.Tensor) else np.asarray(ids)
        values = on_host(in_single_precision(losses))
        if not self._ranks.exchanges:
            self._pruner.observe_refreshed(numbers, values)
            return
        if len(numbers) != len(values) or not _sound(values).all():
            raise InvalidArgument(f"observe_refreshed: {len(values)} losses for {len(numbers)} ids; give one finite "
                                  "loss >= 0 for each; nothing was recorded")
        strays = numbers[~np.isin(numbers, self.unrefreshed())]
        if len(strays) > 0 or len(np.unique(numbers)) < len(numbers):
            raise InvalidArgument(f"observe_refreshed: sample {[*strays, *numbers][0]} is not one for this rank to "
                                  "refresh, or comes twice; give each of refresh_ids once; nothing was recorded")
        self._refreshed.append((numbers.astype(np.int64), values))

    # ---- losses on an accelerator

    def _copies(self, device: torch.device) -> bool:
        if device.type not in self._copies_ahead:
            self._copies_ahead[device.type] = can_copy_ahead(device)
        return self._copies_ahead[device.type]

    def _observe_ahead(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor) -> torch.Tensor:
        if len(ids) != len(losses):
            raise InvalidArgument(f"observe: {len(losses)} losses for {len(ids)} ids; give one loss per sample, not "
                                  "the mean of a batch")
        place = self._epoch.number, self._epoch.batches + len(self._coming)
        weights: torch.Tensor | None
        if isinstance(ids, torch.Tensor) and not ids.is_cpu:
            epoch = self._epoch
            self._coming.begin(place, ids, losses, None)
            weights = None if epoch.weights is None else torch.take(epoch.table_beside(ids), ids).to(losses.dtype)
        else:
            # A copy: the loader may reuse its memory.
            numbers = ids.numpy().copy() if isinstance(ids, torch.Tensor) else np.array(ids)
            epoch = self._before.epoch if self._before is not None and self._is_late(numbers) else self._epoch
            looked_up = None if epoch.weights is None else epoch.weights_of(numbers, self._begun)
            weights = self._coming.begin(place, numbers, losses, looked_up)
        self._begun += len(losses)
        self._take(wait=False)
        return losses.mean() if weights is None else (losses * weights).mean()

    def settle(self) -> None:
        """Waits for the losses that are still on their way from a device."""
        self._take(wait=True)

    def take_arrived(self) -> None:
        """Records the losses that have arrived from a device, without waiting for others."""
        self._take(wait=False)

    def _take(self, *, wait: bool) -> None:
        for batch in self._coming.take(wait=wait):
            self._record_arrived(batch)

    def _record_arrived(self, batch: Batch) -> None:
        try:
            self._record(batch.ids, batch.losses)
        except InvalidArgument as error:
            raise InvalidArgument(f"epoch {batch.epoch}, batch {batch.number}, reported when its losses arrived from "
                                  f"the device: {error}") from None

    # ---- losses of the previous epoch

    def _is_late(self, ids: NDArray[Any]) -> bool:
        """Whether a batch belongs to the previous epoch: it is its next one, or it cannot belong to this epoch."""
        assert self._before is not None
        missing = self._before.missing
        if len(ids) > len(missing):
            return False
        if np.array_equal(missing[:len(ids)], ids):
            return True
        fitting = self._local.unobserved(ids) if self._ranks.exchanges else self._pending(ids)
        return bool(np.isin(ids, missing).all()) and len(fitting) < len(ids)

    def _record_late(self, ids: NDArray[Any], losses: NDArray[Any]) -> Epoch:
        assert self._before is not None
        before = self._before
        wanted = np.isin(ids, before.owed)
        if self._keeps_bad:
            wanted &= _sound(losses)
        if self._ranks.exchanges:
            self._local.add_late(ids[wanted], losses[wanted])
        else:
            self._tell_late(ids[wanted], losses[wanted])
        before.missing = before.missing[~np.isin(before.missing, ids)]
        if len(before.missing) == 0:
            self._before = None
        return before.epoch

    def _report(self, before: _Before) -> None:
        """Warns that samples of the previous epoch were never observed, once losses of this one arrive."""
        if before.reported:
            return
        before.reported = True
        missing, size, batch_size = len(before.missing), self._ranks.size, before.epoch.first_batch
        observed = before.handed_out - missing
        cause = ("call sampler.observe(ids, losses) for every batch; PruningSampler(..., bad_losses=\"keep\") accepts "
                 "batches whose losses are not finite")
        is_a_part = abs(observed * size - before.handed_out) <= size * batch_size < before.handed_out / 2
        if size > 1 and is_a_part:
            cause = f"they seem to have been sharded twice, over {size} ranks each time. {_HOW_TO_SHARE_ONCE}"
        elif missing < batch_size:
            cause = (f"the loader seems to drop its last batch; make the sampler with batch_size={batch_size}, so "
                     "that no sample is drawn for nothing")
        warnings.warn(f"epoch {before.epoch.number}: {before.handed_out} samples were handed out and {observed} "
                      f"observed: {cause}", RuntimeWarning, stacklevel=5)

    # ---- several ranks

    def exchange(self, pending_count: int) -> None:
        """Gives the pruner what all ranks have observed; collective.

        Args:
            pending_count: How many samples of the epoch have not been observed, as of the last exchange.
        """
        self.settle()
        if not self._ranks.exchanges:
            return
        refreshed, self._refreshed = joined(self._refreshed), []
        found = self._ranks.gather(
            (*self._local.take(), refreshed),
            {"epoch": self._epoch.number, "the number of unobserved samples": pending_count})
        if found is not None:
            self._copy.change("exchange losses", lambda: self._tell_all(*found))

    def _tell_all(self, in_time: Observed, late: Observed, refreshed: Observed) -> None:
        pruner, (ids, losses), (late_ids, late_losses), (other_ids, other_losses) = (
            self._pruner, in_time, late, refreshed)
        if len(other_ids) > 0:
            pruner.observe_refreshed(other_ids, other_losses)
        if pruner.epoch < 0:  # an initial pass may have been sharded with repeats, or not at all
            ids, first = np.unique(ids, return_index=True)
            losses = losses[first]
        elif self.repeats is not None:
            ids, losses = self._once(ids, losses)
        if len(late_ids) > 0:  # before the newer ones
            self._tell_late(late_ids, late_losses)
        known = ~np.isnan(losses)
        if not known.all():
            pruner.pass_over(ids[~known])
        if known.any():
            self._tell(ids[known], losses[known])


_HOW_TO_SHARE_ONCE = ("A framework has wrapped this sampler in its own: give Fabric's setup_dataloaders and "
                      "Lightning's Trainer use_distributed_sampler=False, and see docs/frameworks.md for accelerate")


def _require_losses(losses: Any) -> None:
    if not isinstance(losses, torch.Tensor) or losses.dim() != 1:
        shape = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses).__name__
        raise InvalidArgument(f'observe: losses have shape {shape}; one loss for each sample is needed: compute '
                              'them with reduction="none"')


def _sound(losses: NDArray[Any]) -> NDArray[np.bool_]:
    sound: NDArray[np.bool_] = np.isfinite(losses) & (losses >= -ROUNDING)
    return sound
