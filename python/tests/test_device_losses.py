"""Losses on an accelerator are never waited for; a stand-in takes its place, so the order of things is tested here.

What it cannot show is the timing of a real device.
"""

import numpy as np
import pytest
import torch
from training import BATCH, EPOCHS, LABELS, losses_of, make_sampler, train, weighted_epoch

import rcap
from rcap.torch import PruningSampler
from stand_in_device import Device, Waited

CHANCES = [0.0, 0.3, 1.0]  # of an event to have come when it is asked for


def train_on(device, sampler, ids_too=False):
    """As `train`, with losses on the device; the waits in mid-epoch too."""
    seen, waits = {}, 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        before = device.waits
        for first in range(0, len(sampler), BATCH):
            if first == 0:
                part = list(sampler)
            ids = torch.tensor(part[first:first + BATCH])
            mean = sampler.observe(device.put(ids) if ids_too else ids, device.put(losses_of(ids, epoch)))
            seen.setdefault(epoch, []).append(ids.tolist())
            assert mean.device.type == "cuda"
        waits += device.waits - before
    sampler.synchronize()
    return seen, waits


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("method", ["rcap", "infobatch", "ucb", "rs2"])
@pytest.mark.parametrize("ids_too", [False, True])
def test_training_is_the_same_however_late_losses_come(method, chance, ids_too, monkeypatch):
    on_host, sampler = make_sampler(method), make_sampler(method)
    expected = train(on_host)
    with Device(3, chance).installed(monkeypatch) as device:
        seen, waits = train_on(device, sampler, ids_too)
    assert seen == expected
    assert sampler.pruner.state() == on_host.pruner.state()
    assert waits == 0
    assert (device.late > 0) == (chance < 1)


def test_the_stand_in_finds_a_wait():
    losses = Device(0, 0.5).put(torch.ones(3))
    for wait in (losses.cpu, losses.mean().item, lambda: torch.zeros(3).copy_(losses)):
        with pytest.raises(Waited):
            wait()


def test_weights_are_those_of_the_batch(monkeypatch):
    sampler, ids, losses, weights = weighted_epoch()
    with Device(0, 0.5).installed(monkeypatch) as device:
        mean = sampler.observe(ids, device.put(losses))
    torch.testing.assert_close(mean.here, (losses * weights).mean())


def test_a_state_holds_what_was_still_on_its_way(monkeypatch):
    on_host, sampler = make_sampler("ucb"), make_sampler("ucb")
    ids = torch.tensor(list(on_host)[:BATCH])
    assert list(sampler)[:BATCH] == ids.tolist()
    on_host.observe(ids, losses_of(ids, 0))
    with Device(0, 0.0).installed(monkeypatch) as device:
        sampler.observe(ids, device.put(losses_of(ids, 0)))
        assert sampler.pruner.pending_count == len(LABELS) and device.waits == 0
        assert torch.equal(sampler.state_dict()["pruner"], on_host.state_dict()["pruner"])


def test_what_is_wrong_is_told_late_with_its_place(monkeypatch):
    sampler = make_sampler("ucb")
    part = torch.tensor(list(sampler))
    broken = part[BATCH + 2].item()
    with Device(0, 0.0).installed(monkeypatch) as device:
        for first in range(0, 4 * BATCH, BATCH):
            ids = part[first:first + BATCH]
            losses = losses_of(ids, 0)
            losses[ids == broken] = float("nan")
            sampler.observe(ids, device.put(losses))
        with pytest.raises(rcap.InvalidArgument, match=f"epoch 0, batch 1, .*the loss of sample {broken} is nan"):
            sampler.synchronize()
        sampler.synchronize()  # what came after it is taken
    assert sampler.pruner.pending_count == len(LABELS) - 3 * BATCH


def test_as_many_losses_as_ids(monkeypatch):
    sampler = PruningSampler(rcap.RS2(np.arange(40) % 4, pruning_rate=0.5))
    ids = list(sampler)[:4]
    with (Device(0, 0.5).installed(monkeypatch) as device,
          pytest.raises(rcap.InvalidArgument, match="3 losses for 4 ids")):
        sampler.observe(ids, device.put(torch.ones(3)))


def test_a_device_that_copies_nothing_ahead_is_waited_for(monkeypatch):
    """As where there is no pinned memory: the losses are right, and the host waits."""
    sampler = make_sampler("ucb")
    ids = torch.tensor(list(sampler)[:BATCH])
    with pytest.raises(Waited):
        sampler.observe(ids, Device(0, 0.5).put(losses_of(ids, 0)))
