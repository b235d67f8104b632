"""PruningSampler with the real accelerate, as examples/python/accelerate_loop.py uses it."""

import pathlib
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

import rcap
from rcap.torch import Indexed, PruningSampler, initial_losses

pytest.importorskip("accelerate")

from accelerate import Accelerator
from accelerate.data_loader import prepare_data_loader
from accelerate.state import AcceleratorState, GradientState, PartialState

from small_network import (
    METHODS, Recorder, check_rest, check_selections, make_dataset, make_layer, make_pruner, same_weights)
from training import BATCH, EPOCHS, LABELS

HERE = pathlib.Path(__file__).parent


class Run:
    """A network, a loader and all that a checkpoint holds."""

    def __init__(self, method, workers=0, persistent=False, pruner=None):
        self.accelerator = Accelerator(cpu=True)
        self.sampler = sampler = PruningSampler(pruner or make_pruner(method))
        self.recorder = Recorder(sampler)
        dataset = Indexed(make_dataset())
        loader = DataLoader(dataset, sampler=self.sampler, batch_size=BATCH, num_workers=workers,
                            persistent_workers=persistent)
        self.loader = prepare_data_loader(loader, self.accelerator.device, num_processes=1, process_index=0,
                                          put_on_device=True)
        model = make_layer()
        ids = range(self.accelerator.process_index, len(LABELS), self.accelerator.num_processes)
        self._initial = lambda: initial_losses(model, DataLoader(dataset, sampler=ids, batch_size=64), sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.accelerator.register_for_checkpointing(self.sampler)
        self.accelerator.register_save_state_pre_hook(lambda *_: sampler.synchronize())

    def train(self, save=None, checkpoint=None):
        """Goes on from `checkpoint`; calls `save(epoch, batches done)` after every batch."""
        if checkpoint:
            self.accelerator.load_state(str(checkpoint))
        else:
            self._initial()
        for epoch in range(self.sampler.epoch, EPOCHS):
            self.loader.set_epoch(epoch)
            for done, ((x, y), ids) in enumerate(self.loader, 1):
                losses = F.cross_entropy(self.model(x), y, reduction="none")
                self.optimizer.zero_grad()
                self.accelerator.backward(self.recorder.observe(ids, losses))
                self.optimizer.step()
                if save:
                    save(epoch, done)
        self.sampler.synchronize()
        return self

    def save_into(self, folder):
        return lambda epoch, done: self.accelerator.save_state(str(folder / f"{epoch}-{done}"))


def start_again():
    """accelerate keeps its state in the process."""
    for state in (AcceleratorState, PartialState, GradientState):
        state._reset_state()


@pytest.fixture(autouse=True)
def fresh_accelerate():
    start_again()
    yield
    start_again()


@pytest.mark.parametrize("method", METHODS)
def test_trains_every_selected_sample_once_and_shows_its_loss(method):
    pruner = make_pruner("rcap", initial_loss="log-c") if method == "rcap" else None
    check_selections(Run(method, pruner=pruner).train().recorder, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_change_nothing(method, persistent):
    alone = Run(method).train()
    helped = Run(method, workers=2, persistent=persistent).train()
    assert [helped.recorder.batches(epoch) for epoch in range(EPOCHS)] == [
        alone.recorder.batches(epoch) for epoch in range(EPOCHS)]
    assert same_weights(helped.model, alone.model)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_run_ends_as_if_never_stopped(method, workers, tmp_path):
    whole = Run(method, workers)
    whole.train(save=whole.save_into(tmp_path))
    last = len(whole.recorder.batches(1))
    for point in ("0-1", "1-3", f"1-{last - 1}", f"1-{last}"):
        start_again()
        rest = Run(method, workers).train(checkpoint=tmp_path / point)
        check_rest(rest.recorder, whole.recorder)
        assert rest.recorder.batches(2) == whole.recorder.batches(2)
        assert same_weights(rest.model, whole.model), point
        assert rest.sampler.pruner.state() == whole.sampler.pruner.state(), point


def test_a_loader_that_counts_from_0_after_a_resume_is_noticed(tmp_path):
    whole = Run("rs2")
    whole.train(save=whole.save_into(tmp_path))
    start_again()
    rest = Run("rs2")
    rest.accelerator.load_state(str(tmp_path / "1-2"))
    with pytest.raises(rcap.InvalidArgument, match="epoch 0 lies before 1"):
        next(iter(rest.loader))


def test_two_processes_share_the_selection_and_resume(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
               str(HERE / "accelerate_job.py"), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
