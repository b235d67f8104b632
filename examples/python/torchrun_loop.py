#!/usr/bin/env python3
"""rcap in several processes, with DistributedDataParallel:

    torchrun --nproc-per-node 2 torchrun_loop.py

The sampler finds the process group on its own. The ranks of a host share one pruner; every rank takes its part of what
it selects, and losses are exchanged once an epoch. No DistributedSampler is needed, nor anything else that shards.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.torch import Indexed, PruningSampler, initial_losses, total_steps
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE = 16  # of each rank


def make_model(seed):
    torch.manual_seed(seed)
    return DistributedDataParallel(nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES)))


def part_of_this_rank(dataset):
    """The initial pass sees every sample once, over all ranks together: no repeats, unlike a DistributedSampler."""
    ids = range(dist.get_rank(), len(dataset), dist.get_world_size())
    return DataLoader(Indexed(dataset), sampler=ids, batch_size=256)


def train(model, dataset, make_pruner, epochs):
    sampler = PruningSampler(make_pruner)
    loader = sampler.loader(dataset, batch_size=BATCH_SIZE)
    initial_losses(model.module, part_of_this_rank(dataset), sampler)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total_steps(sampler, epochs, BATCH_SIZE))
    seen = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            optimizer.zero_grad()
            sampler.observe(ids, losses).backward()
            optimizer.step()
            schedule.step()
            seen += len(ids) * dist.get_world_size()  # every rank has the same number
    return seen


def train_both(chosen):
    """On everything, and on a tenth; in a process group that is initialised."""
    seed = chosen["seed"]
    (x, y), (test_x, test_y) = make_data(seed)
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    pruners = {
        "full": lambda: rcap.Full(y, seed=seed),
        "rcap": lambda: rcap.RCAP(y, pruning_rate=0.9, seed=seed)}
    for name, make_pruner in pruners.items():
        model = make_model(seed)
        seen = train(model, dataset, make_pruner, chosen["epochs"])
        if dist.get_rank() == 0:
            with torch.no_grad():
                predictions = model.module(torch.from_numpy(test_x)).argmax(1).numpy()
            report(name, seen, predictions, test_y)


def main():
    chosen = options(__doc__.splitlines()[0])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")  # "nccl" on GPUs
    train_both(vars(chosen))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
