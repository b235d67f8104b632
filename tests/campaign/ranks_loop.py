"""A training under torchrun that leaves a checkpoint every few batches and goes on from it: the campaign kills it."""

import os
import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.torch import Indexed, PruningSampler

EPOCHS = 6
BATCHES_BETWEEN = 3


def save(path, model, optimizer, sampler):
    sampler.synchronize()
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "sampler": sampler.state_dict(),
                    "epoch": sampler.epoch}, path.with_suffix(".new"))
        os.replace(path.with_suffix(".new"), path)
    dist.barrier()


def main(folder):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    labels = np.arange(2000) % 5
    points = torch.randn(2000, 4) + torch.from_numpy(labels)[:, None]
    model = DistributedDataParallel(nn.Linear(4, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sampler = PruningSampler(rcap.RCAP(labels, pruning_rate=0.7, initial_loss="log-c"))
    loader = DataLoader(Indexed(TensorDataset(points, torch.from_numpy(labels))), sampler=sampler, batch_size=25)
    first, checkpoint = 0, folder / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        sampler.load_state_dict(state["sampler"])
        first = state["epoch"]
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for batch, ((x, y), ids) in enumerate(loader):
            losses = F.cross_entropy(model(x), y, reduction="none")
            optimizer.zero_grad()
            sampler.observe(ids, losses).backward()
            optimizer.step()
            if batch % BATCHES_BETWEEN == 0:
                save(checkpoint, model, optimizer, sampler)
    sampler.synchronize()
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "sampler": sampler.state_dict()}, folder / "result.new")
        os.replace(folder / "result.new", folder / "result.pt")
    dist.barrier()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    main(pathlib.Path(sys.argv[1]))
    dist.destroy_process_group()
