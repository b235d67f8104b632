"""rcap.lightning with Lightning's Tuner, which trains some batches and then goes back to where it began."""

import pytest
import torch
from torch.utils.data import DataLoader

import rcap

pytest.importorskip("lightning")

from lightning.pytorch.callbacks import LearningRateFinder
from lightning.pytorch.tuner import Tuner

from rcap.lightning import PruningSampler
from small_network import METHODS, make_dataset, make_pruner, same_weights
from test_lightning import Network, make_callback, make_loader, make_trainer
from training import BATCH, EPOCHS

pytestmark = pytest.mark.filterwarnings("ignore")
WITHIN_AN_EPOCH, OVER_ITS_END = 5, 30  # batches; the first epoch has 12 or 26
RATES = {"min_lr": 1e-4, "max_lr": 1e-2, "early_stop_threshold": None, "update_attr": False}


class Tunable(Network):
    """As the Tuner wants a module: with loaders of its own, whose batch size can be changed."""

    def __init__(self, sampler, workers=0):
        super().__init__(sampler)
        self.batch_size, self.workers = BATCH, workers
        self.lr = 0.1

    def train_dataloader(self):
        return make_loader(self.recorder.sampler, self.workers, batch=self.batch_size)

    def val_dataloader(self):
        return DataLoader(make_dataset(), batch_size=128)


class Run:
    def __init__(self, method, folder, workers=0, before=(), after=()):
        self.sampler = PruningSampler(make_pruner(method))
        self.network = Tunable(self.sampler, workers)
        self.trainer = make_trainer(folder, [*before, make_callback(self.sampler), *after], method)
        self.tuner = Tuner(self.trainer)

    def fit(self):
        """What was trained before is not a part of it."""
        self.network.recorder.seen.clear()
        self.network.batch_size = BATCH
        self.trainer.fit(self.network)
        return self


def check_same(run, other):
    for epoch in range(EPOCHS):
        assert run.network.recorder.batches(epoch) == other.network.recorder.batches(epoch), epoch
    assert sorted(run.network.recorder.seen) == sorted(other.network.recorder.seen)
    assert same_weights(run.network, other.network)
    assert run.sampler.pruner.state() == other.sampler.pruner.state()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers, steps", [(0, WITHIN_AN_EPOCH), (0, OVER_ITS_END), (2, WITHIN_AN_EPOCH)])
def test_a_search_for_the_learning_rate_changes_nothing(method, workers, steps, tmp_path):
    searched = Run(method, tmp_path, workers)
    found = searched.tuner.lr_find(searched.network, num_training=steps, **RATES)
    assert len(found.results["loss"]) == steps
    assert all(torch.isfinite(torch.tensor(found.results["loss"])))
    check_same(searched.fit(), Run(method, tmp_path).fit())


@pytest.mark.parametrize("method", ["rcap", "rs2"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_search_at_the_beginning_of_a_training_changes_nothing(method, place, tmp_path):
    finder = LearningRateFinder(num_training_steps=WITHIN_AN_EPOCH, **RATES)
    searched = Run(method, tmp_path, **{place: [finder]})
    searched.trainer.fit(searched.network)
    assert len(finder.optimal_lr.results["loss"]) == WITHIN_AN_EPOCH
    expected = Run(method, tmp_path).fit()
    trained = {epoch: searched.network.recorder.batches(epoch) for epoch in range(EPOCHS)}
    trained[0] = trained[0][WITHIN_AN_EPOCH:]  # those of the search
    assert trained == {epoch: expected.network.recorder.batches(epoch) for epoch in range(EPOCHS)}
    assert same_weights(searched.network, expected.network)
    assert searched.sampler.pruner.state() == expected.sampler.pruner.state()


@pytest.mark.parametrize("method", ["rcap", "ucb"])
@pytest.mark.parametrize("mode", ["power", "binsearch"])
@pytest.mark.parametrize("trials", [2, 8])
def test_a_search_for_the_batch_size_changes_nothing_or_is_refused(method, mode, trials, tmp_path):
    """Its trials begin again at epoch 0; after some of them the batches are larger than an epoch."""
    searched = Run(method, tmp_path)
    before = searched.sampler.pruner.state()
    try:
        searched.tuner.scale_batch_size(searched.network, mode=mode, init_val=4, max_trials=trials)
    except rcap.InvalidArgument as refused:
        assert "scale_batch_size" in str(refused), refused
        assert searched.sampler.pruner.state() == before
        assert not searched.network.recorder.seen
    else:
        check_same(searched.fit(), Run(method, tmp_path).fit())
