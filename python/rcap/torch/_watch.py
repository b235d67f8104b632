"""What a sampler made with watch=True remembers: how often each sample was selected, and the losses of the classes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .. import Pruner, StateMismatch
from .._report import Report, ratio
from ._epoch import Epoch

_BEFORE_TRAINING = -1


@dataclasses.dataclass(eq=False)
class ClassLosses:
    """The losses of an epoch, summed by class."""

    epoch: int
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]

    @staticmethod
    def of(epoch: int, class_count: int) -> "ClassLosses":
        return ClassLosses(epoch, np.zeros(class_count), np.zeros(class_count, np.int64))

    def add(self, classes: NDArray[Any], losses: NDArray[Any]) -> None:
        known = np.isfinite(losses)  # a method that does not learn accepts any numbers
        if not known.all():
            classes, losses = classes[known], losses[known]
        np.add.at(self.sums, classes, losses.astype(np.float64, copy=False))
        np.add.at(self.counts, classes, 1)


class Watch:
    """Counts selections and losses as they reach the pruner, so that all ranks count the same."""

    def __init__(self, pruner: Pruner) -> None:
        self._labels = pruner.labels
        self._class_count = pruner.class_count
        self.since = _BEFORE_TRAINING
        self.epoch = _BEFORE_TRAINING
        self.clipped_part = 0.0  # the pruner forgets it when a state is loaded
        self.times = np.zeros(pruner.sample_count, np.int32)  # how often each sample was selected
        self._losses = ClassLosses.of(_BEFORE_TRAINING, self._class_count)
        self._losses_before = ClassLosses.of(_BEFORE_TRAINING, self._class_count)

    def begin_epoch(self, number: int, ids: NDArray[np.int64], clipped_part: float) -> None:
        """Counts an epoch that selects these samples: once, even if it begins again after a state was loaded."""
        if number == self.epoch:
            return
        if self.epoch == _BEFORE_TRAINING:
            self.since = number
        self.epoch, self.clipped_part = number, clipped_part
        self.times[ids] += 1
        self._losses_before, self._losses = self._losses, ClassLosses.of(number, self._class_count)

    def add(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        """Adds losses of this epoch."""
        self._losses.add(self._labels[ids], losses)

    def add_late(self, ids: NDArray[Any], losses: NDArray[Any]) -> None:
        """Adds losses of the previous epoch."""
        self._losses_before.add(self._labels[ids], losses)

    def latest_losses(self) -> ClassLosses | None:
        """Those of this epoch as soon as there are any, otherwise those of the previous one."""
        return next((each for each in (self._losses, self._losses_before) if each.counts.any()), None)

    def seen_by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many samples of each class were ever selected, and how often in total."""
        seen = np.bincount(self._labels[self.times > 0], minlength=self._class_count)
        often = np.bincount(self._labels, weights=self.times, minlength=self._class_count)  # exact below 2^53
        return seen, often.astype(np.int64)

    def summary(self) -> dict[str, Any]:
        """The fields of a report."""
        return {"clipped_part": self.clipped_part, **self._coverage(), **self._mean_losses()}

    def _coverage(self) -> dict[str, Any]:
        seen, often = self.seen_by_class()
        distinct = int(seen.sum())
        sizes = np.bincount(self._labels, minlength=self._class_count)
        return {"seen": distinct, "watched_since": self.since if distinct > 0 else None,
                "repeats": int(often.sum()) / distinct if distinct > 0 else None,
                "class_coverage": ratio(seen, sizes), "class_repeats": ratio(often, seen)}

    def _mean_losses(self) -> dict[str, Any]:
        losses = self.latest_losses()
        if losses is None:
            return {}
        count = int(losses.counts.sum())
        return {"loss_epoch": losses.epoch, "loss_count": count, "loss": float(losses.sums.sum()) / count,
                "class_losses": ratio(losses.sums, losses.counts)}

    def state(self) -> dict[str, torch.Tensor]:
        """Everything, as copies in tensors."""
        both = self._losses, self._losses_before
        return {"watch.times": torch.from_numpy(self.times.copy()),
                "watch.epochs": torch.tensor([self.since, self.epoch, *(each.epoch for each in both)]),
                "watch.clipped_part": torch.tensor(self.clipped_part, dtype=torch.float64),
                "watch.loss_sums": torch.from_numpy(np.stack([each.sums for each in both])),
                "watch.loss_counts": torch.from_numpy(np.stack([each.counts for each in both]))}

    @staticmethod
    def of(pruner: Pruner, state: Mapping[str, torch.Tensor]) -> "Watch":
        """Continues from a state, or starts from scratch if the sampler that wrote it was not watched."""
        watch = Watch(pruner)
        if "watch.times" not in state:
            return watch
        times, epochs, sums, counts = (
            state[f"watch.{name}"].cpu().numpy() for name in ("times", "epochs", "loss_sums", "loss_counts"))
        if times.shape != watch.times.shape or sums.shape != (2, pruner.class_count):
            raise StateMismatch(
                f"load_state_dict: written for {len(times)} samples in {sums.shape[-1]} classes, this sampler has "
                f"{pruner.sample_count} in {pruner.class_count}; load the state of a run on this data set")
        watch.times = times.copy()
        watch.since, watch.epoch = map(int, epochs[:2])
        watch.clipped_part = float(state["watch.clipped_part"])
        watch._losses, watch._losses_before = (
            ClassLosses(int(epochs[2 + row]), sums[row].copy(), counts[row].copy()) for row in range(2))
        return watch


def count_classes(pruner: Pruner, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of these samples each class has."""
    return np.bincount(pruner.labels[ids], minlength=pruner.class_count)


def report_on(pruner: Pruner, epoch: Epoch, class_counts: NDArray[np.int64], observed: int,
              watched: Mapping[str, Any] | None, names: tuple[str, ...] | None) -> Report:
    """The report on an epoch that trains on so many samples of each class.

    Args:
        watched: What a `Watch` has to add, if there is one.
    """
    report = Report(
        method=pruner.method, epoch=epoch.number, sample_count=pruner.sample_count, selected=int(class_counts.sum()),
        observed=observed, clipped_part=epoch.clipped_part, class_sizes=pruner.class_sizes, class_counts=class_counts,
        class_names=names or tuple(map(str, range(pruner.class_count))))
    return report if watched is None else dataclasses.replace(report, **watched)
