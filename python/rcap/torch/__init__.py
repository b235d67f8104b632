"""Pruning in a PyTorch loop.

    pruner  = rcap.RCAP(labels, pruning_rate=0.9)
    sampler = PruningSampler(pruner)
    loader  = sampler.loader(dataset, batch_size=128, num_workers=8)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            sampler.observe(ids, losses).backward()
            ...

Under torch.distributed every rank makes the same selection and takes its part; losses are exchanged once an epoch.
"""

from .._report import Report
from ._batch_sampler import PruningBatchSampler
from ._data import Indexed, labels_of, with_ids
from ._even_batches import EvenBatches
from ._filtered import Filtered, FilterStage
from ._initial_pass import initial_losses, refresh_losses
from ._sampler import PruningSampler
from ._sequences import sequence_losses
from ._sharded import ShardedSampler, shard_range
from ._steps import total_steps

__all__ = ["PruningSampler", "PruningBatchSampler", "Indexed", "with_ids", "labels_of", "initial_losses",
           "refresh_losses", "sequence_losses", "total_steps", "Report", "Filtered", "FilterStage", "EvenBatches",
           "ShardedSampler", "shard_range"]

for _name in __all__:
    globals()[_name].__module__ = __name__  # where a reader looks for it, and pickles find it
