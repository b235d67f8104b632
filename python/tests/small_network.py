"""What the tests of frameworks train: 205 points in 3 classes, and a network of one layer."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset

import rcap
from training import DYNAMIC, EPOCHS, LABELS

FEATURES = 4
METHODS = ["rcap", "rs2", "infobatch", "ucb"]


def make_points():
    rng = np.random.default_rng(3)
    return (rng.normal(size=(len(LABELS), FEATURES)) + LABELS[:, None]).astype(np.float32)


def make_dataset():
    return TensorDataset(torch.from_numpy(make_points()), torch.from_numpy(LABELS))


def make_layer():
    """Batch norm has a state that a pass before training must not move."""
    torch.manual_seed(2)
    return nn.Sequential(nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, 3))


def make_pruner(method, **options):
    """Keeps 92 samples: neither one rank nor two end an epoch with a batch of one, which batch norm refuses."""
    return rcap.make_pruner(method, LABELS, pruning_rate=0.55, seed=5, **{**DYNAMIC[method], **options})


class Recorder:
    """Observes, and remembers what was trained in which epoch: (ids, losses) of every batch."""

    def __init__(self, sampler):
        self.sampler = sampler
        self.seen = {}

    def observe(self, ids, losses):
        self.seen.setdefault(self.sampler.epoch, []).append((list(map(int, ids)), losses.detach().clone()))
        return self.sampler.observe(ids, losses)

    def ids(self, epoch):
        return [id for ids, _ in self.seen.get(epoch, []) for id in ids]

    def batches(self, epoch):
        return [ids for ids, _ in self.seen.get(epoch, [])]


def check_selections(recorder, method):
    """A pruner that is shown the same losses selects what was trained, each sample once."""
    pruner = make_pruner(method, **({"initial_loss": "log-c"} if method == "rcap" else {}))
    for epoch in range(EPOCHS):
        assert recorder.ids(epoch) == pruner.select_in_order(epoch).ids.tolist(), epoch
        for ids, losses in recorder.seen[epoch]:
            pruner.observe(ids, losses.numpy())
        assert pruner.pending_count == 0
    assert sorted(recorder.seen) == list(range(EPOCHS))


def check_rest(rest, whole):
    """`rest` is the end of `whole`, batch by batch; False if it is nothing."""
    for epoch in rest.seen:
        expected = whole.batches(epoch)
        assert rest.batches(epoch) == expected[len(expected) - len(rest.batches(epoch)):], epoch
    later = [epoch for epoch in whole.seen if rest.seen and epoch > min(rest.seen)]
    for epoch in later:
        assert rest.batches(epoch) == whole.batches(epoch), epoch


def same_weights(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))
