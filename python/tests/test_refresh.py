"""Samples that an epoch leaves out and the method wants to know of, and losses of which only the mean is known."""

import warnings

import numpy as np
import pytest
import rcap
import torch
from rcap.torch import PruningSampler, refresh_losses
from torch.nn import functional as F
from torch.utils.data import TensorDataset

SAMPLES = 120


def make_data():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(SAMPLES, 4, generator=generator)
    return TensorDataset(x, (x[:, 0] > 0).long())


def make_pruner(**options):
    return rcap.Kakurenbo(make_data().tensors[1], epochs=10, **{"hidden": 0.5, "confidence": 0.6} | options)


def train(sampler, model, data, epochs):
    loader = sampler.loader(data, batch_size=32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in epochs:
        sampler.set_epoch(epoch)
        for (x, y), ids in loader:
            optimizer.zero_grad()
            sampler.observe(ids, F.cross_entropy(model(x), y, reduction="none")).backward()
            optimizer.step()
        refresh_losses(model, sampler.refresh_loader(data, batch_size=50), sampler)


def test_left_out_samples_are_refreshed_by_one_call():
    data, model = make_data(), torch.nn.Linear(4, 2)
    sampler = PruningSampler(make_pruner())
    train(sampler, model, data, range(3))
    hidden = sampler.pruner.select(2).refresh_ids
    assert 0 < len(hidden) <= SAMPLES // 2
    assert len(sampler.refresh_ids) == 0  # all done
    assert sampler.rate_factor == pytest.approx(1 / (1 - 0.5))
    # The next selection follows the losses of the network as it is now.
    with torch.no_grad():
        losses = F.cross_entropy(model(data.tensors[0]), data.tensors[1], reduction="none").numpy()
    sampler.set_epoch(3)
    now_hidden = sampler.pruner.select(3).refresh_ids
    sure = -np.log(0.6)
    assert set(hidden[losses[hidden] > sure]) & set(now_hidden) == set()


def test_a_method_that_asks_for_nothing_gets_nothing():
    data, model = make_data(), torch.nn.Linear(4, 2)
    for pruner in (rcap.RS2(data.tensors[1], pruning_rate=0.5), make_pruner(refresh=False)):
        sampler = PruningSampler(pruner)
        train(sampler, model, data, range(2))
        assert len(sampler.refresh_ids) == 0
        assert list(sampler.refresh_loader(data)) == []
        with pytest.raises(rcap.InvalidArgument, match="asks for no forward pass"):
            sampler.observe_refreshed([0], torch.ones(1))


def test_a_rate_that_has_no_effect_is_told_of():
    with pytest.warns(RuntimeWarning, match="ies trains on what its own rule leaves"):
        rcap.IES([0, 1], pruning_rate=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rcap.IES([0, 1])


def test_the_network_is_in_the_mode_it_was_in():
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    model[0].eval()
    sampler = PruningSampler(make_pruner())
    train(sampler, model, make_data(), range(2))
    assert [module.training for module in model] == [False, True, True]
    seen = []
    refresh_losses(model, [((torch.zeros(0, 4), torch.zeros(0, dtype=torch.long)), np.empty(0, np.int64))], sampler,
                   losses=lambda model, batch: seen.append(model[1].training) or torch.zeros(0))
    assert seen == [False]


def test_refreshed_losses_survive_a_state():
    data, model = make_data(), torch.nn.Linear(4, 2)
    sampler = PruningSampler(make_pruner())
    train(sampler, model, data, range(2))
    sampler.set_epoch(2)
    open_ids = sampler.refresh_ids
    sampler.observe_refreshed(open_ids[:3], torch.full((3,), 2.0))
    other = PruningSampler(make_pruner())
    other.load_state_dict(sampler.state_dict())
    np.testing.assert_array_equal(other.refresh_ids, open_ids[3:])


def test_bad_refreshed_losses_are_refused():
    sampler = PruningSampler(make_pruner())
    train(sampler, torch.nn.Linear(4, 2), make_data(), range(1))
    sampler.set_epoch(1)
    left_out, trained = sampler.refresh_ids, sampler.pruner.select(1).ids
    with pytest.raises(rcap.InvalidArgument, match="is not one to refresh in epoch 1"):
        sampler.observe_refreshed(trained[:1], torch.ones(1))
    with pytest.raises(rcap.InvalidArgument, match="is nan"):
        sampler.observe_refreshed(left_out[:1], torch.tensor([np.nan]))
    with pytest.raises(rcap.InvalidArgument, match="one loss for each sample"):
        sampler.observe_refreshed(left_out[:1], torch.tensor(1.0))
    np.testing.assert_array_equal(sampler.refresh_ids, left_out)


def test_only_the_mean_of_a_batch_is_enough():
    data = make_data()
    labels = data.tensors[1]
    sampler = PruningSampler(rcap.TopLoss(labels, pruning_rate=0.5, seed=1))
    hard = torch.arange(SAMPLES) < SAMPLES // 2  # their loss is 2, that of the others 1
    for batch in torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(1)).split(4):
        sampler.observe_batch(batch, (1.0 + hard[batch].float()).mean())
    assert sampler.pruner.averages_batches
    sampler.set_epoch(0)
    # Half of the samples, and mostly hard ones: they were in batches of a higher mean.
    assert hard[torch.from_numpy(sampler.pruner.select(0).ids)].float().mean() > 0.55


def test_the_mean_of_a_batch_can_be_differentiated():
    labels = [0] * 900 + [1] * 10  # the small class is taken whole and weighs more
    pruner = rcap.RCAP(labels, pruning_rate=0.5)
    sampler = PruningSampler(pruner)
    sampler.set_epoch(0)
    ids = np.array([*range(900, 910), *(id for id in sampler if id < 900)])[:20]
    selection = pruner.select(0)
    weight = selection.weights[np.isin(selection.ids, ids)].mean()
    assert weight > 1.1
    parameter = torch.tensor(3.0, requires_grad=True)
    loss = sampler.observe_batch(ids, parameter * 2)
    loss.backward()
    assert loss.item() == pytest.approx(6 * weight)
    assert parameter.grad.item() == pytest.approx(2 * weight)


def test_means_and_losses_of_single_samples_do_not_mix():
    sampler = PruningSampler(rcap.TopLoss(make_data().tensors[1]))
    sampler.observe([0, 1], torch.ones(2))
    with pytest.raises(rcap.InvalidArgument, match="losses of single samples were observed before"):
        sampler.observe_batch([2, 3], torch.tensor(1.0))
    with pytest.raises(rcap.InvalidArgument, match="one number"):
        sampler.observe_batch([2, 3], torch.ones(2))


def test_a_pruner_takes_another_decay():
    pruner = rcap.TopLoss([0, 0, 0, 0], pruning_rate=0.5)
    pruner.average_batches(decay=0)
    pruner.observe_batch([0, 1], 4)
    pruner.observe_batch([2, 3], 1)
    assert pruner.select(0).ids.tolist() == [0, 1]
    pruner.observe_batch([0, 1], 0.5)
    assert pruner.select(1).ids.tolist() == [2, 3]
    with pytest.raises(rcap.InvalidArgument, match="decay is 1"):
        rcap.TopLoss([0]).average_batches(decay=1)
