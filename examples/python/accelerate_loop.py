#!/usr/bin/env python3
"""rcap with accelerate, in one process or in several:

    accelerate launch --cpu --num_processes 2 accelerate_loop.py

Two things are not prepared as usual: the loader, because accelerate would shard the sampler's part again, and the
schedule, which would then take a step for every process.
"""

import torch
from accelerate import Accelerator
from accelerate.data_loader import prepare_data_loader
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.torch import Indexed, PruningSampler, initial_losses, total_steps
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE = 16  # of each process


def make_model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def whole_pass(accelerator, dataset):
    """The initial pass sees every sample once, over all processes together."""
    ids = range(accelerator.process_index, len(dataset), accelerator.num_processes)
    return DataLoader(Indexed(dataset), sampler=ids, batch_size=256)


def train(accelerator, model, dataset, pruner, epochs):
    """Returns how many samples the network has seen."""
    sampler = PruningSampler(pruner)  # after the Accelerator, which starts the process group
    loader = prepare_data_loader(
        DataLoader(Indexed(dataset), sampler=sampler, batch_size=BATCH_SIZE), accelerator.device, num_processes=1,
        process_index=0, put_on_device=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total_steps(sampler, epochs, BATCH_SIZE))
    initial_losses(model.to(accelerator.device), whole_pass(accelerator, dataset), sampler)
    model, optimizer = accelerator.prepare(model, optimizer)

    # For accelerator.save_state(folder), at any time, and accelerator.load_state(folder), here.
    accelerator.register_for_checkpointing(sampler, schedule)
    accelerator.register_save_state_pre_hook(lambda *_: sampler.synchronize())

    seen = 0
    for epoch in range(sampler.epoch, epochs):
        loader.set_epoch(epoch)  # which sets the sampler's epoch, too
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            optimizer.zero_grad()
            accelerator.backward(sampler.observe(ids, losses))
            optimizer.step()
            schedule.step()
            seen += len(ids)
    return int(accelerator.reduce(torch.tensor(seen, device=accelerator.device)))


def main():
    chosen = options(__doc__.splitlines()[0])
    torch.set_num_threads(1)
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    accelerator = Accelerator()
    pruners = {
        "full": rcap.Full(y, seed=chosen.seed),
        "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        model = make_model(chosen.seed)
        seen = train(accelerator, model, dataset, pruner, chosen.epochs)
        if accelerator.is_main_process:
            with torch.no_grad():
                predictions = model(torch.from_numpy(test_x).to(accelerator.device)).argmax(1).cpu().numpy()
            report(name, seen, predictions, test_y)
    accelerator.end_training()


if __name__ == "__main__":
    main()
