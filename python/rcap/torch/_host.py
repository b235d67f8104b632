"""Memory that the ranks of one host share. It has no name, and is gone with the last process that uses it."""

import contextlib
import mmap
import os
import pathlib
import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from .. import InvalidArgument
from ._exchange import Exchange

_ALIGNMENT = 64

Made = TypeVar("Made")


def identity() -> str:
    """Equal on two ranks if each can open the memory of the other: one kernel, one table of processes, one user.

    Containers that share a host have tables of their own, and each its own copy. So does every process of a system
    that has no such memory.
    """
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.stat('/proc/self/ns/pid').st_ino} {os.getuid()} {hasattr(os, 'memfd_create')}"
    except OSError:
        return uuid.uuid4().hex


class Host:
    """The ranks of one host, of which the first leads.

    Args:
        exchange: Of all ranks.
    """

    def __init__(self, exchange: Exchange) -> None:
        own = np.frombuffer(identity().encode(), np.uint8)
        names = [name.tobytes() for name in exchange.all_gather("find the host", own)]
        first = {name: rank for rank, name in reversed(list(enumerate(names)))}
        self._exchange = exchange
        self.leader = first[names[exchange.rank]]
        self.leads = self.leader == exchange.rank
        self.members_of: dict[int, list[int]] = {}  # of each host, by its leader
        for rank, name in enumerate(names):
            self.members_of.setdefault(first[name], []).append(rank)
        self.members = self.members_of[self.leader]

    def __deepcopy__(self, memo: Any) -> "Host":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # another process has another host

    def share(self, step: str, make: Callable[[], Made]) -> Made:
        """What `make` returns on the leader, its arrays in memory that the ranks of the host share.

        The arrays may be written to; a rank then has its own copy of these pages. If `make` raises, all ranks do.
        """
        made: Any = None
        if self.leads:
            try:
                made = True, make()
            except Exception as error:
                made = False, error
        failed = self.leads and not made[0]
        is_good, told = self._swap(step, made, [self.leader], failed)[self.leader]
        if not is_good:
            raise told
        return told  # type: ignore[no-any-return]

    def collect(self, step: str, value: Any) -> dict[int, Any]:
        """On the leader, what the ranks of this host give, by rank; elsewhere nothing. Arrays are shared memory."""
        return self._swap(step, value, self.members if self.leads else [], False)

    def _swap(self, step: str, value: Any, sources: list[int], failed: bool) -> dict[int, Any]:
        found: dict[int, Any] = {}
        block = None if value is None else _write(value)
        try:
            told = self._exchange.gather_numbers(step, [os.getpid(), -1 if block is None else block, failed])
            reason = ""
            try:
                found = {rank: _read(*told[rank, :2].tolist()) for rank in sources}
            except OSError as error:
                reason = str(error)
            # All ranks have come here: nobody needs the block any more.
            lost = self._exchange.gather_numbers(f"{step}: read", [bool(reason)])[:, 0]
        finally:
            if block is not None:
                os.close(block)
        if lost.any():
            raise InvalidArgument(f"{step}: ranks {np.flatnonzero(lost).tolist()} cannot read the memory of another "
                                  f"rank of their host ({reason or 'they say why'}); give each rank a pruner of its "
                                  "own, instead of a function that makes one")
        elsewhere = [rank for rank in np.flatnonzero(told[:, 2]).tolist() if rank != self.leader]
        if elsewhere and not told[self.leader, 2]:
            raise InvalidArgument(f"{step}: it failed on the host of rank {elsewhere[0]}, which says why")
        return found


def _write(value: Any) -> int:
    """A file descriptor of nameless memory that holds the value."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = np.array([len(parts), *(part.nbytes for part in parts)], np.int64)
    block = os.memfd_create("rcap")
    try:
        for part, first in zip([memoryview(sizes.tobytes()), *parts], _places(sizes), strict=True):
            while part:
                count = os.pwrite(block, part, first)
                part, first = part[count:], first + count
    except BaseException:
        os.close(block)
        raise
    return block


def _read(process: int, block: int) -> Any:
    """The value in the memory of a process of this host; its arrays lie in that memory."""
    with _opened(process, block) as file:
        memory = mmap.mmap(file, 0, access=mmap.ACCESS_COPY)
    view = memoryview(memory)
    count = int(np.frombuffer(view, np.int64, 1)[0])
    sizes = np.frombuffer(view, np.int64, 1 + count)
    places = zip(_places(sizes)[1:], sizes[1:].tolist(), strict=True)
    head, *buffers = (view[first:first + size] for first, size in places)
    return pickle.loads(head, buffers=buffers)


@contextlib.contextmanager
def _opened(process: int, block: int) -> Iterator[int]:
    file = os.open(f"/proc/{process}/fd/{block}", os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def _places(sizes: Any) -> list[int]:
    """Where the sizes lie, and after them each part."""
    ends = np.cumsum([-(-size // _ALIGNMENT) * _ALIGNMENT for size in [sizes.nbytes, *sizes[1:].tolist()]])
    return [0, *ends[:-1].tolist()]
