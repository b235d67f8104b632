"""PruningSampler in torchdata's StatefulDataLoader, which keeps the state of its sampler inside its own.

With workers that state is taken when a batch is asked for, up to num_workers * prefetch_factor batches before it is
trained. What counts is what was observed when the state is written.
"""

import io
import logging
import pathlib
import subprocess
import sys

import pytest
import torch
from torch.utils.data import TensorDataset

import rcap

pytest.importorskip("torchdata")

from torchdata.stateful_dataloader import StatefulDataLoader

from rcap.torch import Indexed, PruningBatchSampler, PruningSampler
from training import BATCH, DYNAMIC, EPOCHS, LABELS, losses_of

pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
HERE = pathlib.Path(__file__).parent
logging.getLogger("torchdata").setLevel(logging.ERROR)
METHODS = {"rcap": {"initial_loss": "first-epoch"}, "infobatch": DYNAMIC["infobatch"]}


class Run:
    """A sampler and its loader, and what was trained: the batches by epoch."""

    def __init__(self, method="rcap", workers=0, by_batch=False, watch=False, **options):
        pruner = rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **METHODS[method])
        self.sampler = PruningSampler(pruner, watch=watch)
        samples = {"sampler": self.sampler, "batch_size": BATCH}
        if by_batch:
            samples = {"batch_sampler": PruningBatchSampler(self.sampler, BATCH)}
        self.loader = StatefulDataLoader(Indexed(TensorDataset(torch.arange(len(LABELS)))), num_workers=workers,
                                         **samples, **options)
        self.trained = {}

    def train(self, first_epoch=0, stop=None, set_epoch=True):
        """Trains to the end, or until `stop(epoch, batches done)` says so."""
        for epoch in range(first_epoch, EPOCHS):
            if set_epoch:
                self.sampler.set_epoch(epoch)
            for done, (_, ids) in enumerate(self.loader, 1):
                self.train_batch(ids)
                if stop and stop(epoch, done):
                    return self
            if stop and stop(epoch, None):
                return self
        return self

    def train_batch(self, ids):
        epoch = self.sampler.epoch
        self.trained.setdefault(epoch, []).append(ids.tolist())
        self.sampler.observe(ids, losses_of(ids, epoch))

    def ids(self, epoch):
        return [id for batch in self.trained.get(epoch, []) for id in batch]

    def load(self, saved):
        if "sampler" in saved:
            self.sampler.load_state_dict(saved["sampler"])
        self.loader.load_state_dict(saved["loader"])
        return self


