"""The losses of sequences, beside a computation of each token by itself in double precision."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import rcap
from rcap.torch import PruningSampler, sequence_losses
from rcap.torch._sequences import CHUNK

VOCABULARY = 11
IGNORED = -100


def make_batch(rows=4, length=9, vocabulary=VOCABULARY, seed=1):
    torch.manual_seed(seed)
    labels = torch.randint(vocabulary, (rows, length))
    labels[torch.rand(rows, length) < 0.3] = IGNORED
    return 3 * torch.randn(rows, length, vocabulary), labels


def token_loss(logits, label, smoothing=0.0):
    """-log softmax at the label, from the definition."""
    logits = [float(value) for value in logits]
    log_sum = math.log(sum(math.exp(value) for value in logits))
    wanted = (1 - smoothing) * logits[label] + smoothing * sum(logits) / len(logits)
    return log_sum - wanted


def expected(logits, labels, segments, shift, smoothing=0.0):
    """[(mean, count)] of segments, each [(row, first, end)]."""
    results = []
    for row, first, end in segments:
        losses = []
        for place in range(first, end - 1 if shift else end):
            label = int(labels[row, place + shift])
            if label != IGNORED:
                losses.append(token_loss(logits[row, place], label, smoothing))
        results.append((sum(losses) / max(len(losses), 1), len(losses)))
    return results


def check(found, wanted):
    losses, tokens = found
    assert losses.dtype == torch.float32
    assert tokens.tolist() == [count for _, count in wanted]
    assert losses.tolist() == pytest.approx([mean for mean, _ in wanted], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("shift", [True, False])
def test_a_row_has_the_mean_loss_of_its_tokens(shift, smoothing):
    logits, labels = make_batch()
    rows = [(row, 0, 9) for row in range(4)]
    check(sequence_losses(logits, labels, shift=shift, label_smoothing=smoothing),
          expected(logits, labels, rows, shift, smoothing))


SEGMENTS = [(0, 0, 4), (0, 4, 5), (0, 5, 9), (1, 0, 9)]
CU_SEQLENS = torch.tensor([0, 4, 5, 9, 18], dtype=torch.int32)
POSITION_IDS = torch.tensor([[0, 1, 2, 3, 0, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8]])


@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("packing", [{"cu_seqlens": CU_SEQLENS}, {"position_ids": POSITION_IDS},
                                     {"position_ids": POSITION_IDS + 2}], ids=["bounds", "positions", "from 2"])
def test_a_packed_batch_has_a_loss_for_each_segment(packing, shift):
    logits, labels = make_batch(rows=2)
    check(sequence_losses(logits, labels, shift=shift, **packing), expected(logits, labels, SEGMENTS, shift))


def test_a_segment_can_go_over_the_end_of_a_row():
    logits, labels = make_batch(rows=2)
    whole = expected(logits.reshape(1, 18, -1), labels.reshape(1, 18), [(0, 0, 7), (0, 7, 18)], True)
    check(sequence_losses(logits, labels, cu_seqlens=torch.tensor([0, 7, 18])), whole)


def test_padding_changes_nothing():
    """Segments of a packed batch and rows of a padded one are the same sequences."""
    logits, labels = make_batch(rows=1)
    packed = sequence_losses(logits, labels, cu_seqlens=torch.tensor([0, 4, 9]))
    wide, marked = torch.full((2, 5, VOCABULARY), 1e4), torch.full((2, 5), IGNORED)
    wide[0, :4], wide[1] = logits[0, :4], logits[0, 4:]
    marked[0, :4], marked[1] = labels[0, :4], labels[0, 4:]
    padded = sequence_losses(wide, marked)
    assert torch.equal(packed[0], padded[0]) and torch.equal(packed[1], padded[1])


def test_a_sequence_without_tokens_that_count_has_no_loss():
    logits, labels = make_batch()
    labels[2] = IGNORED
    logits[2] = math.nan
    logits.requires_grad_()
    losses, tokens = sequence_losses(logits, labels)
    assert (losses[2].item(), tokens[2].item()) == (0.0, 0)
    losses.sum().backward()
    assert logits.grad[2].count_nonzero() == 0 and logits.grad.isfinite().all()


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("vocabulary", [VOCABULARY, CHUNK // 3 + 1])
def test_gradients_are_those_of_cross_entropy(vocabulary, smoothing):
    """The larger vocabulary has two tokens in a chunk, and an odd number of them."""
    logits, labels = make_batch(rows=1, length=7, vocabulary=vocabulary)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    losses, tokens = sequence_losses(ours, labels, cu_seqlens=torch.tensor([0, 3, 7]), label_smoothing=smoothing)
    (losses * torch.tensor([1.0, 3.0])).sum().backward()
    targets = torch.cat([labels[0, 1:3], torch.tensor([IGNORED]), labels[0, 4:], torch.tensor([IGNORED])])
    by_token = F.cross_entropy(theirs[0], targets, reduction="none", label_smoothing=smoothing)
    (by_token[:3].sum() / tokens[0] + 3 * by_token[3:].sum() / tokens[1]).backward()
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_single_precision(kind):
    logits, labels = make_batch(vocabulary=500)
    halves = logits.to(kind).requires_grad_()
    losses, _ = sequence_losses(halves, labels)
    assert torch.equal(losses, sequence_losses(halves.detach().float(), labels)[0])
    losses.sum().backward()
    assert halves.grad.dtype == kind


def test_the_tokens_of_a_batch_may_weigh_the_same():
    """What a Trainer minimises is the mean over tokens, not over sequences."""
    logits, labels = make_batch()
    ids = list(range(4))
    sampler = PruningSampler(rcap.Full([0, 1, 0, 1]))
    sampler.set_epoch(0)
    assert sorted(sampler) == ids
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    losses, tokens = sequence_losses(ours, labels)
    mean = sampler.observe(ids, losses, tokens)
    mean.backward()
    plain = F.cross_entropy(theirs[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1), ignore_index=IGNORED)
    plain.backward()
    assert mean.item() == pytest.approx(plain.item(), rel=1e-6)
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-6)
    assert sampler.epoch_done


def test_a_batch_without_tokens_that_count_trains_nothing():
    sampler = PruningSampler(rcap.Full([0, 1]))
    sampler.set_epoch(0)
    logits = torch.randn(2, 5, VOCABULARY, requires_grad=True)
    losses, tokens = sequence_losses(logits, torch.full((2, 5), IGNORED))
    loss = sampler.observe(list(sampler), losses, tokens)
    loss.backward()
    assert loss.item() == 0 and logits.grad.count_nonzero() == 0


class LargestOutput(TorchDispatchMode):
    """The numbers of elements of what each operation makes, if it is more than a piece of the logits."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        inputs = {value.untyped_storage().data_ptr() for value in arguments if isinstance(value, torch.Tensor)}
        for value in result if isinstance(result, (tuple, list)) else [result]:
            if (isinstance(value, torch.Tensor) and value.numel() > CHUNK
                    and value.untyped_storage().data_ptr() not in inputs):
                self.made.append(value.numel())
        return result


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_logits_are_not_copied_and_have_one_gradient(kind):
    logits, labels = make_batch(rows=4, length=64, vocabulary=3 * CHUNK // 128)
    logits = logits.to(kind).requires_grad_()
    with LargestOutput() as forward:
        losses, _ = sequence_losses(logits, labels)
    assert forward.made == []
    with LargestOutput() as backward:
        losses.sum().backward()
    assert backward.made == [logits.numel()]


class TestSaysWhatIsWrong:
    logits, labels = make_batch(rows=2)

    def refused(self, message, *arguments, **options):
        with pytest.raises(rcap.InvalidArgument, match=message):
            sequence_losses(*arguments, **options)

    def test_logits_of_another_length(self):
        self.refused(r"logits of shape \(2, 8, 11\) for labels of shape \(2, 9\)", self.logits[:, 1:], self.labels)

    def test_logits_without_a_batch(self):
        self.refused(r"logits are \(batch, tokens, vocabulary\)", self.logits[0], self.labels[0])

    def test_labels_that_are_no_integers(self):
        self.refused("labels are integers", self.logits, self.labels.float())

    def test_a_label_of_another_vocabulary(self):
        self.refused("label 11 is neither one of 11 tokens nor ignore_index", self.logits,
                     self.labels.masked_fill(self.labels == 3, VOCABULARY))

    @pytest.mark.parametrize("bounds", [[0, 4, 17], [1, 18], [0, 9, 9, 18], [0, 9, 4, 18]])
    def test_bounds_that_do_not_cover_the_batch(self, bounds):
        self.refused("cu_seqlens .* for 18 tokens; it must begin with 0, rise", self.logits, self.labels,
                     cu_seqlens=torch.tensor(bounds))

    def test_bounds_that_are_none(self):
        self.refused("one number for each segment", self.logits, self.labels, cu_seqlens=torch.tensor([0]))

    def test_positions_of_another_batch(self):
        self.refused(r"position_ids of shape \(3, 9\)", self.logits, self.labels,
                     position_ids=torch.zeros(3, 9, dtype=torch.int64))

    def test_both_kinds_of_packing(self):
        self.refused("give one", self.logits, self.labels, cu_seqlens=CU_SEQLENS, position_ids=POSITION_IDS)

    @pytest.mark.parametrize("packing", [{}, {"cu_seqlens": CU_SEQLENS}])
    def test_segments_that_do_not_match_the_ids(self, packing):
        self.refused("sequences, but 3 ids belong to it", self.logits, self.labels, sequence_count=3, **packing)

    def test_smoothing_that_is_no_part(self):
        self.refused("label_smoothing is 1.0", self.logits, self.labels, label_smoothing=1.0)

    def test_counts_of_other_sequences(self):
        sampler = PruningSampler(rcap.Full([0, 1]))
        sampler.set_epoch(0)
        ids = list(sampler)
        with pytest.raises(rcap.InvalidArgument, match="observe: 3 counts of tokens for 2 losses"):
            sampler.observe(ids, torch.ones(2), torch.ones(3))
        assert not sampler.any_observed
