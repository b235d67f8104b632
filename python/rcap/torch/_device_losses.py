"""Copies of losses from an accelerator to the host, without waiting."""

import collections
import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def on_host(tensor: torch.Tensor) -> NDArray[Any]:
    """The numbers of a tensor; waits if it is on a device."""
    return tensor.detach().cpu().numpy()


def in_single_precision(losses: torch.Tensor) -> torch.Tensor:
    """The losses without their graph, in a type that a pruner takes."""
    losses = losses.detach()
    return losses if losses.dtype in (torch.float32, torch.float64) else losses.float()


@dataclasses.dataclass(eq=False)
class Batch:
    """A batch whose losses have been copied."""

    epoch: int
    number: int  # in its epoch
    losses: NDArray[Any]
    ids: NDArray[np.int64]


class _Slot:
    """Pinned memory for the numbers of a batch, and the event that marks their arrival."""

    def __init__(self, device: torch.device, count: int) -> None:
        self.size = count
        self.losses = pinned(count, torch.float32)
        self.ids = pinned(count, torch.int64)
        self.weights = pinned(count, torch.float32)
        self.event = make_event(device)


def pinned(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Host memory that a device reads and writes by itself."""
    return torch.empty(count, dtype=dtype, pin_memory=True)


def make_event(device: torch.device) -> Any:
    """A mark in the work of a device: `record` puts it there, `query` asks whether the device has reached it."""
    return getattr(torch, device.type).Event()


def current_stream(device: torch.device) -> Any:
    return getattr(torch, device.type).current_stream(device)


def copied_to(device: torch.device, host: torch.Tensor) -> torch.Tensor:
    """A copy on the device, without waiting for it."""
    return host.to(device, non_blocking=True)


class DeviceLosses:
    """Copies that accelerators make while the loop goes on, taken in the order in which they began.

    The memory of a copy is reused once it was taken. There are as many copies as the loop is batches ahead.
    """

    def __init__(self) -> None:
        self._free: list[_Slot] = []
        self._under_way: collections.deque[tuple[_Slot, Batch]] = collections.deque()
        self._device: torch.device | None = None

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, batch_place: tuple[int, int], ids: torch.Tensor | NDArray[Any], losses: torch.Tensor,
              weights: NDArray[np.float32] | None) -> torch.Tensor | None:
        """Begins to copy a batch, its ids too if they are on the device, and its weights in the other direction.

        Returns:
            The weights on the device of the losses.
        """
        count = len(losses)
        slot = self._slot(losses.device, count)
        losses = losses.detach()
        slot.losses[:count].copy_(losses.float(), non_blocking=True)
        if isinstance(ids, torch.Tensor):
            slot.ids[:count].copy_(ids, non_blocking=True)
            ids = slot.ids[:count].numpy()
        on_device = None
        if weights is not None:
            slot.weights[:count].copy_(torch.from_numpy(weights))
            on_device = copied_to(losses.device, slot.weights[:count]).to(losses.dtype)
        slot.event.record(current_stream(losses.device))
        self._under_way.append((slot, Batch(*batch_place, slot.losses[:count].numpy(), ids)))
        return on_device

    def take(self, *, wait: bool) -> Iterator[Batch]:
        """The batches that have arrived; with `wait`, all of them. The numbers of one are valid until the next."""
        while self._under_way and (wait or self._under_way[0][0].event.query()):
            slot, batch = self._under_way.popleft()
            if wait:
                slot.event.synchronize()
            try:
                yield batch
            finally:
                self._free.append(slot)

    def _slot(self, device: torch.device, count: int) -> _Slot:
        if device != self._device or (self._free and self._free[-1].size < count):
            self._device = device
            self._free.clear()
        return self._free.pop() if self._free else _Slot(device, count)


def can_copy_ahead(device: torch.device) -> bool:
    """Whether a device copies to the host by itself, as CUDA's do; otherwise losses are waited for."""
    with contextlib.suppress(AttributeError, RuntimeError):
        _Slot(device, 1)
        return True
    return False