def written(state):
    """As a checkpoint keeps it."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def checkpoint(run, what):
    states = {"loader": run.loader.state_dict()}
    return written(states | {"sampler": run.sampler.state_dict()} if what == "both" else states)


def check_together(first, rest, whole):
    """Two runs are one: the same batches in the same order, and the same pruner at the end."""
    for epoch in range(EPOCHS):
        assert first.trained.get(epoch, []) + rest.trained.get(epoch, []) == whole.trained[epoch], epoch
    assert rest.sampler.pruner.state() == whole.sampler.pruner.state()


@pytest.fixture(scope="module")
def whole():
    """Runs that were never stopped. Workers change nothing in them."""
    return {method: Run(method).train() for method in METHODS}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("method, saved", [("rcap", "loader"), ("rcap", "both"), ("infobatch", "loader")])
@pytest.mark.parametrize("point", ["first batch", "middle", "last batch", "end of epoch"])
def test_goes_on_with_the_batches_that_were_not_observed(method, workers, saved, point, whole):
    batches = len(whole[method].trained[1])
    done = {"first batch": 1, "middle": batches // 2, "last batch": batches, "end of epoch": None}[point]
    first = Run(method, workers).train(stop=lambda *now: now == (1, done))
    state = checkpoint(first, saved)
    rest = Run(method, workers).load(state).train(2 if done is None else 1)
    check_together(first, rest, whole[method])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop", [(1, 1), (1, 4), (1, None)])
def test_goes_on_batch_by_batch(workers, stop, whole):
    first = Run(workers=workers, by_batch=True).train(stop=lambda *now: now == stop)
    rest = Run(workers=workers, by_batch=True).load(checkpoint(first, "loader")).train(2 if stop[1] is None else 1)
    check_together(first, rest, whole["rcap"])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_report_goes_on_from_the_state_of_the_loader(workers):
    expected = Run(watch=True).train().sampler.report()
    first = Run(workers=workers, by_batch=True, watch=True).train(stop=lambda *now: now == (1, 4))
    rest = Run(workers=workers, by_batch=True, watch=True).load(checkpoint(first, "loader")).train(1)
    found = rest.sampler.report()
    assert found.as_dict() | {"loss": None, "class_losses": None} == expected.as_dict() | {
        "loss": None, "class_losses": None}
    assert found.class_losses == pytest.approx(expected.class_losses)
    assert found.watched_since == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_second_stop_in_one_epoch_changes_nothing(workers, whole):
    first = Run(workers=workers).train(stop=lambda *now: now == (1, 2))
    second = Run(workers=workers).load(checkpoint(first, "loader")).train(1, stop=lambda *now: now == (1, 3))
    rest = Run(workers=workers).load(checkpoint(second, "loader")).train(1)
    assert first.trained[1] + second.trained[1] + rest.trained[1] == whole["rcap"].trained[1]
    assert rest.sampler.pruner.state() == whole["rcap"].sampler.pruner.state()


@pytest.mark.parametrize("workers", [0, 2])
def test_needs_no_set_epoch(workers, whole):
    first = Run(workers=workers).train(stop=lambda *now: now == (1, 4), set_epoch=False)
    rest = Run(workers=workers).load(checkpoint(first, "loader")).train(1, set_epoch=False)
    check_together(first, rest, whole["rcap"])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_that_was_handed_out_and_not_observed_comes_again(workers, whole):
    first = Run(workers=workers)
    first.sampler.set_epoch(0)
    iterator = iter(first.loader)
    for _ in range(3):
        first.train_batch(next(iterator)[1])
    next(iterator)  # the run ends before this one is trained
    rest = Run(workers=workers).load(checkpoint(first, "loader")).train()
    check_together(first, rest, whole["rcap"])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_that_is_kept_in_memory_does_not_move(workers, whole):
    kept = []
    first = Run(workers=workers)

    def look(epoch, done):
        if (epoch, done) == (1, 4):
            kept.append((first.loader.state_dict(), {number: list(first.trained[number]) for number in first.trained}))

    first.train(stop=look)
    assert first.trained == whole["rcap"].trained
    state, first.trained = kept[0]
    rest = Run(workers=workers).load({"loader": state}).train(1)
    check_together(first, rest, whole["rcap"])


@pytest.mark.parametrize("done", [2, 3, 4])
def test_a_loader_that_looks_at_its_sampler_less_often_trains_every_sample_once(done, whole):
    first = Run(workers=2, snapshot_every_n_steps=3).train(stop=lambda *now: now == (0, done))
    rest = Run(workers=2, snapshot_every_n_steps=3).load(checkpoint(first, "loader")).train()
    assert first.ids(0) + rest.ids(0) == whole["rcap"].ids(0)
    for epoch in range(1, EPOCHS):
        assert len(set(rest.ids(epoch))) == len(rest.ids(epoch)) == len(whole["rcap"].ids(epoch))


@pytest.mark.parametrize("workers", [0, 2])
def test_resumes_a_method_that_wanted_a_pass_before_training(workers):
    """The loader makes an iterator of the sampler before it loads the sampler's state."""
    def make():
        run = Run(workers=workers)
        pruner = rcap.make_pruner("rcap", LABELS, pruning_rate=0.6, seed=5, initial_loss="forward")
        run.sampler = PruningSampler(pruner)
        run.loader = StatefulDataLoader(run.loader.dataset, sampler=run.sampler, batch_size=BATCH, num_workers=workers)
        return run

    def observe_all(run):
        ids = torch.arange(len(LABELS))
        run.sampler.observe(ids, losses_of(ids, 7))
        return run

    whole = observe_all(make()).train()
    first = observe_all(make()).train(stop=lambda *now: now == (1, 3))
    rest = make().load(checkpoint(first, "loader")).train(1, set_epoch=False)
    check_together(first, rest, whole)


def test_two_processes_resume_each_from_its_own_loader():
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
               str(HERE / "stateful_job.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=HERE, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
