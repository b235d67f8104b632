"""PruningSampler with the real Lightning Fabric, as examples/python/fabric_loop.py uses it."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, default_collate

import rcap
from rcap.torch import Indexed, PruningSampler, initial_losses

pytest.importorskip("lightning")

from lightning.fabric import Fabric

from small_network import METHODS, Recorder, check_rest, make_dataset, make_layer, make_pruner, same_weights
from training import BATCH, EPOCHS, LABELS

HERE = pathlib.Path(__file__).parent


def with_ids_of_numpy(items):
    """Ids that no framework moves to a device."""
    return default_collate([item for item, _ in items]), np.array([id for _, id in items])


class Run:
    """A network, a loader and all that a checkpoint holds. `set_up` are the options of `setup_dataloaders`."""

    def __init__(self, fabric, method, workers=0, set_up=None):
        self.fabric = fabric
        self.sampler = sampler = PruningSampler(make_pruner(method))
        self.recorder = Recorder(sampler)
        dataset = Indexed(make_dataset())
        self.loader = DataLoader(dataset, sampler=sampler, batch_size=BATCH, num_workers=workers,
                                 collate_fn=with_ids_of_numpy)
        if set_up is not None:
            self.loader = fabric.setup_dataloaders(self.loader, **set_up)
        model = make_layer()
        ids = range(fabric.global_rank, len(LABELS), fabric.world_size)
        self._initial = lambda: initial_losses(model, DataLoader(dataset, sampler=ids, batch_size=64), sampler)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        self.state = {"model": self.model, "optimizer": self.optimizer, "sampler": sampler}

    def train(self, save=None, checkpoint=None):
        """Goes on from `checkpoint`; calls `save(epoch, batches done)` after every batch."""
        if checkpoint:
            self.fabric.load(checkpoint, self.state)
        else:
            self._initial()
        for epoch in range(self.sampler.epoch, EPOCHS):
            self.sampler.set_epoch(epoch)
            for done, (batch, ids) in enumerate(self.loader, 1):
                assert isinstance(ids, np.ndarray), type(ids)
                x, y = self.fabric.to_device(batch)
                losses = F.cross_entropy(self.model(x), y, reduction="none")
                self.optimizer.zero_grad()
                self.fabric.backward(self.recorder.observe(ids, losses))
                self.optimizer.step()
                if save:
                    save(epoch, done)
        self.sampler.synchronize()
        return self

    def batches(self):
        return [self.recorder.batches(epoch) for epoch in range(EPOCHS)]

    def save_into(self, folder):
        def save(epoch, done):
            self.sampler.synchronize()
            self.fabric.save(folder / f"{epoch}-{done}.ckpt", self.state)
        return save


@pytest.fixture
def fabric():
    return Fabric(accelerator="cpu", devices=1)


@pytest.mark.parametrize("method", METHODS)
def test_a_loader_that_fabric_has_set_up_trains_the_same(fabric, method):
    plain = Run(fabric, method).train()
    set_up = Run(fabric, method, workers=2, set_up={"use_distributed_sampler": False}).train()
    assert set_up.batches() == plain.batches()
    assert same_weights(set_up.model, plain.model)


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_ends_as_if_never_stopped(fabric, method, tmp_path):
    whole = Run(fabric, method)
    whole.train(save=whole.save_into(tmp_path))
    last = len(whole.recorder.batches(1))
    for point in ("0-1", "1-3", f"1-{last - 1}", f"1-{last}"):
        rest = Run(fabric, method, workers=2).train(checkpoint=tmp_path / f"{point}.ckpt")
        check_rest(rest.recorder, whole.recorder)
        assert rest.recorder.batches(2) == whole.recorder.batches(2), point
        assert same_weights(rest.model, whole.model), point
        assert rest.sampler.pruner.state() == whole.sampler.pruner.state(), point


def test_a_loader_that_counts_from_0_after_a_resume_is_noticed(fabric, tmp_path):
    """One that Fabric has set up counts its passes, and sets the epoch when a pass begins."""
    whole = Run(fabric, "rs2")
    whole.train(save=whole.save_into(tmp_path))
    rest = Run(fabric, "rs2", set_up={"use_distributed_sampler": False})
    with pytest.raises(rcap.InvalidArgument, match="epoch 0 lies before 1"):
        rest.train(checkpoint=tmp_path / "1-2.ckpt")


def test_two_processes_share_the_selection_and_resume(tmp_path):
    """They also notice that it is shared out twice. Fabric itself starts the second one, with the same command."""
    command = [sys.executable, str(HERE / "fabric_job.py"), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=HERE, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
