"""Streams of the samples of training.py, in shards, and a loop over what is kept of them."""

import importlib.machinery
import io
import sys
import tarfile
import types

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from rcap.torch import Filtered, with_ids
from training import BATCH, EPOCHS, LABELS, losses_of

SAMPLES, PER_SHARD = len(LABELS), 11


class Shards(IterableDataset):
    """Pairs (sample, id); shards are dealt out to ranks and then to workers, as readers of shards do.

    `read` counts what the stream has yielded in this process.
    """

    def __init__(self, sample_count=SAMPLES, wrong=()):
        self.sample_count = sample_count
        self.wrong = dict(wrong)  # other ids that some samples claim to have
        self.read = 0

    def __iter__(self):
        ranks = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        info = get_worker_info()
        workers = (info.id, info.num_workers) if info else (0, 1)
        firsts = range(0, self.sample_count, PER_SHARD)[ranks[0]::ranks[1]][workers[0]::workers[1]]
        for first in firsts:
            for id in range(first, min(first + PER_SHARD, self.sample_count)):
                self.read += 1
                yield torch.tensor([id]), self.wrong.get(id, id)


def make_loader(stream, by, workers=0, options=(), **filter_options):
    return DataLoader(Filtered(stream, by, **filter_options), batch_size=BATCH, num_workers=workers,
                      collate_fn=with_ids(), **dict(options))


def train(sampler, loader, stop=None, first_epoch=0):
    """Trains to the end, or until `stop(epoch, batches done)`; returns the ids of each epoch."""
    seen = {}
    for epoch in range(first_epoch, EPOCHS):
        sampler.set_epoch(epoch)
        for done, (values, ids) in enumerate(loader, 1):
            assert values.flatten().tolist() == ids.tolist()
            sampler.observe(ids, losses_of(ids, epoch))
            seen.setdefault(epoch, []).extend(ids.tolist())
            if stop == (epoch, done):
                sampler.synchronize()
                return seen
    sampler.synchronize()
    return seen


def write_tars(folder, columns, per_shard=PER_SHARD):
    """Shards for WebDataset, with a column for each ending: the row of sample 17 is in 000017.<ending>."""
    paths, sample_count = [], len(next(iter(columns.values())))
    for first in range(0, sample_count, per_shard):
        paths.append(folder / f"shard-{first:06d}.tar")
        with tarfile.open(paths[-1], "w") as tar:
            for id in range(first, min(first + per_shard, sample_count)):
                for ending, values in columns.items():
                    file = io.BytesIO()
                    if ending.endswith("npy"):
                        np.save(file, values[id])
                    else:
                        file.write(str(values[id]).encode())
                    member = tarfile.TarInfo(f"{id:06d}.{ending}")
                    member.size = file.tell()
                    file.seek(0)
                    tar.addfile(member, file)
    return [str(path) for path in paths]


def mosaicml_streaming():
    """The package. It imports torchvision for data sets of its own, and there is no torchvision for the CPU on PyPI."""
    names = {"torchvision": {}, "torchvision.datasets": {"VisionDataset": object}, "torchvision.transforms": {},
             "torchvision.transforms.functional": {"to_tensor": None}}
    given = [name for name in names if name not in sys.modules]
    for name in given:
        stand_in = types.ModuleType(name)
        stand_in.__spec__ = importlib.machinery.ModuleSpec(name, None)
        vars(stand_in).update(names[name])
        sys.modules[name] = stand_in
    try:
        import streaming
    finally:
        for name in given:
            del sys.modules[name]
    return streaming


def write_mds(folder, sample_count=SAMPLES):
    """Shards for mosaicml-streaming; a sample's id is its index, which no column needs to repeat."""
    with mosaicml_streaming().MDSWriter(out=str(folder), columns={"value": "ndarray:int64:1"}, size_limit=512) as out:
        for id in range(sample_count):
            out.write({"value": np.array([id])})
