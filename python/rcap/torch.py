"""Pruning in a PyTorch loop.

    pruner  = rcap.RCAP(labels, pruning_rate=0.9)
    sampler = PruningSampler(pruner)
    loader  = DataLoader(Indexed(dataset), sampler=sampler, batch_size=128, num_workers=8)
    initial_losses(model, DataLoader(Indexed(dataset), batch_size=256, shuffle=True), sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            sampler.observe(ids, losses).backward()
            ...

Under torch.distributed every rank makes the same selection and takes its part; losses are exchanged once an epoch.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from . import InvalidArgument, Pruner, StateMismatch
from ._ranks import LocalLosses, Ranks

LEARNING = {"rcap", "infobatch", "ucb", "epsilon-greedy"}  # the methods whose selections follow the losses

__all__ = ["PruningSampler", "Indexed", "initial_losses", "total_steps"]


class Indexed(Dataset[tuple[Any, int]]):
    """A map-style data set that also tells which sample it gave: `(item, id)`.

    >>> Indexed(["a", "b"])[1]
    ('b', 1)
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self._check([index])
        return self.dataset[index], index

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, int]]:
        """A batch at once, as DataLoader asks for it; the data set's own way is taken where it has one."""
        self._check(indices)
        fetch = getattr(self.dataset, "__getitems__", None)
        items = fetch(indices) if fetch else [self.dataset[index] for index in indices]
        return list(zip(items, indices))

    def _check(self, indices: Sequence[int]) -> None:
        if max(indices, default=0) >= len(self.dataset):
            raise InvalidArgument(f"Indexed: sample {max(indices)} was asked for, and the data set has "
                                  f"{len(self.dataset)}; give the pruner the labels of this data set")


