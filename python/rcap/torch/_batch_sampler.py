"""Whole batches of a sampler, for loaders that take a batch sampler."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from .. import InvalidArgument
from ._pass import BatchIterator

if TYPE_CHECKING:
    from ._sampler import PruningSampler


class PruningBatchSampler(Sampler[NDArray[np.int64]]):
    """The batches of a `PruningSampler`, each as an array: an epoch costs microseconds instead of one call per id.

    Give it to a DataLoader as `batch_sampler`. A data set without `__getitems__` is read sample by sample.

    Args:
        sampler: The sampler that selects the samples.
        batch_size: Samples in a batch of one rank.
        drop_last: Whether to drop a last, smaller batch; if so, make the sampler with the same batch_size.

    Raises:
        InvalidArgument: If batch_size is below 1.
    """

    def __init__(self, sampler: "PruningSampler", batch_size: int, drop_last: bool = False) -> None:
        if batch_size < 1:
            raise InvalidArgument(f"PruningBatchSampler: batch_size is {batch_size}; it must be at least 1")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return BatchIterator(self.sampler._make_pass(), self.batch_size, self.drop_last)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """As `PruningSampler.set_epoch`, for frameworks that look for it here."""
        self.sampler.set_epoch(epoch)
