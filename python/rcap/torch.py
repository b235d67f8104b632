"""Pruning in a PyTorch loop.

    pruner  = rcap.RCAP(labels, pruning_rate=0.9)
    sampler = PruningSampler(pruner)
    loader  = DataLoader(Indexed(dataset), sampler=sampler, batch_size=128, num_workers=8)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            sampler.observe(ids, losses).backward()
            ...

Under torch.distributed every rank makes the same selection and takes its part; losses are exchanged once an epoch.
"""

import contextlib
import dataclasses
import enum
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

from . import InvalidArgument, Pruner, StateMismatch
from ._ranks import LocalLosses, Ranks


__all__ = ["PruningSampler", "Indexed", "initial_losses", "total_steps"]


class Indexed(Dataset[tuple[Any, int]]):
    """A map-style data set that also tells which sample it gave: `(item, id)`.

    >>> Indexed(["a", "b"])[1]
    ('b', 1)

    Args:
        dataset: The data set.
        sampler: The one that will ask for its samples.

    Raises:
        InvalidArgument: If the sampler's pruner was made for another number of samples.
    """

    def __init__(self, dataset: Any, sampler: "PruningSampler | None" = None) -> None:
        if sampler is not None and len(dataset) != sampler.pruner.sample_count:
            raise InvalidArgument(f"Indexed: the data set has {len(dataset)} samples, the pruner was made with the "
                                  f"labels of {sampler.pruner.sample_count}; give it those of this data set")
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self._check([index])
        return self.dataset[index], index

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, int]]:
        """A batch at once, as DataLoader asks for it; by the data set's own method where it has one."""
        self._check(indices)
        fetch = getattr(self.dataset, "__getitems__", None)
        items = fetch(indices) if fetch else [self.dataset[index] for index in indices]
        return list(zip(items, indices, strict=True))

    def _check(self, indices: Sequence[int]) -> None:
        if max(indices, default=0) >= len(self.dataset):
            raise InvalidArgument(f"Indexed: sample {max(indices)} was asked for, and the data set has "
                                  f"{len(self.dataset)}; give the pruner the labels of this data set")


class _Phase(enum.Enum):
    COMING = enum.auto()  # not selected yet
    SELECTED = enum.auto()  # and no pass has begun
    UNDER_WAY = enum.auto()  # a pass hands out its samples
    HANDED_OUT = enum.auto()  # a pass came to its end, or a loaded state leaves nothing to hand out


_NOTHING = np.empty(0, np.int64)


@dataclasses.dataclass(eq=False)
class _Epoch:
    """An epoch, and how far a sampler has come in it."""

    number: int
    phase: _Phase
    ids: NDArray[np.int64]  # what all ranks train on, in training order
    weights: NDArray[np.float32] | None = None  # of every sample of the data set, where the method weighs them
    part: NDArray[np.int64] = dataclasses.field(default_factory=lambda: _NOTHING)  # what the pass hands to this rank
    observed: int = 0  # how many samples of it this rank has observed

    @property
    def over(self) -> bool:
        """Whether all was handed out and observed. Workers ask for samples long before these are observed."""
        return self.phase is _Phase.HANDED_OUT and self.observed >= len(self.part)


