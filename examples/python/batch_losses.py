#!/usr/bin/env python3
"""rcap with a loss function that has only the mean of a batch.

Fused kernels and many libraries do not give the losses of single samples. `observe_batch` remembers for every sample
the moving average of the batches it was in, and the method follows these averages.
"""

import torch
from torch.nn import functional as F
from torch.utils.data import TensorDataset

import rcap
from plain_loop import make_model
from rcap.torch import PruningSampler
from toy_data import make_data, options, report

BATCH_SIZE = 16  # in a small batch a hard sample shows


def train(model, dataset, pruner, epochs):
    """Returns how many samples the network has seen."""
    sampler = PruningSampler(pruner)
    loader = sampler.loader(dataset, batch_size=BATCH_SIZE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    seen = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            loss = F.cross_entropy(model(x), y)  # one number
            optimizer.zero_grad()
            sampler.observe_batch(ids, loss).backward()
            optimizer.step()
            seen += len(ids)
    return seen


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    pruners = {"full": rcap.Full(y, seed=chosen.seed), "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        model = make_model(chosen.seed)
        seen = train(model, dataset, pruner, chosen.epochs)
        with torch.no_grad():
            predictions = model(torch.from_numpy(test_x)).argmax(1).numpy()
        report(name, seen, predictions, test_y)


if __name__ == "__main__":
    main()
