"""An epoch that is selected while the loop does something else."""

import concurrent.futures
import dataclasses
from collections.abc import Callable
from typing import Any

from ._epoch import Epoch


class Ahead:
    """An epoch that is selected in its own thread."""

    def __init__(self, number: int, make: Callable[[int], Epoch]) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(1, "rcap-select")
        self._made = self._pool.submit(make, number)

    def result(self) -> Epoch:
        self._pool.shutdown()
        return self._made.result()

    def __reduce__(self) -> tuple[Any, ...]:
        return Ahead, (self.result().number, _Made(self.result()))


@dataclasses.dataclass
class _Made:
    """Returns an epoch that is already selected."""

    epoch: Epoch

    def __call__(self, number: int) -> Epoch:
        return self.epoch
