"""What ranks tell each other over torch.distributed. All of them must be at the same exchange, or they raise."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from .. import InvalidArgument

Bytes = NDArray[np.uint8]

_HEAD = np.dtype([("user", np.int64), ("size", np.int64), ("step", "S48"), ("inline", np.uint8, 192)])
_INLINE = 192  # bytes that travel with the head: most exchanges are a few numbers
_made = itertools.count()  # the next number of an exchange's user, the same on ranks that make the same ones


class Exchange:
    """Exchanges between the ranks of a process group. All of them are collective.

    Each begins with the name of the step that it belongs to. Ranks at different steps, as after an exception that one
    of them has caught, would take one thing for another: they all raise.

    Args:
        user: Who exchanges, for messages.
        group: The process group; the default one if None.

    Raises:
        InvalidArgument: If the ranks are not at the same step.
        RuntimeError: If a rank has ended, or takes longer than the timeout of the process group.
    """

    def __init__(self, user: str, group: dist.ProcessGroup | None = None) -> None:
        self._user = user
        self._group = group
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)
        self._number = 0
        own = next(_made)
        numbers = self.gather_numbers(f"make a {user}", [own])[:, 0]
        self._number = int(numbers.max())  # of this user: a loop may have several, and each its exchanges
        for _ in range(self._number - own):
            next(_made)

    def gather_numbers(self, step: str, numbers: Sequence[int]) -> NDArray[np.int64]:
        """The numbers of every rank, one row each; as many on all of them."""
        rows = self.all_gather(step, as_bytes(np.array(numbers, np.int64)))
        if len({len(row) for row in rows}) > 1:
            raise InvalidArgument(f"{self._user}: {step}: the ranks give {[len(row) // 8 for row in rows]} numbers; "
                                  "they must run the same version of rcap")
        return np.stack([row.view(np.int64) for row in rows])

    def all_gather(self, step: str, data: Bytes) -> list[Bytes]:
        """What every rank gives, of any length."""
        heads = self._begin(step, data)
        sizes = heads["size"].tolist()
        if max(sizes) <= _INLINE:
            return [head["inline"][:size].copy() for head, size in zip(heads, sizes, strict=True)]
        padded = np.zeros(max(sizes), np.uint8)
        padded[:len(data)] = data
        parts = self._run(step, lambda: self._all_gather(padded))
        return [part[:size] for part, size in zip(parts, sizes, strict=True)]

    def all_reduce(self, step: str, numbers: NDArray[np.int64], op: Literal["sum", "max"] = "sum") -> None:
        """Replaces the numbers by their sum or maximum over the ranks; as many on all of them."""
        sizes = self._begin(f"{step} ({op})", as_bytes(numbers)[:0], len(numbers))["size"]
        if (sizes != sizes[0]).any():
            raise InvalidArgument(f"{self._user}: {step}: the ranks give {sizes.tolist()} numbers; there must be as "
                                  "many on all")
        on_device = torch.from_numpy(numbers).to(self._device())
        kind = dist.ReduceOp.SUM if op == "sum" else dist.ReduceOp.MAX
        self._run(step, lambda: self._released(dist.all_reduce(on_device, kind, group=self._group), on_device))
        numbers[:] = on_device.cpu().numpy()

    def all_to_all(self, step: str, parts: Sequence[Bytes]) -> list[Bytes]:
        """Part r goes to rank r; returns what each rank sent to this one."""
        sizes = self.gather_numbers(step, [len(part) for part in parts])
        coming, going = sizes[:, self.rank].tolist(), sizes[self.rank].tolist()
        if not sizes.any():
            return [np.empty(0, np.uint8) for _ in parts]
        device = self._device()
        given = torch.from_numpy(np.concatenate(parts)).to(device)
        taken = torch.empty(sum(coming), dtype=torch.uint8, device=device)
        self._run(step, lambda: self._released(
            dist.all_to_all_single(taken, given, coming, going, group=self._group), given, taken))
        return np.split(taken.cpu().numpy(), np.cumsum(coming)[:-1])

    def among(self, ranks: Sequence[int]) -> "Exchange":
        """The same among some of the ranks; only these call it."""
        members = [rank if self._group is None else dist.get_global_rank(self._group, rank) for rank in ranks]
        return Exchange(self._user, dist.new_group(members, use_local_synchronization=True))

    def _begin(self, step: str, data: Bytes, size: int | None = None) -> Any:
        """The heads of all ranks, with what fits in them."""
        head = np.zeros(1, _HEAD)
        head["user"], head["size"], head["step"] = self._number, len(data) if size is None else size, step.encode()[:48]
        if len(data) <= _INLINE:
            head["inline"][0, :len(data)] = data
        parts = self._run(step, lambda: self._all_gather(as_bytes(head)))
        heads = np.concatenate([part.view(_HEAD) for part in parts])
        here = [(int(each["user"]), each["step"].decode(errors="replace")) for each in heads]
        if len(set(here)) > 1:
            raise InvalidArgument(f"{self._user}: the ranks are out of step: {self._steps(here)}; all must make the "
                                  "same calls in the same order")
        return heads

    def _steps(self, here: Sequence[tuple[int, str]]) -> str:
        names_users = len({user for user, _ in here}) > 1
        return ", ".join(f'rank {rank} is at "{step}"' + (f" of {self._user} {user}" if names_users else "")
                         for rank, (user, step) in enumerate(here))

    def _run(self, step: str, exchange: Callable[[], Any]) -> Any:
        try:
            return exchange()
        except RuntimeError as error:
            raise RuntimeError(f'{self._user}: the exchange of "{step}" was not completed: a rank has ended, or took '
                               "longer than the timeout of the process group; start all ranks again from the last "
                               f"state ({error})") from error

    def _all_gather(self, data: Bytes) -> list[Bytes]:
        own = torch.from_numpy(data).to(self._device())
        parts = [torch.empty_like(own) for _ in range(self.size)]
        self._released(dist.all_gather(parts, own, group=self._group), own, *parts)
        return [part.cpu().numpy() for part in parts]

    def _released(self, done: Any, *tensors: torch.Tensor) -> None:
        if tensors[0].device.type == "cpu":
            _wait_until_released(tensors)

    def _device(self) -> torch.device:
        backend = dist.get_backend(self._group)
        return torch.device("cuda", torch.cuda.current_device()) if backend == "nccl" else torch.device("cpu")


def as_bytes(array: NDArray[Any]) -> Bytes:
    """The memory of an array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _wait_until_released(tensors: Sequence[torch.Tensor]) -> None:
    """Waits until nobody else holds these tensors.

    Gloo's threads release them a little after a collective returns. The last thread to do so needs the interpreter for
    it, and a worker that a DataLoader forks at that moment hangs forever (seen with Python 3.11).
    """
    use_count = getattr(torch.Tensor, "_use_count", None)  # not a public method; without it, wait long enough
    if use_count is None:
        time.sleep(0.01)
        return
    end = time.monotonic() + 1
    while any(use_count(tensor) > 1 for tensor in tensors) and time.monotonic() < end:
        time.sleep(0.0001)
