"""Budgets in tokens."""

import copy

import numpy as np
import pytest

import rcap
from rcap.torch import PruningSampler, total_steps

LABELS = np.array([0] * 300 + [1] * 150 + [2] * 50)
LENGTHS = np.random.default_rng(4).integers(1, 400, len(LABELS))


def test_a_selection_is_within_one_sample_of_every_domain_s_budget():
    pruner = rcap.Balanced(LABELS, lengths=LENGTHS, pruning_rate=0.8, class_share="power", size_power=1)
    sizes = np.bincount(LABELS, LENGTHS)
    np.testing.assert_array_equal(pruner.class_tokens, sizes)
    assert pruner.token_count == LENGTHS.sum()
    assert pruner.keep_tokens == int(0.2 * LENGTHS.sum() + 1e-6)
    for epoch in range(3):
        ids = pruner.select(epoch).ids
        taken = np.bincount(LABELS[ids], LENGTHS[ids], minlength=3)
        assert (abs(taken - 0.2 * sizes) <= LENGTHS.max()).all()


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.int64])
def test_lengths_of_every_integer_type_select_the_same(kind):
    expected = rcap.RS2(LABELS, lengths=LENGTHS.tolist(), pruning_rate=0.5).select(0).ids
    ids = rcap.RS2(LABELS, lengths=LENGTHS.astype(kind), pruning_rate=0.5).select(0).ids
    np.testing.assert_array_equal(ids, expected)


def test_lengths_can_be_read_but_not_written():
    lengths = rcap.RS2(LABELS, lengths=LENGTHS).lengths
    np.testing.assert_array_equal(lengths, LENGTHS)
    assert not lengths.flags.writeable
    assert rcap.RS2(LABELS).lengths is None


def test_a_copy_has_the_lengths_too():
    pruner = rcap.RCAP(LABELS, lengths=LENGTHS, pruning_rate=0.5)
    ids = pruner.select(0).ids
    pruner.observe(ids, LENGTHS[ids] / 100)
    copied = copy.deepcopy(pruner)
    np.testing.assert_array_equal(copied.lengths, LENGTHS)
    np.testing.assert_array_equal(copied.select(1).ids, pruner.select(1).ids)


@pytest.mark.parametrize(("lengths", "complaint"), [
    (LENGTHS[1:], "499 for 500 samples"), (np.where(np.arange(500) == 7, 0, LENGTHS), "that of sample 7 is 0"),
    (LENGTHS / 2, "lengths must be integers, not float64"),
    (np.where(np.arange(500) == 3, 10 ** 6, LENGTHS), "that of sample 3 is 1000000, more than the")])
def test_lengths_that_cannot_be_are_refused(lengths, complaint):
    with pytest.raises(rcap.InvalidArgument, match=complaint):
        rcap.RCAP(LABELS, lengths=lengths)


def test_a_domain_without_samples_and_a_method_without_tokens_are_refused():
    with pytest.raises(rcap.InvalidArgument, match="class 3 has no sample"):
        rcap.RCAP(LABELS, lengths=LENGTHS, class_count=5)
    with pytest.raises(rcap.InvalidArgument, match="infobatch counts samples, not tokens; rcap, rs2"):
        rcap.InfoBatch(LABELS, lengths=LENGTHS, epochs=3)


def test_a_sampler_has_a_length_once_the_epoch_is_selected():
    sampler = PruningSampler(rcap.RS2(LABELS, lengths=LENGTHS, pruning_rate=0.5))
    with pytest.raises(TypeError, match="the length of epoch 0 of rs2 is not known yet"):
        len(sampler)
    sampler.set_epoch(0)
    assert len(sampler) == len(list(sampler))
    with pytest.raises(rcap.InvalidArgument, match="by tokens, where samples have lengths"):
        total_steps(sampler, 3, 8)
