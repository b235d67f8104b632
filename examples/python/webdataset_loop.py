#!/usr/bin/env python3
"""rcap with shards: a WebDataset that is read in its own order, and filtered by what each epoch keeps.

The key of a sample is its position among the labels that the pruner was made with. The filter comes before `decode`, so
that what is left out is read, but not decoded, and not trained on.
"""

import io
import pathlib
import tarfile
import tempfile

import numpy as np
import torch
import webdataset as wds
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

import rcap
from rcap.torch import FilterStage, PruningSampler, total_steps, with_ids
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE, PER_SHARD = 32, 500


def write_shards(folder, x, y):
    """Tar files of samples in random order: 000017.x.npy and 000017.y.cls are sample 17."""
    order = np.random.default_rng(0).permutation(len(y))
    for number, ids in enumerate(np.split(order, range(PER_SHARD, len(y), PER_SHARD))):
        with tarfile.open(folder / f"train-{number:04d}.tar", "w") as tar:
            for id in ids:
                array = io.BytesIO()
                np.save(array, x[id])
                for ending, data in (("x.npy", array.getvalue()), ("y.cls", str(y[id]).encode())):
                    member = tarfile.TarInfo(f"{id:06d}.{ending}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return sorted(map(str, folder.glob("*.tar")))


def id_of(sample):
    return int(sample["__key__"])


def with_id(sample):
    x, y, key = sample
    return (torch.from_numpy(x), y), int(key)


def make_loader(shards, sampler):
    stream = (wds.WebDataset(shards, shardshuffle=len(shards), nodesplitter=wds.split_by_node)
              .compose(FilterStage(sampler, id_of))
              .shuffle(1000)
              .decode()
              .to_tuple("x.npy", "y.cls", "__key__")
              .map(with_id))
    return DataLoader(stream, batch_size=BATCH_SIZE, num_workers=2, collate_fn=with_ids())


def train(model, shards, pruner, epochs):
    sampler = PruningSampler(pruner)
    loader = make_loader(shards, sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total_steps(sampler, epochs, BATCH_SIZE))
    seen = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)  # the workers get the filter of this epoch
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            optimizer.zero_grad()
            sampler.observe(ids, losses).backward()
            optimizer.step()
            schedule.step()
            seen += len(ids)
    return seen


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    pruners = {
        "full": rcap.Full(y, seed=chosen.seed),
        "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    with tempfile.TemporaryDirectory() as folder:
        shards = write_shards(pathlib.Path(folder), x, y)
        for name, pruner in pruners.items():
            torch.manual_seed(chosen.seed)
            model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
            seen = train(model, shards, pruner, chosen.epochs)
            with torch.no_grad():
                predictions = model(torch.from_numpy(test_x)).argmax(1).numpy()
            report(name, seen, predictions, test_y)


if __name__ == "__main__":
    main()