class PruningSampler(Sampler[int]):
    """Yields the samples a pruner selects for an epoch, in random order, and takes their losses.

    Give it to a DataLoader as `sampler`, never as something to be sharded again. Without `set_epoch` a full pass moves
    on to the next epoch. A pass that was broken off goes on with the samples that have not been observed, and so does
    one after `load_state_dict`.

    With several ranks, making the sampler, iterating over it and moving to another epoch are joint actions: every rank
    does them, in the same order.

    batch_size: of a loader that drops its last, smaller batch. The epoch then holds whole batches only.
    group: of torch.distributed, if not the default one.
    """

    def __init__(self, pruner: Pruner, *, batch_size: int | None = None,
                 group: torch.distributed.ProcessGroup | None = None) -> None:
        if batch_size is not None and batch_size < 1:
            raise InvalidArgument(f"PruningSampler: batch_size is {batch_size}; it must be at least 1")
        self.pruner = pruner
        self._batch_size = batch_size
        self._ranks = Ranks(group)
        self._ranks.require_equal("PruningSampler", {
            "method": pruner.method, "options": ", ".join(pruner.options), "samples": pruner.sample_count,
            "labels": pruner.label_fingerprint, "epoch": pruner.epoch})
        self._local = LocalLosses(pruner.sample_count)  # of use with several ranks only
        self._weights = None  # of every sample, where a method weighs them
        self._start()

    def _start(self):
        """Takes the epoch from the pruner, which may be in the middle of it."""
        self._epoch = max(self.pruner.epoch, 0)
        self._selection = None  # in training order, of self._epoch
        self._pass = None  # what this rank was handed, or is to be, in the pass under way
        self._observed = 0  # how many of these this rank has observed
        self._ended = False  # all of these were handed out, and nobody has said which epoch is next
        if self.pruner.epoch >= 0:
            self._select()
            self._ended = len(self._part(self._remaining())) == 0

    @property
    def epoch(self) -> int:
        """The epoch under way."""
        return self._epoch

    @property
    def rank_count(self) -> int:
        return self._ranks.size

    @property
    def drops_last(self) -> bool:
        """Whether an epoch holds whole batches only."""
        return self._batch_size is not None

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch the next pass is. Saying it again changes nothing."""
        if epoch < self._epoch:
            raise InvalidArgument(f"PruningSampler: epoch {epoch} lies before {self._epoch}, the last one")
        self._ended = False
        if epoch != self._epoch or self._selection is None:
            self._enter(epoch)
        self._pass = None

    def __len__(self) -> int:
        """How many samples the pass under way hands out on this rank; between passes, the next one.

        Other ranks have no part in this. So with several of them a coming epoch is as long as the method can tell
        beforehand; where it cannot (InfoBatch), TypeError is raised, as by all that has no length, until `set_epoch`.
        """
        # Ended without a pass: a state of a finished epoch was loaded.
        over = self._ended and (self._pass is None or self._observed >= len(self._pass))
        must_wait = self._ranks.size > 1 or wants_initial_losses(self.pruner)
        if must_wait and (over or self._selection is None):
            return self._planned_length(self._epoch + over)
        if over:
            self._enter(self._epoch + 1)
        if self._pass is None:
            self._pass = self._part(self._remaining())
        return len(self._pass)

    def __iter__(self) -> Iterator[int]:
        self._ranks.require_unchanged()
        if self._ended:
            self._enter(self._epoch + 1)
        else:
            self.synchronize()
        remaining = self._remaining()
        self._pass, self._observed = self._part(remaining), 0
        if self._ranks.size > 1:
            self._local.expect(own=remaining[self._ranks.rank::self._ranks.size], repeats=self._pass)
        return itertools.chain.from_iterable(self._lists(self._pass))

    def _lists(self, ids):
        """The ids as lists of Python's numbers, which a loader takes fastest; not all at once, they are large."""
        for first in range(0, len(ids), 4096):
            yield ids[first:first + 4096].tolist()
        if self._pass is ids:
            self._ended = True

    def observe(self, ids: torch.Tensor | np.ndarray | Sequence[int], losses: torch.Tensor) -> torch.Tensor:
        """Records the losses of a batch, and returns their mean to differentiate, weighted where the method weighs.

        ids: of the samples, as the loader gave them. losses: one for each (reduction="none"), on any device. Before
        the first epoch these are the initial losses that some methods want; see `initial_losses`.
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
        self._observed += len(ids)
        if self._weights is None:
            return losses.mean()
        weights = torch.from_numpy(self._weights[ids]).to(losses.device, losses.dtype)
        return (losses * weights).mean()

    def synchronize(self) -> None:
        """Exchanges losses with the other ranks; all of them must call it. Nothing to do in a single process.

        The next epoch does it by itself; before `state_dict` in mid-epoch it has to be called.
        """
        if self._ranks.size == 1:
            return
        ids, losses = self._ranks.gather(*self._local.take(), {
            "epoch": self._epoch, "the samples that were not observed": self.pruner.pending_count})
        if self.pruner.epoch < 0:  # an initial pass may have been shared out with repeats, or not at all
            ids, first = np.unique(ids, return_index=True)
            losses = losses[first]
        if len(ids) > 0:
            self.pruner.observe(ids, losses)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """All state, the same on every rank and for any number of ranks, as the bytes of a tensor.

        Holds what was observed, not what workers have fetched ahead.
        """
        if self._local:
            raise InvalidArgument("state_dict: this rank holds losses that the others do not know; call synchronize() "
                                  "on all ranks first")
        return {"pruner": torch.frombuffer(bytearray(self.pruner.state()), dtype=torch.uint8)}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Goes on exactly where `state_dict` was made, also with another number of ranks or workers."""
        if "pruner" not in state:
            raise StateMismatch("load_state_dict: not a state of PruningSampler: it has no \"pruner\"")
        self.pruner.set_state(state["pruner"].cpu().numpy().tobytes())
        self._local = LocalLosses(self.pruner.sample_count)
        self._start()

    def _enter(self, epoch):
        if self._pass is not None and len(self._pass) > 0 and self._observed == 0 and self.pruner.method in LEARNING:
            warnings.warn(f"no loss was observed in epoch {self._epoch}, so {self.pruner.method} learns nothing: call "
                          "sampler.observe(ids, losses) for every batch", RuntimeWarning, stacklevel=3)
        self.synchronize()
        self._epoch, self._ended, self._pass, self._observed = epoch, False, None, 0
        self._select()

    def _select(self):
        self._selection = self.pruner.select_in_order(self._epoch)
        weights = self._selection.weights
        if weights is None:
            self._weights = None
            return
        if self._weights is None:
            self._weights = np.ones(self.pruner.sample_count, np.float32)
        self._weights[self._selection.ids] = weights

    def _remaining(self):
        """The samples of the epoch that have not been observed, in training order."""
        if self._selection is None:
            self._select()
        ids = self._selection.ids
        if self.pruner.pending_count == len(ids):
            return ids
        pending = np.zeros(self.pruner.sample_count, bool)
        pending[self.pruner.pending_ids()] = True
        return ids[pending[ids]]

    def _part(self, ids):
        """What this rank takes: every size-th sample, as many as every other rank.

        The first samples of the epoch fill up, also after a resume: it then trains the same ones twice.
        """
        size = self._ranks.size
        if self._batch_size is not None:
            whole = self._batch_size * size
            return ids[:len(ids) // whole * whole][self._ranks.rank::size]
        missing = -len(ids) % size
        if missing:
            ids = np.concatenate([ids, np.resize(self._selection.ids, missing)])
        return ids[self._ranks.rank::size]

    def _planned_length(self, epoch):
        count = _planned_count(self.pruner, epoch)
        if count is None:
            raise TypeError(f"PruningSampler: how long epoch {epoch} of {self.pruner.method} is, is not known yet; call "
                            f"set_epoch({epoch}) on all ranks first")
        size = self._ranks.size
        if self._batch_size is not None:
            return count // (self._batch_size * size) * self._batch_size
        return -(-count // size)


def wants_initial_losses(pruner: Pruner) -> bool:
    """Whether the loss of some sample is still missing before the first epoch."""
    return pruner.needs_initial_losses and pruner.epoch < 0 and pruner.pending_count > 0


def _planned_count(pruner, epoch):
    """How many samples an epoch will hold; None where the method cannot tell beforehand."""
    until, before = pruner.planned_batches(epoch + 1, 1), pruner.planned_batches(epoch, 1)
    return None if until is None or before is None else until - before


def _on_host(tensor):
    return tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()


def _losses_on_host(losses):
    losses = losses.detach()
    # Compared one by one: a test for membership takes longer than all the rest.
    if losses.dtype is not torch.float32 and losses.dtype is not torch.float64:
        losses = losses.float()
    return _on_host(losses)


def _on_device(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return type(value)({name: _on_device(part, device) for name, part in value.items()})
    if isinstance(value, (list, tuple)):
        parts = [_on_device(part, device) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)  # a named tuple takes them singly
    return value


def _cross_entropy(model, batch):
    inputs, targets = batch
    return torch.nn.functional.cross_entropy(model(inputs), targets, reduction="none")


@torch.no_grad()
def initial_losses(model: torch.nn.Module, loader: Any, sampler: PruningSampler, *,
                   losses: Callable[[torch.nn.Module, Any], torch.Tensor] | None = None,
                   device: torch.device | str | None = None) -> None:
    """Shows a pruner the loss of every sample before training, where it wants that (RCAP does); else does nothing.

    loader: over `Indexed(dataset)`, every sample once, shuffled where the network normalises by batch. With several
    ranks each may take a part of them.
    losses: of (model, batch), one loss for each sample; by default a batch is (inputs, targets), and the loss the cross
    entropy.

    The network ends as it was: its running statistics do not move, and dropout is off.
    """
    pruner = sampler.pruner
    if not wants_initial_losses(pruner):
        return
    if len(loader.dataset) != pruner.sample_count:
        raise InvalidArgument(f"initial_losses: the data set has {len(loader.dataset)} samples, the labels are "
                              f"{pruner.sample_count}; give the whole training set")
    losses = losses or _cross_entropy
    device = device or next(model.parameters()).device
    with _BatchStatistics(model):
        for batch, ids in loader:
            sampler.observe(ids, losses(model, _on_device(batch, device)))
    sampler.synchronize()


class _BatchStatistics:
    """A network that normalises by the batch, as in training, and is otherwise as in an evaluation.

    Before training the running statistics say nothing yet. All is put back at the end.
    """

    def __init__(self, model):
        self._model = model

    def __enter__(self):
        self._modes = [(module, module.training) for module in self._model.modules()]
        self._buffers = [(buffer, buffer.clone()) for buffer in self._model.buffers()]
        self._model.eval()
        for module, _ in self._modes:
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.training = True

    def __exit__(self, *_):
        for buffer, before in self._buffers:
            buffer.copy_(before)
        for module, training in self._modes:
            module.training = training


def total_steps(sampler: PruningSampler, epochs: int, batch_size: int) -> int:
    """How many batches each rank makes in a run, for a learning rate that falls over exactly these.

    Raises InvalidArgument where the method cannot tell beforehand (InfoBatch without batch_size).
    """
    pruner, whole = sampler.pruner, batch_size * sampler.rank_count
    if sampler.drops_last:
        counts = [_planned_count(pruner, epoch) for epoch in range(epochs)]
        steps = None if None in counts else sum(count // whole for count in counts)
    else:
        steps = pruner.planned_batches(epochs, whole)
    if steps is None:
        raise InvalidArgument(f"total_steps: {pruner.method} cannot tell beforehand how many batches it makes; give "
                              "InfoBatch the epochs and the batch_size (of all ranks), or let the rate fall by epoch")
    return steps
