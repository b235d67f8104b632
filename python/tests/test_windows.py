"""Windows: selections that are renewed within a pass."""

import itertools

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.torch import Indexed, PruningBatchSampler, PruningSampler, total_steps
from test_distributed import torchrun
from training import BATCH, LABELS, losses_of

STEPS = 4  # of a window: 32 samples, 6 windows a pass
METHODS = {
    "rcap": {"class_share": "domain", "reference_losses": [0.5, 0.5, 0.5]}, "balanced": {}, "rs2": {},
    "rcap_once": {"max_repeats": 0}}


def make_sampler(name, **options):
    pruner = rcap.make_pruner(name.partition("_")[0], LABELS, seed=5, **METHODS[name],
                              window=STEPS * BATCH if "window" in options else None)
    options.pop("window", None)
    return PruningSampler(pruner, batch_size=BATCH, window_steps=STEPS, **options)


def make_loader(sampler, workers=0):
    return DataLoader(Indexed(TensorDataset(torch.arange(len(LABELS)))), num_workers=workers,
                      batch_sampler=PruningBatchSampler(sampler, BATCH))


def train(sampler, loader, batches=None):
    """The windows and ids of the batches of a pass, or of some of them."""
    seen = []
    for _, ids in itertools.islice(loader, batches):
        sampler.observe(ids, losses_of(ids, 0))
        seen.append(ids.tolist())
    return seen


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def test_a_pass_has_windows_of_equal_length(self, name):
        sampler = make_sampler(name)
        assert sampler.windows_per_pass == 205 // 32 == 6
        assert len(sampler) == 6 * 32
        assert total_steps(sampler, 1, BATCH) == 24
        seen = train(sampler, make_loader(sampler))
        assert [len(ids) for ids in seen] == [BATCH] * 24
        other = make_sampler(name).pruner
        for window in range(6):
            ids = sum(seen[4 * window:4 * window + 4], [])
            assert ids == other.select_in_order(window).ids.tolist()
            other.observe(ids, losses_of(ids, 0).numpy())
        assert (sampler.epoch, sampler.window, sampler.epoch_done) == (0, 5, True)

    @pytest.mark.parametrize("done", [0, 2, 3, 4, 5, 8, 23, 24])
    def test_resumes_exactly(self, name, done):
        expected = train(whole := make_sampler(name), make_loader(whole))
        sampler = make_sampler(name)
        assert train(sampler, make_loader(sampler), done) == expected[:done]
        if done == 24 and name == "rcap_once":
            return  # nothing is left
        resumed = make_sampler(name)
        resumed.load_state_dict(sampler.state_dict())
        assert resumed.batches_done(BATCH) == done
        if done < 24:
            assert train(resumed, make_loader(resumed)) == expected[done:]
            assert resumed.pruner.state() == whole.pruner.state()
        else:
            assert train(resumed, make_loader(resumed), 4) == train(whole, make_loader(whole), 4)

    def test_goes_on_after_a_loop_was_left(self, name):
        expected = train(whole := make_sampler(name), make_loader(whole))
        sampler = make_sampler(name)
        loader = make_loader(sampler)
        assert train(sampler, loader, 6) + train(sampler, loader) == expected


def test_a_second_pass_follows_by_itself_and_by_set_epoch():
    first, second = make_sampler("rcap"), make_sampler("rcap")
    loader = make_loader(first)
    runs = [train(first, loader), train(first, loader)]
    assert (first.epoch, first.window) == (1, 11)
    for epoch, expected in enumerate(runs):
        second.set_epoch(epoch)
        assert second.window == 6 * epoch
        assert len(second) == 6 * 32
        assert train(second, make_loader(second)) == expected


def test_the_length_counts_what_a_pass_has_yielded():
    sampler = make_sampler("rcap")
    lengths = []
    for _, ids in make_loader(sampler):
        sampler.observe(ids, losses_of(ids, 0))
        lengths.append(len(sampler))
    assert lengths == [6 * 32] * 24


def test_every_sample_comes_once_before_a_repeat():
    sampler = make_sampler("rcap_once")
    seen = sum(train(sampler, make_loader(sampler)), [])
    assert len(set(seen)) == len(seen) == 6 * 32


def test_losses_that_workers_delay_are_recorded_late():
    sampler = make_sampler("balanced")
    recorded = train(sampler, make_loader(sampler, workers=2))
    assert len(recorded) == 24
    assert sampler.pruner.pending_count == 0


def test_windows_of_tokens_have_about_so_many_steps():
    lengths = np.random.default_rng(4).integers(1, 100, len(LABELS))
    sampler = PruningSampler(rcap.RCAP(LABELS, lengths=lengths, seed=5), batch_size=BATCH, window_steps=STEPS)
    assert sampler.pruner.window == 32 * lengths.sum() // len(LABELS)
    sampler.set_epoch(0)
    tokens = lengths[sampler.pruner.select(0).ids].sum()
    assert abs(tokens - sampler.pruner.window) <= 3 * 100  # one sample for each class
    assert all(len(ids) == BATCH for ids in train(sampler, make_loader(sampler)))


def test_what_cannot_be_is_refused():
    with pytest.raises(rcap.InvalidArgument, match="window_steps is 4 and batch_size is None"):
        PruningSampler(rcap.RS2(LABELS), window_steps=4)
    with pytest.raises(rcap.InvalidArgument, match="infobatch does not select windows; rcap, balanced, rs2"):
        PruningSampler(rcap.InfoBatch(LABELS, epochs=3), window_steps=4, batch_size=8)
    with pytest.raises(rcap.InvalidArgument, match="40 steps has 320 samples, more than the 205"):
        PruningSampler(rcap.RS2(LABELS), window_steps=40, batch_size=8)
    with pytest.raises(rcap.InvalidArgument, match="has windows of 30 samples, but 4 steps of 1 x 8 samples are 32"):
        PruningSampler(rcap.RS2(LABELS, window=30), window_steps=4, batch_size=8)
    with pytest.raises(rcap.InvalidArgument, match="does not go with hands_out=\"whole\""):
        PruningSampler(rcap.RS2(LABELS), window_steps=4, batch_size=8, hands_out="whole")
    with pytest.raises(rcap.StateMismatch, match="window=32"):
        PruningSampler(rcap.RS2(LABELS, seed=5), window_steps=2, batch_size=8).load_state_dict(
            make_sampler("rs2").state_dict())
    pruner = rcap.RS2(LABELS)
    pruner.select(0)
    with pytest.raises(rcap.InvalidArgument, match="set it first, or make the pruner with window="):
        pruner.set_window(30)


def test_a_pruner_may_have_the_window_already():
    runs = []
    for options in ({}, {"window": True}):
        sampler = make_sampler("rcap", **options)
        runs.append(train(sampler, make_loader(sampler)))
    assert runs[0] == runs[1]


def test_one_rank_and_two_make_the_same_batches(tmp_path):
    runs = []
    for ranks, ranks_per_host in ((1, None), (2, None), (2, 2)):
        torchrun(ranks, "windows", folder=tmp_path, ranks_per_host=ranks_per_host)
        runs.append(torch.load(tmp_path / "windows.pt"))
    assert runs[0] == runs[1] == runs[2]
