"""A training without a network: what a sampler yields is recorded, and losses are a function of sample and epoch."""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.torch import Indexed, PruningSampler

LABELS = np.array([0] * 120 + [1] * 60 + [2] * 25)
EPOCHS, BATCH = 3, 8
DYNAMIC = {
    "rcap": {"initial_loss": "forward"}, "rs2": {}, "rs2-replace": {},
    "infobatch": {"epochs": EPOCHS, "annealing": 1.0},
    "ucb": {"period": 1}, "epsilon-greedy": {"period": 1}, "balanced": {}}


def given(make):
    """What a sampler is given: a pruner, or what makes one for all ranks of a host."""
    return make if "RCAP_TEST_HOSTS" in os.environ else make()


def losses_of(ids, epoch):
    return (torch.as_tensor(ids) * 37 + epoch * 11) % 101 / 50 + 0.01


def make_sampler(method, **options):
    sampler = PruningSampler(
        given(lambda: rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method])), **options)
    if sampler.pruner.needs_initial_losses:
        ids = np.arange(sampler._ranks.rank, len(LABELS), sampler._ranks.size)
        sampler.observe(ids, losses_of(ids, 7))
        sampler.synchronize()
    return sampler


def make_loader(sampler, workers=0, **options):
    data = TensorDataset(torch.arange(len(LABELS)))
    return DataLoader(Indexed(data), sampler=sampler, batch_size=BATCH, num_workers=workers, **options)


def weighted_epoch():
    """InfoBatch in an epoch with weights 1 and 2: the sampler, the ids of the epoch, their losses and weights."""
    sampler = make_sampler("infobatch")
    sampler.set_epoch(0)
    ids = torch.tensor(list(sampler))
    sampler.observe(ids, losses_of(ids, 0))
    sampler.set_epoch(1)
    weights = torch.from_numpy(sampler.pruner.select_in_order(1).weights)
    assert set(weights.tolist()) == {1.0, 2.0}
    ids = torch.tensor(list(sampler))
    return sampler, ids, losses_of(ids, 1), weights


class Stopped(Exception):
    """The training is to end here, as if the process had been killed."""


def train(sampler, workers=0, stop=None, first_epoch=0, set_epoch=True):
    """Trains to the end, or until `stop(epoch, batches done, batches of the epoch)` says so.

    Returns the ids of every batch, by epoch.
    """
    seen = {}
    for epoch in range(first_epoch, EPOCHS):
        if set_epoch:
            sampler.set_epoch(epoch)
        loader = make_loader(sampler, workers)
        batches = len(loader) if set_epoch else None  # of a coming epoch it is not always known
        if stop and stop(epoch, 0, batches):
            raise Stopped
        for done, ((values,), ids) in enumerate(loader, 1):
            assert torch.equal(values, ids)
            sampler.observe(ids, losses_of(ids, epoch))
            seen.setdefault(epoch, []).append(ids.tolist())
            if stop and stop(epoch, done, batches):
                sampler.synchronize()
                raise Stopped
    sampler.synchronize()
    return seen
