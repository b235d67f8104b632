#!/usr/bin/env python3
"""rcap with Lightning Fabric, in one process or in several:

    fabric run --accelerator cpu --devices 2 --strategy ddp fabric_loop.py

The loader does not go through `fabric.setup_dataloaders`: Fabric would shard the sampler's part again, and would count
the epochs from 0 after loading a checkpoint. `fabric.to_device` moves batches to the device; ids stay on the host.
"""

import pathlib
import tempfile

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

import rcap
from rcap.torch import PruningSampler, total_steps
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE = 16  # of each process


def make_model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def train(fabric, model, dataset, pruner, epochs, checkpoint, stop):
    """Trains until epoch `stop`, from the checkpoint if there is one. Returns how many samples the network has seen."""
    sampler = PruningSampler(pruner)  # after the process group was started
    loader = sampler.loader(dataset, batch_size=BATCH_SIZE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total_steps(sampler, epochs, BATCH_SIZE))
    model, optimizer = fabric.setup(model, optimizer)
    state = {"model": model, "optimizer": optimizer, "schedule": schedule, "sampler": sampler, "seen": 0}
    if checkpoint.exists():
        fabric.load(checkpoint, state)

    for epoch in range(sampler.epoch, stop):
        sampler.set_epoch(epoch)
        for batch, ids in loader:
            x, y = fabric.to_device(batch)
            losses = F.cross_entropy(model(x), y, reduction="none")
            optimizer.zero_grad()
            fabric.backward(sampler.observe(ids, losses))
            optimizer.step()
            schedule.step()
            state["seen"] += len(ids) * fabric.world_size  # every process has the same number

    # Works at any time, also in the middle of an epoch; every process must do it.
    sampler.synchronize()
    fabric.save(checkpoint, state)
    return state["seen"]


def main():
    chosen = options(__doc__.splitlines()[0])
    torch.set_num_threads(1)
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    fabric = Fabric()  # set up by `fabric run`; without it, Fabric(devices=2, strategy="ddp") and fabric.launch()
    pruners = {
        "full": lambda: rcap.Full(y, seed=chosen.seed),
        "rcap": lambda: rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(fabric.broadcast(folder))
        for name, make_pruner in pruners.items():
            for stop in (chosen.epochs // 2, chosen.epochs):  # stopped half-way, then resumed
                model = make_model(chosen.seed)
                seen = train(fabric, model, dataset, make_pruner(), chosen.epochs, folder / f"{name}.ckpt", stop)
            if fabric.is_global_zero:
                with torch.no_grad():
                    predictions = model(torch.from_numpy(test_x).to(fabric.device)).argmax(1).cpu().numpy()
                report(name, seen, predictions, test_y)
        fabric.barrier()  # the folder belongs to the first process


if __name__ == "__main__":
    main()
