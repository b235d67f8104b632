#!/usr/bin/env python3
"""rcap with class errors on held-out data, for a loop that evaluates every epoch anyway.

The training loss of a class that is seen often falls because it is memorised. Here a tenth of each class is held out,
and its losses show how well the class is really learnt: after `observe_classes` they replace the training losses when
the next budget is split over the classes.
"""

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import TensorDataset

import rcap
from plain_loop import BATCH_SIZE, make_model
from rcap.torch import PruningSampler
from toy_data import CLASSES, make_data, options, report


def hold_out(y):
    """Whether each sample is held out: every tenth of its class, and at least one."""
    place_in_class = np.empty(len(y), int)
    for label in range(CLASSES):
        place_in_class[y == label] = np.arange(np.sum(y == label))
    return place_in_class % 10 == 0


@torch.no_grad()
def class_errors(model, x, y):
    """The mean loss of every class."""
    losses = F.cross_entropy(model(x), y, reduction="none")
    return [losses[y == label].mean().item() for label in range(CLASSES)]


def train(model, dataset, held_out, pruner, epochs):
    """Returns how many samples the network has seen."""
    sampler = PruningSampler(pruner)
    loader = sampler.loader(dataset, batch_size=BATCH_SIZE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    seen = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            optimizer.zero_grad()
            sampler.observe(ids, losses).backward()
            optimizer.step()
            seen += len(ids)
        if pruner.judges_classes:
            sampler.observe_classes(class_errors(model, *held_out))
    return seen


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    x, labels = torch.from_numpy(x), torch.from_numpy(y)
    out = torch.from_numpy(hold_out(y))
    pruners = {
        "full": rcap.Full(y[~out.numpy()], seed=chosen.seed),
        "rcap": rcap.RCAP(y[~out.numpy()], pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        model = make_model(chosen.seed)
        seen = train(model, TensorDataset(x[~out], labels[~out]), (x[out], labels[out]), pruner, chosen.epochs)
        with torch.no_grad():
            predictions = model(torch.from_numpy(test_x)).argmax(1).numpy()
        report(name, seen, predictions, test_y)


if __name__ == "__main__":
    main()
