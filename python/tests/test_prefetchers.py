"""PruningSampler under loaders that run into the next epoch before the last batches of this one are trained.

They are written here by what they do: timm's MultiEpochsDataLoader (timm itself needs torchvision), the prefetchers
that copy the next batch to a device while this one is trained, and endless generators.
"""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from rcap.torch import Indexed
from training import BATCH, EPOCHS, LABELS, losses_of, make_sampler, train, weighted_epoch

pytestmark = pytest.mark.filterwarnings("error", "ignore:infobatch trains on what its own rule leaves")


class Repeat:
    """Batches for ever, so that workers never run dry between epochs."""

    def __init__(self, batches):
        self.sampler = batches

    def __iter__(self):
        while True:
            yield from self.sampler


class RepeatAndSetEpoch(Repeat):
    """The same, as timm 1.0.31 does it: it tells the sampler the epoch by itself."""

    def __iter__(self):
        sampler = self.sampler.sampler
        epoch = sampler.epoch
        while True:
            sampler.set_epoch(epoch)
            epoch += 1
            yield from self.sampler


class MultiEpochsLoader(DataLoader):
    """One iterator for the whole run; an epoch is as many of its batches as the loader is long."""

    repeat = Repeat

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._DataLoader__initialized = False  # a batch sampler may not be replaced otherwise
        self.batch_sampler = self.repeat(self.batch_sampler)
        self._DataLoader__initialized = True
        self.batches = None

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        if self.batches is None:
            self.batches = super().__iter__()
        for _ in range(len(self)):
            yield next(self.batches)


class TimmLoader(MultiEpochsLoader):
    repeat = RepeatAndSetEpoch


class OneAhead:
    """Has the next batch in hand when it gives one, also over the end of an epoch."""

    def __init__(self, *args, **options):
        self.loader = DataLoader(*args, **options)
        self.batches = self.following = None

    def fetch(self):
        if self.batches is None:
            self.batches = iter(self.loader)
        batch = next(self.batches, None)
        if batch is None:
            self.batches = iter(self.loader)
            batch = next(self.batches)
        self.following = batch

    def __iter__(self):
        if self.following is None:
            self.fetch()
        for _ in range(len(self.loader)):
            batch = self.following
            self.fetch()
            yield batch


class Endless:
    """A generator that a loop calls next() on; the loop asks for the next batch before it trains the last."""

    def __init__(self, *args, **options):
        self.loader = DataLoader(*args, **options)
        self.batches = self.repeat()
        self.following = None

    def repeat(self):
        while True:
            yield from self.loader

    def __iter__(self):
        if self.following is None:
            self.following = next(self.batches)
        for _ in range(-(-self.loader.sampler.pruner.keep_count // BATCH)):
            batch, self.following = self.following, next(self.batches)
            yield batch


LOADERS = [MultiEpochsLoader, TimmLoader, OneAhead, Endless]


def run(kind, method, workers, set_epoch=False, late=None):
    """The batches of every epoch, and the sampler. `late` is the loss of the last batch of each epoch, if given."""
    sampler = make_sampler(method)
    loader = kind(Indexed(TensorDataset(torch.arange(len(LABELS)))), sampler=sampler, batch_size=BATCH,
                  num_workers=workers)
    trained = []
    for epoch in range(EPOCHS):
        if set_epoch:
            sampler.set_epoch(epoch)
        batches, count = [], 0
        for (values,), ids in loader:
            assert torch.equal(values, ids)
            batches.append(ids.tolist())
            count += len(ids)
            losses = losses_of(ids, epoch)
            if late is not None and count == sampler.pruner.keep_count and epoch < EPOCHS - 1:
                losses = torch.full_like(losses, late)
            assert torch.isfinite(sampler.observe(ids, losses))
        trained.append(batches)
    return trained, sampler


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("set_epoch", [False, True])
@pytest.mark.parametrize("kind", LOADERS)
def test_trains_the_epochs_of_a_plain_loader(kind, set_epoch, workers):
    """A method that learns nothing selects the same whenever it is asked.

    `set_epoch` comes when the first batches of the epoch are under way.
    """
    expected = train(make_sampler("rs2"))
    trained, _ = run(kind, "rs2", workers, set_epoch)
    assert trained == [expected[epoch] for epoch in range(EPOCHS)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("method", ["rcap", "balanced"])
@pytest.mark.parametrize("kind", LOADERS)
def test_every_epoch_is_a_whole_selection(kind, method, workers):
    trained, sampler = run(kind, method, workers)
    for batches in trained:
        ids = [id for batch in batches for id in batch]
        assert len(ids) == len(set(ids)) == sampler.pruner.keep_count
        assert [len(batch) for batch in batches[:-1]] == [BATCH] * (len(batches) - 1)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", LOADERS)
def test_losses_that_come_after_the_next_selection_are_taken(kind, workers):
    """Runs that differ in nothing but these losses end with other states."""
    states = {late: run(kind, "rcap", workers, late=late)[1].pruner.state() for late in (0.5, 5.0)}
    assert states[0.5] != states[5.0]
    assert run(kind, "rcap", workers, late=5.0)[1].pruner.state() == states[5.0]


@pytest.mark.parametrize("kind", [MultiEpochsLoader, TimmLoader])
def test_epochs_of_another_length_end_where_they_should(kind):
    """The first epoch of ucb is whole. Workers are ahead by less than an epoch."""
    trained, sampler = run(kind, "ucb", 2)
    assert [sum(map(len, batches)) for batches in trained] == [len(LABELS), *[sampler.pruner.keep_count] * 2]
    for batches in trained:
        assert len({id for batch in batches for id in batch}) == sum(map(len, batches))


def test_batches_that_come_late_have_the_weights_of_their_own_epoch():
    sampler, ids, losses, weights = weighted_epoch()
    count = len(ids) // 2
    sampler.observe(ids[:count], losses[:count] + 9)  # so that the others lie below the mean, and have more weight next
    sampler.set_epoch(2)
    following = dict(zip(sampler._epoch.ids.tolist(), sampler._epoch.weights.tolist(), strict=True))
    others = [following.get(id, weight) != weight for id, weight in zip(ids.tolist(), weights.tolist(), strict=True)]
    assert any(others[count:]), "no sample has another weight in the next epoch: this would test nothing"
    for late in torch.arange(count, len(ids)).split(BATCH):
        torch.testing.assert_close(sampler.observe(ids[late], losses[late]), (losses * weights)[late].mean())
