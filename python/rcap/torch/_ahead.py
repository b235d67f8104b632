"""An epoch that is selected while the loop does something else."""

import concurrent.futures
import dataclasses
from collections.abc import Callable
from typing import Any

from ._epoch import Chosen


class Ahead:
    """What an epoch trains on, selected in its own thread."""

    def __init__(self, number: int, make: Callable[[int], Chosen]) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(1, "rcap-select")
        self._made = self._pool.submit(make, number)

    def result(self) -> Chosen:
        self._pool.shutdown()
        return self._made.result()

    def __reduce__(self) -> tuple[Any, ...]:
        return Ahead, (self.result().number, _Made(self.result()))


@dataclasses.dataclass
class _Made:
    """Returns what is already selected."""

    chosen: Chosen

    def __call__(self, number: int) -> Chosen:
        return self.chosen
