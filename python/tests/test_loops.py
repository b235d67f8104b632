"""What a loop may do beside training: select ahead, take batches, copy the sampler, skip what overflowed."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from training import BATCH, EPOCHS, LABELS, losses_of, make_loader, make_sampler, train

import rcap
from rcap.torch import Indexed, PruningBatchSampler, PruningSampler, with_ids

METHODS = ["rcap", "rs2", "infobatch", "ucb", "epsilon-greedy", "balanced"]


def train_epoch(sampler, epoch, loader=None):
    batches = []
    for _, ids in loader or make_loader(sampler):
        sampler.observe(ids, losses_of(ids, epoch))
        batches.append(ids.tolist())
    return batches


class TestSelectAhead:
    @pytest.mark.parametrize("method", METHODS)
    def test_changes_nothing(self, method):
        expected, sampler = train(make_sampler(method)), make_sampler(method)
        for epoch in range(EPOCHS):
            sampler.select_ahead()
            sampler.select_ahead()  # once is enough
            sampler.set_epoch(epoch)
            assert train_epoch(sampler, epoch) == expected[epoch]

    @pytest.mark.parametrize("method", METHODS)
    def test_a_state_taken_meanwhile_is_that_of_the_next_epoch(self, method):
        expected, sampler = train(make_sampler(method)), make_sampler(method)
        sampler.set_epoch(0)
        train_epoch(sampler, 0)
        sampler.select_ahead()
        state, copied = sampler.state_dict(), copy.deepcopy(sampler)
        resumed = PruningSampler(make_sampler(method).pruner)
        resumed.load_state_dict(state)
        assert sampler.epoch == 0 and sampler.epoch_done and resumed.epoch == 1
        for each in (sampler, copied, resumed):
            each.set_epoch(1)
            assert train_epoch(each, 1) == expected[1]

    def test_an_epoch_may_be_left_out(self):
        plain, sampler = make_sampler("rs2"), make_sampler("rs2")
        for each in (plain, sampler):
            each.set_epoch(0)
            train_epoch(each, 0)
        sampler.select_ahead()
        ids = []
        for each in (plain, sampler):
            each.set_epoch(2)
            ids.append(sorted(each))
        assert len(ids[0]) == len(ids[1])

    def test_is_for_the_end_of_an_epoch(self):
        sampler = make_sampler("rcap")
        ids = list(sampler)
        sampler.observe(ids[:10], losses_of(ids[:10], 0))
        with pytest.raises(rcap.InvalidArgument, match="72 samples of epoch 0 have not been observed yet"):
            sampler.select_ahead()


class TestBatches:
    @pytest.mark.parametrize("method", METHODS)
    def test_are_those_of_the_sampler(self, method):
        expected, sampler = train(make_sampler(method)), make_sampler(method)
        loader = sampler.loader(TensorDataset(torch.arange(len(LABELS))), batch_size=BATCH)
        for epoch in range(EPOCHS):
            sampler.set_epoch(epoch)
            assert len(loader) == len(expected[epoch])
            assert train_epoch(sampler, epoch, loader) == expected[epoch]

    def test_are_arrays(self):
        batches = list(PruningBatchSampler(make_sampler("rs2"), BATCH))
        assert all(type(ids) is np.ndarray and ids.dtype == np.int64 for ids in batches)
        assert [len(ids) for ids in batches] == [BATCH] * 10 + [2]

    def test_may_drop_the_last(self):
        batches = PruningBatchSampler(make_sampler("rs2", batch_size=BATCH), BATCH, drop_last=True)
        assert len(batches) == len(list(batches)) == 10

    def test_have_a_size(self):
        with pytest.raises(rcap.InvalidArgument, match="batch_size is 0; it must be at least 1"):
            PruningBatchSampler(make_sampler("rs2"), 0)

    def test_a_loader_gives_ids_on_the_host_beside_any_collation(self):
        sampler = make_sampler("rs2")
        loader = sampler.loader(TensorDataset(torch.arange(len(LABELS))), batch_size=BATCH, collate_fn=len)
        batch, ids = next(iter(loader))
        assert batch == BATCH and type(ids) is np.ndarray


class TestCopies:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda sampler: pickle.loads(pickle.dumps(sampler))])
    def test_go_on_as_the_original_does(self, method, copied):
        sampler = make_sampler(method)
        sampler.set_epoch(0)
        done = 3 * BATCH
        ids = list(sampler)
        sampler.observe(ids[:done], losses_of(ids[:done], 0))
        again = copied(sampler)
        for each in (again, sampler):
            each.set_epoch(0)
            assert list(each) == ids[done:]
            each.observe(ids[done:], losses_of(ids[done:], 0))
            each.set_epoch(1)
        assert list(again) == list(sampler)
        assert again.pruner is not sampler.pruner

    def test_a_network_that_holds_its_sampler_can_be_averaged(self):
        model = torch.nn.Linear(2, 2)
        model.sampler = make_sampler("rcap")
        averaged = torch.optim.swa_utils.AveragedModel(model)
        averaged.update_parameters(model)
        assert len(list(averaged.module.sampler)) == len(list(model.sampler))

    def test_tell_what_they_are(self):
        assert repr(make_sampler("rs2")).startswith("PruningSampler(RS2(205 samples, 3 classes, pruning_rate=0.6")


class TestBadLosses:
    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
    def test_may_be_kept_out(self, bad):
        sampler = PruningSampler(rcap.UCB(LABELS, pruning_rate=0.6, period=1), bad_losses="keep")
        sampler.set_epoch(0)
        ids = torch.tensor(list(sampler))
        sampler.observe(ids, losses_of(ids, 0))
        sampler.set_epoch(1)
        ids = torch.tensor(list(sampler))
        losses = losses_of(ids, 1)
        losses[3] = bad
        sampler.observe(ids, losses)
        assert sampler.epoch_done  # the sample is done all the same
        told = PruningSampler(rcap.UCB(LABELS, pruning_rate=0.6, period=1))
        told.set_epoch(0)
        first = torch.tensor(list(told))
        told.observe(first, losses_of(first, 0))
        told.set_epoch(1)
        rest = torch.cat([ids[:3], ids[4:]])
        told.observe(rest, losses_of(rest, 1))
        assert list(told.pruner.select(2).ids) == list(sampler.pruner.select(2).ids)

    def test_are_errors_unless_told_otherwise(self):
        sampler = make_sampler("ucb")
        ids = list(sampler)[:3]
        with pytest.raises(rcap.InvalidArgument, match=f"the loss of sample {ids[1]} is inf"):
            sampler.observe(ids, torch.tensor([1.0, float("inf"), 1.0]))

    def test_what_rounding_puts_below_zero_is_zero(self):
        below, zero = make_sampler("ucb"), make_sampler("ucb")
        ids = list(below)
        assert ids == list(zero)
        below.observe(ids, torch.full((len(ids),), -1e-7))
        zero.observe(ids, torch.zeros(len(ids)))
        assert below.pruner.state() == zero.pruner.state()
        sampler = make_sampler("ucb")
        with pytest.raises(rcap.InvalidArgument, match="is -0.001"):
            sampler.observe(list(sampler)[:1], torch.tensor([-1e-3]))

    def test_what_rounding_puts_below_zero_is_not_bad(self):
        kept, zero = make_sampler("ucb", bad_losses="keep"), make_sampler("ucb")
        ids = list(kept)
        kept.observe(ids, torch.full((len(ids),), -1e-7))
        zero.observe(list(zero), torch.zeros(len(ids)))
        assert kept.pruner.state() == zero.pruner.state()

    def test_who_looks_at_no_loss_takes_any(self):
        sampler = make_sampler("rs2")
        ids = list(sampler)
        sampler.observe(ids, torch.full((len(ids),), float("nan")))
        assert sampler.epoch_done

    def test_another_word(self):
        with pytest.raises(rcap.InvalidArgument, match='bad_losses is "skip"; it must be "raise" or "keep"'):
            make_sampler("rs2", bad_losses="skip")


class TestReports:
    """Of samples that were handed out and never observed."""

    @staticmethod
    def warnings_of(train):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train()
        return [str(warning.message) for warning in caught]

    def test_a_loader_that_drops_its_last_batch(self):
        sampler = make_sampler("rcap")  # 82 samples
        loader = DataLoader(Indexed(TensorDataset(torch.arange(len(LABELS)))), sampler=sampler, batch_size=BATCH,
                            drop_last=True, collate_fn=with_ids())

        def train_two():
            for epoch in range(2):
                sampler.set_epoch(epoch)
                train_epoch(sampler, epoch, loader)
        assert self.warnings_of(train_two) == [
            "epoch 0: 82 samples were handed out and 80 observed: the loader seems to drop its last batch; make the "
            "sampler with batch_size=8, so that no sample is drawn for nothing"]

    def test_a_loop_that_leaves_out_batches(self):
        sampler = make_sampler("rcap")

        def train_two():
            for epoch in range(2):
                sampler.set_epoch(epoch)
                for number, (_, ids) in enumerate(make_loader(sampler)):
                    if number % 3 > 0:
                        sampler.observe(ids, losses_of(ids, epoch))
        texts = self.warnings_of(train_two)
        assert len(texts) == 1 and texts[0].startswith("epoch 0: 82 samples were handed out and 50 observed: call")

    def test_a_pass_that_was_broken_off_is_nothing_to_tell(self):
        sampler = make_sampler("rcap")

        def train_a_little():
            for epoch in range(3):
                sampler.set_epoch(epoch)
                for _, ids in make_loader(sampler):
                    sampler.observe(ids, losses_of(ids, epoch))
                    break
        assert self.warnings_of(train_a_little) == []

    def test_losses_that_are_all_cut(self):
        sampler = PruningSampler(rcap.RCAP(LABELS, initial_loss=0.5, clip=0.5, pruning_rate=0.6))

        def train_two():
            for epoch in range(2):
                sampler.set_epoch(epoch)
                ids = list(sampler)
                sampler.observe(ids, torch.full((len(ids),), 3.0))
            sampler.set_epoch(2)
        assert any("over 90 % of the losses of the last epoch were clipped" in text
                   for text in self.warnings_of(train_two))
