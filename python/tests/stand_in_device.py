"""A stand-in for an accelerator: its work is done late, and asking for a result at once is an error.

Tensors of `Device` say that they are on CUDA. What is computed with them is computed here; copies to the host that need
not be waited for are made when an event is found to have come, at random; every other way to the host raises.
"""

import contextlib
import random

import torch
from torch.utils._pytree import tree_map

from rcap.torch import _device_losses, _epoch

_aten = torch.ops.aten
_WAITING = {_aten._local_scalar_dense.default, _aten.nonzero.default, _aten.equal.default, _aten.masked_select.default,
            _aten.is_nonzero.default}


class Waited(AssertionError):
    """Something asked for a result that the device has yet to compute."""


class Device:
    def __init__(self, seed, chance):
        self.waits = 0  # how often a host waited
        self.late = 0  # how often it asked, and went on
        self._random, self._chance = random.Random(seed), chance
        self._work, self._done = [], 0

    def put(self, tensor):
        return _OnDevice(tensor, self)

    def queue(self, copy):
        self._work.append(copy)

    def event(self):
        return _Event(self)

    @property
    def queued(self):
        return len(self._work)

    def has_come(self, place):
        if self._done < place and self._random.random() >= self._chance:
            self.late += 1
            return False
        self.work_until(place)
        return True

    def work_until(self, place):
        while self._done < place:
            self._work[self._done]()
            self._done += 1

    @contextlib.contextmanager
    def installed(self, monkeypatch):
        monkeypatch.setattr(_device_losses, "pinned", lambda count, dtype: torch.zeros(count, dtype=dtype))
        monkeypatch.setattr(_device_losses, "make_event", lambda device: self.event())
        monkeypatch.setattr(_device_losses, "current_stream", lambda device: None)
        for module in (_device_losses, _epoch):
            monkeypatch.setattr(module, "copied_to", lambda device, host: self.put(host.clone()))
        yield self


class _Event:
    def __init__(self, device):
        self._device, self._place = device, 0

    def record(self, stream):
        self._place = self._device.queued

    def query(self):
        return self._device.has_come(self._place)

    def synchronize(self):
        self._device.waits += 1
        self._device.work_until(self._place)


class _OnDevice(torch.Tensor):
    @staticmethod
    def __new__(cls, tensor, device):
        return torch.Tensor._make_wrapper_subclass(cls, tensor.shape, dtype=tensor.dtype, device="cuda:0")

    def __init__(self, tensor, device):
        self.here, self.owner = tensor, device

    def __repr__(self, **_):
        return f"_OnDevice({tuple(self.shape)})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        owner = next(arg.owner for arg in _flat(args) if isinstance(arg, _OnDevice))
        if function in _WAITING:
            raise Waited(str(function))
        if function is _aten.copy_.default and not isinstance(args[0], _OnDevice):
            return _copy_to_host(owner, *args)
        if function is _aten._to_copy.default and torch.device(kwargs.get("device") or "cuda").type == "cpu":
            raise Waited("a copy to the host")
        kwargs.pop("device", None)
        here = tree_map(lambda arg: arg.here if isinstance(arg, _OnDevice) else arg, args)
        result = function(*here, **kwargs)
        return tree_map(lambda part: owner.put(part) if isinstance(part, torch.Tensor) else part, result)


def _flat(args):
    for arg in args:
        yield from _flat(arg) if isinstance(arg, (list, tuple)) else (arg,)


def _copy_to_host(owner, target, source, non_blocking=False):
    if not non_blocking:
        raise Waited("a copy to the host")
    numbers = source.here.clone()
    owner.queue(lambda: target.copy_(numbers))
    return target
