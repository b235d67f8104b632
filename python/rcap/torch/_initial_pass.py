"""Forward passes for a method: over every sample before training, and over those that an epoch left out."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from .. import InvalidArgument
from ._device_losses import on_host
from ._sampler import PruningSampler
from ._steps import wants_initial_losses


def _on_device(value: Any, device: torch.device | str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    kind: Callable[..., Any] = type(value)
    if isinstance(value, Mapping):
        return kind({name: _on_device(part, device) for name, part in value.items()})
    if isinstance(value, (list, tuple)):
        parts = [_on_device(part, device) for part in value]
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)  # a named tuple takes them one by one
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
                              f"{tuple(targets.shape)}, {targets.dtype}, are not those of a classifier, whose loss "
                              f"would be the cross entropy; {advice}")
    return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")


@torch.no_grad()
def initial_losses(model: torch.nn.Module, loader: Any, sampler: PruningSampler, *,
                   losses: Callable[[torch.nn.Module, Any], torch.Tensor] | None = None,
                   device: torch.device | str | None = None) -> None:
    """Observes the loss of every sample before training if the pruner needs them; otherwise does nothing.

    `TopLoss` needs them, and so does RCAP with initial_loss="forward" or, unless initial_loss says otherwise, with the
    class_share "paper", "mass" or "group". Dropout is off during the pass, and the network's running statistics do not
    change.

    Args:
        model: The network, as it is when training begins.
        loader: A loader over `Indexed(dataset)` that yields every sample once, shuffled if the network normalises by
            batch. With several ranks each may take a part.
        sampler: The sampler whose pruner records the losses.
        losses: A function of (model, batch) that returns one loss for each sample; by default a batch is (inputs,
            targets) and the loss is the cross entropy.
        device: The device to move batches to; by default the network's.

    Raises:
        InvalidArgument: If the data set does not match the labels, or a loss is negative or not finite.
    """
    pruner = sampler.pruner
    if not wants_initial_losses(pruner):
        return
    if len(loader.dataset) != pruner.sample_count:
        raise InvalidArgument(f"initial_losses: the data set has {len(loader.dataset)} samples, but there are "
                              f"{pruner.sample_count} labels; give the whole training set")
    losses = losses or _cross_entropy
    device = device or next(model.parameters()).device
    is_missing = sampler._missing()  # the others are known from a pass that failed half-way
    with _batch_statistics(model):
        for batch, ids in loader:
            values = losses(model, _on_device(batch, device))
            ids = on_host(ids) if isinstance(ids, torch.Tensor) else np.asarray(ids)
            new = is_missing(ids)
            if new.any():
                sampler.observe(ids[new], values if new.all() else values[torch.from_numpy(new).to(values.device)])
    sampler.synchronize()


@torch.no_grad()
def refresh_losses(model: torch.nn.Module, loader: Any, sampler: PruningSampler, *,
                   losses: Callable[[torch.nn.Module, Any], torch.Tensor] | None = None,
                   device: torch.device | str | None = None) -> None:
    """Observes the losses of samples that the epoch left out if the method asks for it; otherwise does nothing.

    Kakurenbo, Dropout and IES do, unless they are made with refresh=False. The network behaves as in an evaluation.
    Call it after the training of an epoch, on all ranks.

        refresh_losses(model, sampler.refresh_loader(dataset, batch_size=256), sampler)

    Args:
        model: The network.
        loader: What `sampler.refresh_loader` made.
        sampler: The sampler whose pruner records the losses.
        losses: As for `initial_losses`.
        device: As for `initial_losses`.

    Raises:
        InvalidArgument: If a loss is negative or not finite.
    """
    losses = losses or _cross_entropy
    device = device or next(model.parameters()).device
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        for batch, ids in loader:
            sampler.observe_refreshed(ids, losses(model, _on_device(batch, device)))
    finally:
        for module, training in modes:
            module.training = training


@contextlib.contextmanager
def _batch_statistics(model: torch.nn.Module) -> Iterator[None]:
    """The network normalises by batch, as in training, and otherwise behaves as in an evaluation.

    Before training the running statistics mean nothing. Everything is restored at the end.
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
    """This rank's loader for the pass before training, in random order: the network may normalise by batch."""
    order = np.random.default_rng(sampler.pruner.seed).permutation(sampler.pruner.sample_count)
    part = order[sampler._ranks.rank::sampler._ranks.size].tolist()
    return DataLoader(dataset, sampler=part, **options)
