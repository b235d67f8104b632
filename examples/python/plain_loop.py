#!/usr/bin/env python3
"""rcap in a plain PyTorch loop, on everything and on a tenth of the data per epoch.

Three lines differ from a usual loop: the pruner, the sampler, and `observe` in place of the mean of the losses.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

import rcap
from rcap.torch import PruningSampler, total_steps
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE = 32


def make_model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def train(model, dataset, pruner, epochs):
    """Returns how many samples the network has seen."""
    sampler = PruningSampler(pruner)
    loader = sampler.loader(dataset, batch_size=BATCH_SIZE)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    # The learning rate falls over the steps that are actually made, a tenth of those on the whole data.
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
            seen += len(ids)
    return seen


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    pruners = {
        "full": rcap.Full(y, seed=chosen.seed),
        "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        model = make_model(chosen.seed)
        seen = train(model, dataset, pruner, chosen.epochs)
        with torch.no_grad():
            predictions = model(torch.from_numpy(test_x)).argmax(1).numpy()
        report(name, seen, predictions, test_y)


if __name__ == "__main__":
    main()