class PruningSampler(Sampler[int]):
    """Yields the samples a pruner selects for an epoch, in random order, and takes their losses.

    Give it to a DataLoader as `sampler`, never as something to be sharded again. Without `set_epoch` a full pass moves
    on to the next epoch. A pass that was broken off goes on with the samples that have not been observed, and so does
    one after `load_state_dict`.

    With several ranks, making the sampler, iterating over it and moving to another epoch are collective: every rank
    must do them, in the same order.

    Args:
        pruner: Selects the samples.
        batch_size: Of a loader that drops its last, smaller batch. The epoch then holds whole batches only.
        group: Of torch.distributed, if not the default one.
        hands_out: What a pass yields where a part of the epoch has been observed: the "rest", or the "whole", for a
            framework that itself skips the batches that are done.
        counts_epochs: Whether a full pass moves on to the next epoch. If not, only `set_epoch` does, and the length is
            always that of a whole epoch: a framework asks for it at any time, counts the batches of a resumed epoch
            from its beginning, and makes iterators that it throws away.

    Raises:
        InvalidArgument: If batch_size is below 1, or if the ranks disagree on the pruner.
    """

    def __init__(self, pruner: Pruner, *, batch_size: int | None = None,
                 group: torch.distributed.ProcessGroup | None = None,
                 hands_out: Literal["rest", "whole"] = "rest", counts_epochs: bool = True) -> None:
        if batch_size is not None and batch_size < 1:
            raise InvalidArgument(f"PruningSampler: batch_size is {batch_size}; it must be at least 1")
        if hands_out not in ("rest", "whole"):
            raise InvalidArgument(f'PruningSampler: hands_out is "{hands_out}"; it must be "rest" or "whole"')
        self.pruner = pruner
        self.hands_out = hands_out
        self.counts_epochs = counts_epochs
        self._batch_size = batch_size
        self._group = group
        self.join()

    def join(self) -> None:
        """Joins the ranks, where these are started after the sampler was made. All must call it.

        Raises:
            InvalidArgument: If the ranks disagree on the pruner.
        """
        pruner = self.pruner
        self._ranks = Ranks(self._group)
        self._ranks.require_equal("PruningSampler", {
            "method": pruner.method, "options": ", ".join(pruner.options), "samples": pruner.sample_count,
            "labels": pruner.label_fingerprint, "epoch": pruner.epoch})
        self._start()

    def _start(self) -> None:
        """Takes the epoch from the pruner, which may be in the middle of it."""
        self._local = LocalLosses(self.pruner.sample_count)  # of use with several ranks only
        self._epoch = _Epoch(0, _Phase.COMING, _NOTHING)
        if self.pruner.epoch >= 0:
            self._select(self.pruner.epoch)
            if self.epoch_done:
                self._epoch.phase = _Phase.HANDED_OUT

    def loader(self, dataset: Any, **options: Any) -> DataLoader[Any]:
        """A loader of `(item, id)` over what is selected: `DataLoader(Indexed(dataset), sampler=self, **options)`.

        Args:
            dataset: The data set whose labels the pruner has.
            **options: Of the DataLoader.

        Raises:
            InvalidArgument: If the data set has another number of samples, an option says which samples to take, or
                last batches are dropped and the sampler does not know their size.
        """
        for name in ("sampler", "batch_sampler", "shuffle"):
            if options.get(name):
                raise InvalidArgument(f"loader: {name} says which samples to take, as the pruner does; leave it out")
        if options.get("drop_last") and self._batch_size != options.get("batch_size", 1):
            raise InvalidArgument(f"loader: drop_last with batches of {options.get('batch_size', 1)}; make the sampler "
                                  f"with batch_size={options.get('batch_size', 1)}, so that it knows what is dropped")
        return DataLoader(Indexed(dataset, self), sampler=self, **options)

    @property
    def epoch(self) -> int:
        """The epoch under way."""
        return self._epoch.number

    @property
    def epoch_done(self) -> bool:
        """Whether all that this epoch trains on has been observed."""
        return self._epoch.phase is not _Phase.COMING and self._share(self.pruner.pending_count) == 0

    @property
    def any_observed(self) -> bool:
        """Whether this rank has given the loss of any sample of the epoch, or knows one from another rank."""
        epoch = self._epoch
        return epoch.phase is not _Phase.COMING and (
            epoch.observed > 0 or self.pruner.pending_count < len(epoch.ids))

    @property
    def rank_count(self) -> int:
        """How many processes share the samples."""
        return self._ranks.size

    @property
    def drops_last(self) -> bool:
        """Whether an epoch holds whole batches only."""
        return self._batch_size is not None

    def batches_done(self, batch_size: int) -> int:
        """How many batches of the epoch have been trained."""
        whole, rest = self._share(len(self._epoch.ids)), self._share(self.pruner.pending_count)
        return math.ceil(whole / batch_size) - math.ceil(rest / batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch the next pass is, and selects its samples. Saying it again changes nothing.

        Raises:
            InvalidArgument: If the epoch lies before the last one.
        """
        if epoch < self.epoch:
            raise InvalidArgument(f"PruningSampler: epoch {epoch} lies before {self.epoch}, the last one")
        if epoch != self.epoch or self._epoch.phase is _Phase.COMING:
            self._enter(epoch)
        self._epoch.phase, self._epoch.part = _Phase.SELECTED, _NOTHING

    def __len__(self) -> int:
        """How many samples the pass under way hands out on this rank; between passes, the next one.

        Selects nothing, and other ranks take no part. So the length of a coming epoch is what the method can tell
        beforehand. InfoBatch cannot: it has no length until `set_epoch` or the next pass.

        Raises:
            TypeError: If the length is not known yet, as for any object without one.
        """
        epoch = self._epoch
        if epoch.phase is _Phase.COMING:
            return self._planned_length(epoch.number)
        if not self.counts_epochs:
            return self._share(len(epoch.ids))
        if epoch.over:
            return self._planned_length(epoch.number + 1)
        if epoch.phase is _Phase.SELECTED:
            return self._share(len(epoch.ids) if self.hands_out == "whole" else self.pruner.pending_count)
        return len(epoch.part)

    def __iter__(self) -> Iterator[int]:
        self._ranks.require_unchanged()
        if self._epoch.phase is _Phase.COMING:
            self._enter(self.epoch)
        elif self._epoch.phase is _Phase.HANDED_OUT and self.counts_epochs:
            self._enter(self.epoch + 1)
        else:
            self.synchronize()
        epoch = self._epoch
        ids = epoch.ids if self.hands_out == "whole" else self._remaining()
        epoch.phase, epoch.part, epoch.observed = _Phase.UNDER_WAY, self._part(ids), 0
        if self._ranks.size > 1:
            self._local.expect(own=ids[self._ranks.rank::self._ranks.size], repeats=epoch.part)
        return itertools.chain.from_iterable(_hand_out(epoch, epoch.part))

    def observe(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor) -> torch.Tensor:
        """Records the losses of a batch. Before the first epoch these are the initial ones that some methods want.

        Args:
            ids: Of the samples, as the loader gave them.
            losses: One for each (reduction="none"), on any device.

        Returns:
            The mean of the losses to differentiate, weighted where the method weighs.

        Raises:
            InvalidArgument: If losses were reduced, are negative or not finite, or are not those of samples of this
                epoch, each once. Nothing is recorded then.
        """
        if not isinstance(losses, torch.Tensor) or losses.dim() != 1:
            shape = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses).__name__
            raise InvalidArgument(f'observe: losses have shape {shape}; one loss for each sample is needed: compute '
                                  'them with reduction="none"')
        ids = _on_host(ids) if isinstance(ids, torch.Tensor) else np.asarray(ids)
        if self._ranks.size == 1:
            self.pruner.observe(ids, _losses_on_host(losses))
        else:
            self._local.add(ids, _losses_on_host(losses))
        self._epoch.observed += len(ids)
        if self._epoch.weights is None:
            return losses.mean()
        weights = torch.from_numpy(self._epoch.weights[ids]).to(losses.device, losses.dtype)
        return (losses * weights).mean()

    def observe_classes(self, errors: torch.Tensor | NDArray[Any] | Sequence[float]) -> None:
        """Tells the error of every class on held-out data; RCAP's robust rule goes by these from then on.

        With several ranks all must call it, with the same numbers.

        Args:
            errors: One for each class, such as the mean loss of its held-out samples.

        Raises:
            InvalidArgument: If there is not one error for each class, any is negative or not finite, the ranks
                disagree, or the method does not judge classes. Nothing is changed then.
        """
        if isinstance(errors, torch.Tensor):
            errors = errors.detach().cpu()
        told = np.asarray(errors, dtype=np.float64)
        self._ranks.require_equal("observe_classes", {"the errors of the classes": told.tolist()})
        self.pruner.observe_classes(told)

    def synchronize(self) -> None:
        """Exchanges losses with the other ranks; all of them must call it. Nothing to do in a single process.

        The next epoch does it on its own; before `state_dict` in mid-epoch it has to be called.

        Raises:
            InvalidArgument: If the ranks have diverged.
        """
        if self._ranks.size == 1:
            return
        ids, losses = self._ranks.gather(*self._local.take(), {
            "epoch": self.epoch, "the samples that were not observed": self.pruner.pending_count})
        if self.pruner.epoch < 0:  # an initial pass may have been shared out with repeats, or not at all
            ids, first = np.unique(ids, return_index=True)
            losses = losses[first]
        if len(ids) > 0:
            self.pruner.observe(ids, losses)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """All state, the same on every rank and for any number of ranks, as the bytes of a tensor.

        Holds what was observed, not what workers have fetched ahead.

        Raises:
            InvalidArgument: If `synchronize` has to be called first.
        """
        if self._local:
            raise InvalidArgument("state_dict: this rank holds losses that the others do not know; call synchronize() "
                                  "on all ranks first")
        return {"pruner": torch.frombuffer(bytearray(self.pruner.state()), dtype=torch.uint8)}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continues exactly where `state_dict` was called, also with another number of ranks or workers.

        Raises:
            StateMismatch: If it is no such state, or one of other data, another method or other options.
        """
        if "pruner" not in state:
            raise StateMismatch("load_state_dict: not a state of PruningSampler: it has no \"pruner\"")
        self.pruner.set_state(state["pruner"].cpu().numpy().tobytes())
        self._start()

    def _enter(self, number: int) -> None:
        if len(self._epoch.part) > 0 and not self.any_observed and self.pruner.learns:
            warnings.warn(f"no loss was observed in epoch {self.epoch}, so {self.pruner.method} learns nothing: call "
                          "sampler.observe(ids, losses) for every batch", RuntimeWarning, stacklevel=3)
        self.synchronize()
        self._select(number)

    def _select(self, number: int) -> None:
        selection, weights = self.pruner.select_in_order(number), None
        if selection.weights is not None:
            weights = self._epoch.weights  # its memory serves every epoch; only selected samples are looked up
            if weights is None:
                weights = np.ones(self.pruner.sample_count, np.float32)
            weights[selection.ids] = selection.weights
        self._epoch = _Epoch(number, _Phase.SELECTED, selection.ids, weights)
        if self._share(len(selection.ids)) == 0:
            raise InvalidArgument(f"PruningSampler: epoch {number} has {len(selection.ids)} samples, fewer than one "
                                  f"batch of {self._batch_size} on each of {self._ranks.size} ranks, so nothing would "
                                  "be trained; choose a smaller batch_size")

    def _remaining(self) -> NDArray[np.int64]:
        """The samples of the epoch that have not been observed, in training order."""
        ids = self._epoch.ids
        if self.pruner.pending_count == len(ids):
            return ids
        pending = np.zeros(self.pruner.sample_count, bool)
        pending[self.pruner.pending_ids()] = True
        return ids[pending[ids]]

    def _share(self, count: int) -> int:
        """How many of `count` samples each rank takes, the same on all; together possibly more than there are."""
        if self._batch_size is None:
            return math.ceil(count / self._ranks.size)
        return count // (self._batch_size * self._ranks.size) * self._batch_size

    def _part(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """What this rank takes: every size-th sample.

        The first samples of the epoch fill up, also after a resume, so that the same ones are trained twice.
        """
        count = self._share(len(ids)) * self._ranks.size
        if count > len(ids):
            ids = np.concatenate([ids, np.resize(self._epoch.ids, count - len(ids))])
        return ids[:count][self._ranks.rank::self._ranks.size]

    def _planned_length(self, epoch: int) -> int:
        count = _planned_count(self.pruner, epoch)
        if count is None:
            where = " on all ranks" if self._ranks.size > 1 else ""
            raise TypeError(f"PruningSampler: how long epoch {epoch} of {self.pruner.method} is, is not known yet; "
                            f"call set_epoch({epoch}){where} first")
        return self._share(count)


def _hand_out(epoch: _Epoch, part: NDArray[np.int64]) -> Iterator[list[int]]:
    """The part as lists of Python numbers, which a loader takes fastest; in pieces, as they are large."""
    for first in range(0, len(part), 4096):
        yield part[first:first + 4096].tolist()
    if epoch.part is part:  # no other pass has begun since
        epoch.phase = _Phase.HANDED_OUT


def wants_initial_losses(pruner: Pruner) -> bool:
    """Whether the loss of some sample is still missing before the first epoch."""
    return pruner.needs_initial_losses and pruner.epoch < 0 and pruner.pending_count > 0


def keeps_length(pruner: Pruner) -> bool:
    """Whether all epochs of a method are equally long."""
    first = pruner.planned_batches(1, 1)
    return first is not None and pruner.planned_batches(2, 1) == 2 * first


def _planned_count(pruner: Pruner, epoch: int) -> int | None:
    """How many samples an epoch will hold; None where the method cannot tell beforehand."""
    until, before = pruner.planned_batches(epoch + 1, 1), pruner.planned_batches(epoch, 1)
    return None if until is None or before is None else until - before


def _on_host(tensor: torch.Tensor) -> NDArray[Any]:
    return tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()


def _losses_on_host(losses: torch.Tensor) -> NDArray[Any]:
    losses = losses.detach()
    # Compared one by one: a test for membership takes longer than all the rest.
    if losses.dtype is not torch.float32 and losses.dtype is not torch.float64:
        losses = losses.float()
    return _on_host(losses)


def _on_device(value: Any, device: torch.device | str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    kind: Callable[..., Any] = type(value)
    if isinstance(value, Mapping):
        return kind({name: _on_device(part, device) for name, part in value.items()})
    if isinstance(value, (list, tuple)):
        parts = [_on_device(part, device) for part in value]
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)  # a named tuple takes them singly
    return value


def _cross_entropy(model: torch.nn.Module, batch: Any) -> torch.Tensor:
    advice = "give losses=, a function of (model, batch) that computes one loss for each sample"
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise InvalidArgument(f"initial_losses: a batch is {type(batch).__name__}, not (inputs, targets); {advice}")
    outputs, targets = model(batch[0]), batch[1]
    for name, value in (("outputs", outputs), ("targets", targets)):
        if not isinstance(value, torch.Tensor):
            raise InvalidArgument(f"initial_losses: {name} are {type(value).__name__}, not a tensor; {advice}")
    are_classes = targets.dim() == 1 and not targets.is_floating_point() and not targets.is_complex()
    if not are_classes or outputs.dim() != 2 or len(outputs) != len(targets):
        raise InvalidArgument(f"initial_losses: outputs of shape {tuple(outputs.shape)} and targets of shape "
                              f"{tuple(targets.shape)}, {targets.dtype}, are no classification of single samples, "
                              f"whose loss is cross entropy; {advice}")
    return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")


@torch.no_grad()
def initial_losses(model: torch.nn.Module, loader: Any, sampler: PruningSampler, *,
                   losses: Callable[[torch.nn.Module, Any], torch.Tensor] | None = None,
                   device: torch.device | str | None = None) -> None:
    """Shows a pruner the loss of every sample before training, if it needs that (RCAP does); else does nothing.

    The network is left as it was: its running statistics do not move, and dropout is off.

    Args:
        model: The network, as training will begin with it.
        loader: Over `Indexed(dataset)`, every sample once, shuffled where the network normalises by batch. With several
            ranks each may take a part of them.
        sampler: The one whose pruner is shown the losses.
        losses: A function of (model, batch), one loss for each sample; by default a batch is (inputs, targets) and the
            loss is cross entropy.
        device: Where batches are moved; by default that of the network.

    Raises:
        InvalidArgument: If the data set is not the one of the labels, or a loss is negative or not finite.
    """
    pruner = sampler.pruner
    if not wants_initial_losses(pruner):
        return
    if len(loader.dataset) != pruner.sample_count:
        raise InvalidArgument(f"initial_losses: the data set has {len(loader.dataset)} samples, the labels are "
                              f"{pruner.sample_count}; give the whole training set")
    losses = losses or _cross_entropy
    device = device or next(model.parameters()).device
    missing = np.zeros(pruner.sample_count, bool)  # a pass that failed half-way has brought the others
    missing[pruner.pending_ids()] = True
    with _batch_statistics(model):
        for batch, ids in loader:
            values = losses(model, _on_device(batch, device))
            ids = _on_host(ids) if isinstance(ids, torch.Tensor) else np.asarray(ids)
            new = missing[ids]
            if new.any():
                sampler.observe(ids[new], values if new.all() else values[torch.from_numpy(new).to(values.device)])
    sampler.synchronize()


@contextlib.contextmanager
def _batch_statistics(model: torch.nn.Module) -> Iterator[None]:
    """The network normalises by the batch, as in training, and is otherwise as in an evaluation.

    Before training the running statistics say nothing yet. Everything is put back at the end.
    """
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    model.eval()
    for module, _ in modes:
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.training = True
    try:
        yield
    finally:
        for buffer, before in buffers:
            buffer.copy_(before)
        for module, training in modes:
            module.training = training


def loader_of_this_rank(dataset: Dataset[Any], sampler: PruningSampler, **options: Any) -> DataLoader[Any]:
    """A loader of this rank's part of the pass before training, in random order: a network may normalise by batch."""
    order = np.random.default_rng(sampler.pruner.seed).permutation(sampler.pruner.sample_count)
    part = order[sampler._ranks.rank::sampler._ranks.size].tolist()
    return DataLoader(dataset, sampler=part, **options)


def total_steps(sampler: PruningSampler, epochs: int, batch_size: int) -> int:
    """How many batches each rank makes in a run, for a learning rate that falls over exactly these.

    Args:
        sampler: The one of the run.
        epochs: Of the whole run.
        batch_size: Of one rank's loader.

    Raises:
        InvalidArgument: If the method cannot tell beforehand (InfoBatch without batch_size), or epochs is negative
            or batch_size below 1.
    """
    pruner, whole = sampler.pruner, batch_size * sampler.rank_count
    steps = pruner.planned_batches(epochs, whole)  # refuses epochs and batches that cannot be
    if sampler.drops_last:
        counts = [_planned_count(pruner, epoch) for epoch in range(epochs)]
        steps = None if None in counts else sum(count // whole for count in counts if count is not None)
    if steps is None:
        raise InvalidArgument(f"total_steps: {pruner.method} cannot tell beforehand how many batches it makes; give "
                              "InfoBatch the epochs and the batch_size (of all ranks), or let the rate fall by epoch")
    return steps
