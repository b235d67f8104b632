"""The crossing from Python to C++: types, shapes, errors, lifetimes, and the same selections as the program."""

import os
import pickle
import re
import subprocess
import warnings
import weakref
from importlib import metadata

import numpy as np
import pytest

import rcap

LABELS = np.array([0] * 60 + [1] * 30 + [2] * 10)
LOSSES = np.random.default_rng(0).uniform(0.1, 3, len(LABELS)).astype(np.float32)
SCORES = np.random.default_rng(1).uniform(0, 1, len(LABELS)).astype(np.float32)
NEEDS_EPOCHS = ["infobatch", "seta", "kakurenbo", "dropout"]
OPTIONS = {**{method: {"epochs": 4} for method in NEEDS_EPOCHS}, "ccs": {"scores": SCORES}, "tdds": {"scores": SCORES},
           "el2n": {"scores": SCORES}, "forgetting": {"scores": SCORES}, "dyn-unc": {"scores": SCORES},
           "dual": {"scores": SCORES, "mean_probabilities": SCORES[::-1].copy()},
           "metriq": {"recalls": np.array([0.9, 0.5, 0.25])}}


def pruner_of(method, **options):
    pruner = rcap.make_pruner(method, LABELS, pruning_rate=0.7, seed=3, **OPTIONS.get(method, {}), **options)
    if pruner.needs_initial_losses:
        pruner.observe(np.arange(len(LABELS)), LOSSES)
    return pruner


def losses_of(ids, epoch):
    """Some losses that depend on sample and epoch."""
    return ((ids * 37 + epoch * 11) % 101 / 50).astype(np.float32)


def test_gaps_in_the_labels_cost_no_budget():
    labels = np.array([3, 5000, 9999] * 1000)
    for method in ("rcap", "balanced", "rs2"):
        pruner = rcap.make_pruner(method, labels, pruning_rate=0.9)
        assert pruner.keep_count == len(pruner.select(0)) == 300


def test_more_classes_than_the_rate_keeps_are_told():
    labels = np.arange(400) % 100
    with pytest.warns(RuntimeWarning, match="would keep 40 of 400 samples, fewer than there are classes: 100 are"):
        pruner = rcap.RS2(labels, pruning_rate=0.9)
    assert pruner.keep_count == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rcap.RS2(labels, pruning_rate=0.75)
        rcap.Full(labels)


@pytest.mark.parametrize(("values", "numbers", "names"), [
    (["b", "a", "b"], [1, 0, 1], ["a", "b"]),
    (np.array([9999, 3, 5000, 3]), [2, 0, 1, 0], [3, 5000, 9999]),
    ([("a", 1), ("a", 0), ("a", 1)], [1, 0, 1], [("a", 0), ("a", 1)]),
    (np.array([[1, 7], [0, 7], [1, 7]]), [1, 0, 1], [(0, 7), (1, 7)]),
    (np.array(["x", "é"]), [0, 1], ["x", "é"]),
    (iter([True, False]), [1, 0], [False, True])])
def test_classes_numbers_any_values(values, numbers, names):
    found, found_names = rcap.classes(values)
    assert found.dtype == np.int64 and found.tolist() == numbers
    assert found_names == names
    assert rcap.RS2(found, pruning_rate=0).sample_count == len(numbers)


@pytest.mark.parametrize("values", [[], [1, "a"], [None, 1], [[1], [2]], [{}]])
def test_values_that_are_no_classes(values):
    with pytest.raises(rcap.InvalidArgument, match="classes: "):
        rcap.classes(values)


def test_the_distribution_is_not_called_like_another_package():
    assert "rcap" in {name.partition("/")[0] for name in map(str, metadata.files("rcap-pruning"))}
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("rcap")


@pytest.mark.parametrize("labels", [[], (), np.empty(0, np.int64), np.empty(0)])
def test_labels_that_are_empty(labels):
    with pytest.raises(rcap.InvalidArgument, match="labels are empty"):
        rcap.RS2(labels)


def test_more_classes_than_can_be_are_named():
    with pytest.raises(rcap.InvalidArgument, match="class_count is 1000000000000"):
        rcap.RS2(LABELS, class_count=10**12)


@pytest.mark.parametrize("mask", [False, [True] + [False] * 99])
def test_masked_arrays_are_refused(mask):
    with pytest.raises(rcap.InvalidArgument, match="labels are a masked array"):
        rcap.RS2(np.ma.array(LABELS, mask=mask))
    pruner = rcap.RCAP(LABELS, initial_loss="forward")
    ids, losses = np.arange(len(LABELS)), LOSSES
    for masked in ((np.ma.array(ids, mask=mask), losses), (ids, np.ma.array(losses, mask=mask))):
        with pytest.raises(rcap.InvalidArgument, match="masked array"):
            pruner.observe(*masked)
    assert pruner.pending_count == len(LABELS)


def test_paths_that_are_no_text_are_named(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    with pytest.raises(rcap.BadFile) as raised:
        rcap.RS2(LABELS).load(path)
    assert path in str(raised.value)


def test_repr_tells_what_it_is_and_where():
    pruner = rcap.RCAP(np.arange(50_000) % 10, beta=0.5, initial_loss="log-c", clip=4, threads=2)
    made = "RCAP(50,000 samples, 10 classes, pruning_rate=0.9, threads=2, beta=0.5, initial_loss='log-c', clip=4.0; "
    assert repr(pruner) == made + "before the first epoch)"
    ids = pruner.select(3).ids
    pruner.observe(ids[120:], np.ones(4880, np.float32))
    assert repr(pruner) == made + "epoch 3, 5,000 selected, 120 not observed yet)"
    pruner.pass_over(ids[:120])
    assert repr(pruner) == made + "epoch 3, 5,000 selected, all observed)"
    assert repr(rcap.TopLoss([0])) == ("TopLoss(1 sample, 1 class, pruning_rate=0.9; before the first epoch, "
                                       "1 initial loss missing)")


@pytest.mark.parametrize("method", rcap.METHODS)
class TestEveryMethod:
    def test_takes_late_losses_and_passes_over(self, method):
        pruner = pruner_of(method)
        earlier = pruner.select(0).ids
        pruner.select(1)
        pending = pruner.pending_count
        for ids, losses in ((earlier[:7], losses_of(earlier[:7], 0)), (list(earlier[7:]), [1.0] * len(earlier[7:]))):
            pruner.observe_late(ids, losses)
        assert pruner.pending_count == pending
        with pytest.raises(rcap.InvalidArgument, match="observe_late: ids must be integers"):
            pruner.observe_late([0.5], [1.0])
        with pytest.raises(rcap.InvalidArgument, match="pass_over: ids must be integers"):
            pruner.pass_over([0.5])
        pruner.pass_over(pruner.pending_ids().astype(np.int32))
        assert pruner.pending_count == 0

    def test_selects_int64_ids(self, method):
        selection = pruner_of(method).select(0)
        assert selection.ids.dtype == np.int64
        assert len(set(selection.ids.tolist())) == len(selection) == len(selection.ids)
        assert selection.weights is None or pruner_of(method).weighs

    def test_goes_on_from_a_saved_state(self, method, tmp_path):
        first, second = pruner_of(method), pruner_of(method)
        ids = first.select(0).ids
        first.observe(ids[:5], losses_of(ids[:5], 0))
        first.save(tmp_path / "state.rcap")
        second.load(tmp_path / "state.rcap")
        assert second.state() == first.state()
        third = pruner_of(method)
        third.set_state(first.state())
        assert third.pending_count == first.pending_count == len(ids) - 5
        for epoch in (0, 1, 2):
            expected = first.select(epoch).ids
            for pruner in (second, third):
                np.testing.assert_array_equal(pruner.select(epoch).ids, expected)
            rest = first.pending_ids()
            for pruner in (first, second, third):
                pruner.observe(rest, losses_of(rest, epoch))

    def test_orders_what_it_selects(self, method):
        pruner = pruner_of(method)
        ordered = pruner.select_in_order(0).ids
        np.testing.assert_array_equal(np.sort(ordered), pruner.select(0).ids)

    @pytest.mark.skipif("RCAP_PROGRAM" not in os.environ, reason="RCAP_PROGRAM names no program to compare with")
    def test_selects_what_the_program_selects(self, method, tmp_path):
        options = ["--epochs", "4"] if method in NEEDS_EPOCHS else []
        np.save(tmp_path / "labels.npy", LABELS)
        np.save(tmp_path / "all.npy", LOSSES)
        common = [os.environ["RCAP_PROGRAM"], "select", "--method", method, "--labels", "labels.npy", "--pruning-rate",
                  "0.7", "--seed", "3", "--state", "s.rcap", "--out", "ids.npy", *options]
        for name in ("scores", "mean_probabilities", "recalls"):
            if name in OPTIONS.get(method, {}):
                np.save(tmp_path / f"{name}.npy", OPTIONS[method][name])
                common += [f"--{name.replace('_', '-')}", f"{name}.npy"]
        pruner, ids = pruner_of(method), None
        if pruner.weighs:
            common += ["--weights", "weights.npy"]
        for epoch in range(4):
            words = list(common)
            if epoch > 0:
                np.save(tmp_path / "losses.npy", losses_of(ids, epoch - 1))
                words += ["--losses", "losses.npy", "--ids", "ids.npy"]
            elif pruner.needs_initial_losses:
                words += ["--losses", "all.npy"]
            subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
            ids = np.load(tmp_path / "ids.npy")
            selection = pruner.select_in_order(epoch)
            np.testing.assert_array_equal(selection.ids, ids)
            if pruner.weighs:
                weights = np.ones(len(ids)) if selection.weights is None else selection.weights
                np.testing.assert_array_equal(weights, np.load(tmp_path / "weights.npy"))
            assert pruner.state() == (tmp_path / "s.rcap").read_bytes()
            pruner.observe(ids, losses_of(ids, epoch))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_labels_may_have_any_integer_type(dtype):
    pruner = rcap.RS2(LABELS.astype(dtype))
    assert pruner.label_fingerprint == rcap.RS2(LABELS).label_fingerprint
    np.testing.assert_array_equal(pruner.class_sizes, [60, 30, 10])


def test_labels_may_be_a_list_or_a_tensor():
    torch = pytest.importorskip("torch")
    for labels in (LABELS.tolist(), torch.from_numpy(LABELS)):
        assert rcap.RS2(labels).sample_count == len(LABELS)


def test_losses_may_be_single_or_double():
    for dtype in (np.float32, np.float64):
        pruner = rcap.RCAP(LABELS, initial_loss="forward")
        pruner.observe(np.arange(len(LABELS), dtype=np.int32), LOSSES.astype(dtype))
        assert pruner.pending_count == 0


def test_ids_outlive_their_pruner():
    pruner = pruner_of("rs2")
    ids = pruner.select(0).ids
    expected = ids.copy()
    pruner.select(1)
    del pruner
    np.testing.assert_array_equal(ids, expected)


def test_labels_are_not_kept_alive():
    labels = LABELS.copy()
    alive = weakref.ref(labels)
    pruner = rcap.RS2(labels)
    del labels
    assert alive() is None and pruner.sample_count == len(LABELS)


def test_weights_come_with_the_selection():
    pruner = pruner_of("infobatch", annealing=1.0)
    ids = pruner.select(0).ids
    pruner.observe(ids, losses_of(ids, 0))
    selection = pruner.select(1)
    assert selection.weights.dtype == np.float32
    assert set(selection.weights.tolist()) == {1.0, 2.0}


def test_told_class_errors_move_the_budget():
    pruner = rcap.RCAP(LABELS, class_share="robust", initial_loss="log-c", pruning_rate=0.9)
    before = np.bincount(LABELS[pruner.select(0).ids])
    errors = np.where(np.arange(len(before)) == 1, 5.0, 0.5)
    pruner.observe_classes(errors)
    after = np.bincount(LABELS[pruner.select(1).ids])
    assert after[1] > before[1]
    other = rcap.RCAP(LABELS, class_share="robust", initial_loss="log-c", pruning_rate=0.9)
    other.set_state(pruner.state())
    pruner.observe_classes(errors.astype(np.float32))  # either precision
    np.testing.assert_array_equal(other.select(2).ids, pruner.select(2).ids)


def test_prior_is_that_of_all_selections_with_their_weights():
    pruner = rcap.InfoBatch(LABELS, epochs=4, annealing=1.0)
    sizes = np.bincount(LABELS)
    np.testing.assert_allclose(pruner.log_prior(), np.log(sizes / sizes.sum()), rtol=0, atol=1e-14)
    sums = np.zeros(len(sizes))
    for epoch in range(4):
        selection = pruner.select(epoch)
        weights = np.ones(len(selection)) if selection.weights is None else selection.weights
        np.add.at(sums, LABELS[selection.ids], weights)
        pruner.observe(selection.ids, losses_of(selection.ids, epoch))
    assert selection.weights is not None
    prior = pruner.log_prior()
    assert prior.dtype == np.float64
    np.testing.assert_allclose(prior, np.log(sums / sums.sum()), rtol=0, atol=1e-13)
    resumed = rcap.InfoBatch(LABELS, epochs=4, annealing=1.0)
    resumed.set_state(pruner.state())
    np.testing.assert_array_equal(resumed.log_prior(), prior)


def address_of(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("count", [0, 1, 256, 40_000])  # the last is long enough to let other threads run
def test_losses_at_an_address_are_those_of_the_array(count):
    labels = np.arange(50_000) % 10
    plain, by_address = (rcap.RCAP(labels, pruning_rate=0.1, initial_loss="log-c") for _ in range(2))
    ids = plain.select_in_order(0).ids[:count].copy()
    by_address.select(0)
    losses = losses_of(ids, 0)
    plain.observe(ids, losses)
    by_address._observe_at(address_of(ids), address_of(losses), count)
    assert by_address.state() == plain.state()
    if count > 0:
        with pytest.raises(rcap.InvalidArgument, match="was observed before"):
            by_address._observe_at(address_of(ids), address_of(losses), 1)
    with pytest.raises(rcap.InvalidArgument, match="count is -1"):
        by_address._observe_at(address_of(ids), address_of(losses), -1)


@pytest.mark.parametrize("count", [0, 1, 256, 40_000])
def test_weights_are_gathered_by_their_ids(count):
    table = np.linspace(0, 3, 50_000, dtype=np.float32)
    ids = np.random.default_rng(5).integers(0, len(table), count)
    out = np.full(count + 1, 7, np.float32)
    rcap._core._gather_weights(address_of(table), address_of(ids), address_of(out), count)
    np.testing.assert_array_equal(out[:count], table[ids] * np.float32(1 / max(count, 1)))
    assert out[count] == 7
    with pytest.raises(rcap.InvalidArgument, match="count is -1"):
        rcap._core._gather_weights(0, 0, 0, -1)


@pytest.mark.parametrize(("first", "ids", "fits"), [
    (0, [5, 3], True), (2, [9, 4], True), (1, [3, 9, 4], True), (0, [], True), (4, [], True),
    (0, [3, 5], False), (1, [5], False), (3, [4, 4], False), (4, [4], False), (5, [], False), (-1, [5], False)])
def test_weights_of_samples_in_their_order_lie_side_by_side(first, ids, fits):
    order, weights = np.array([5, 3, 9, 4]), np.array([1, 2, 3, 4], np.float32)
    ids, out = np.array(ids, np.int64), np.full(5, 7, np.float32)
    told = rcap._core._weigh_in_order(address_of(order), address_of(weights), len(order), first, address_of(ids),
                                      address_of(out), len(ids))
    assert told is fits
    expected = weights[first:first + len(ids)] / np.float32(max(len(ids), 1)) if fits else []
    np.testing.assert_allclose(out, [*expected, *[7] * (5 - len(expected))])


def test_first_losses_and_the_clip_may_be_numbers():
    pruner = rcap.RCAP(LABELS, initial_loss=2, clip=np.float32(1.5), pruning_rate=0)
    assert {"initial_loss=2", "clip=1.5"} <= set(pruner.options)
    assert not pruner.needs_initial_losses
    ids = pruner.select(0).ids
    pruner.observe(ids, np.where(ids < 75, 4.0, 1.0))
    assert pruner.clipped_part == 0
    pruner.select(1)
    assert pruner.clipped_part == 0.75


def test_class_shares_of_the_literature_follow_losses_where_they_say_so():
    assert not rcap.Balanced(LABELS).learns
    assert not rcap.Balanced(LABELS, class_share="power").learns
    pruner = rcap.Balanced(LABELS, pruning_rate=0.7, class_share="domain", eta=1,
                           reference_losses=(0, 0.5, np.float32(1)))
    assert pruner.learns and pruner.weighs and pruner.judges_classes
    ids = pruner.select(0).ids
    np.testing.assert_array_equal(np.bincount(LABELS[ids]), [10, 10, 10])
    pruner.observe(ids, np.array([np.log(2), 0.5, 0.5])[LABELS[ids]])  # twice the share for class 0
    copy = pickle.loads(pickle.dumps(pruner))
    for one in (pruner, copy):
        np.testing.assert_array_equal(np.bincount(LABELS[one.select(1).ids]), [15, 8, 7])
    with pytest.raises(TypeError, match="reference_losses must be collections.abc.Sequence"):
        rcap.Balanced(LABELS, class_share="domain", reference_losses="0,1,2")


@pytest.mark.parametrize("action, text", [
    (lambda p: rcap.RCAP(LABELS, clip="nnoe"), "clip \"nnoe\" is not a number nor one of auto, class-max, log-c, none "
                                               "(did you mean none?)"),
    (lambda p: rcap.RCAP(LABELS, initial_loss=0), "initial_loss is 0; it must be above 0"),
    (lambda p: p.observe_classes([1.0]), "1 errors for"),
    (lambda p: p.observe_classes([-1.0] * p.class_count), "the error of class 0 is -1"),
    (lambda p: p.observe_classes([float("nan")] * p.class_count), "the error of class 0 is nan"),
    (lambda p: rcap.RS2(LABELS).observe_classes([1.0] * p.class_count), "rs2 does not use class errors"),
    (lambda p: rcap.RCAP(LABELS, class_share="paper", allowance=3), "allowance is for the class share robust"),
    (lambda p: rcap.RCAP(LABELS, class_share="progressive"), "class_share progressive: epochs is missing"),
    (lambda p: rcap.Balanced(LABELS, class_share="domain", reference_losses=[1, np.nan, 2]),
     "reference_losses[1] is nan; it must be at least 0"),
    (lambda p: rcap.Balanced(LABELS, class_share="domain", reference_losses=np.ones(2)),
     "2 reference_losses for 3 classes; give one per class"),
    (lambda p: rcap.RCAP(LABELS, class_share="robust", unbias=0.5), "unbias is 0.5; it must be above 1"),
    (lambda p: rcap.RCAP(LABELS, beta="warm"), "beta \"warm\" is not a number nor auto")])
def test_what_the_robust_rule_cannot_take_is_named(action, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        action(rcap.RCAP(LABELS, class_share="robust", initial_loss="log-c"))


@pytest.mark.parametrize("action, kind, text", [
    (lambda p: p.observe([0], [float("nan")]), ValueError, "the loss of sample 0 is nan"),
    (lambda p: p.observe([100], [1.0]), rcap.InvalidArgument, "id 100 does not exist; ids lie between 0 and 99"),
    (lambda p: p.observe([0, 0], [1.0, 1.0]), rcap.InvalidArgument, "id 0 appears twice"),
    (lambda p: p.observe([0], 1.0), rcap.InvalidArgument, "losses must be a one-dimensional array"),
    (lambda p: p.observe([0.5], [1.0]), rcap.InvalidArgument, "ids must be integers, not float64"),
    (lambda p: p.observe([0], [1]), rcap.InvalidArgument, "losses must be float32 or float64, not int64"),
    (lambda p: p.select(0), rcap.InvalidArgument, "initial loss"),
    (lambda p: p.load("nowhere.rcap"), OSError, "nowhere.rcap"),
    (lambda p: p.set_state(b"RCAPSTAT"), rcap.BadFile, "truncated"),
    (lambda p: p.set_state(rcap.RS2(LABELS).state()), rcap.StateMismatch, 'written by method "rs2"'),
    (lambda p: p.set_state(rcap.RCAP(LABELS[:50]).state()), rcap.StateMismatch, "50 samples"),
    (lambda p: rcap.RCAP(LABELS, pruning_rate=1.0), rcap.InvalidArgument, "pruning_rate is 1"),
    (lambda p: rcap.RCAP(LABELS, beta=0.0), rcap.InvalidArgument, "beta is 0"),
    (lambda p: rcap.RCAP(LABELS, class_share="papers"), rcap.InvalidArgument, '"papers" is not one of robust, paper'),
    (lambda p: rcap.RCAP([]), rcap.InvalidArgument, "labels"),
    (lambda p: rcap.RCAP([0, -1]), rcap.InvalidArgument, "the label of sample 1 is -1"),
    (lambda p: rcap.make_pruner("rcpa", LABELS), rcap.InvalidArgument, 'no method "rcpa"'),
])
def test_errors_keep_their_text(action, kind, text):
    pruner = rcap.RCAP(LABELS, initial_loss="forward")
    with pytest.raises(kind, match=None) as caught:
        action(pruner)
    assert text in str(caught.value)
    assert isinstance(caught.value, rcap.Error)
    assert pruner.pending_count == len(LABELS)


def test_every_byte_of_a_state_is_guarded():
    state = bytearray(pruner_of("rs2").state())
    for place in range(len(state)):
        state[place] ^= 1
        with pytest.raises(rcap.Error):
            pruner_of("rs2").set_state(bytes(state))
        state[place] ^= 1


def test_scorers_score():
    rng = np.random.default_rng(2)
    margins = rcap.MarginScorer(LABELS)
    margins.add(np.arange(100), rng.normal(size=(100, 3)).astype(np.float32))
    assert margins.scores().shape == (100,)
    moves = rcap.DivergenceScorer(LABELS, epochs=3, window=3)
    while not moves.done:
        rows = rng.uniform(0.1, 1, (100, 3))
        moves.add(np.arange(100), rows / rows.sum(1, keepdims=True))
        moves.end_epoch()
    assert (moves.scores() >= 0).all()
    recalls = rcap.RecallScorer(3)
    recalls.add([0, 0, 1, 2], [0, 1, 1, 0])
    recalls.end_epoch()
    np.testing.assert_allclose(recalls.recalls(), [0.5, 1.0, 0.0])
    with pytest.raises(rcap.InvalidArgument, match="two dimensions"):
        margins.add([0], [1.0, 2.0, 3.0])


def test_scorers_agree_with_numpy():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(6, 100, 3))
    p = np.exp(logits) / np.exp(logits).sum(2, keepdims=True)
    true = p[:, np.arange(100), LABELS]
    right = p.argmax(2) == LABELS
    norms = rcap.EL2NScorer(LABELS, first_epoch=2, last_epoch=4)
    forgetting = rcap.ForgettingScorer(LABELS)
    uncertainty = rcap.UncertaintyScorer(100, window=3, dual_epochs=5)
    for epoch, ids in enumerate(rng.permutation(100) for _ in range(6)):
        if not norms.done:
            norms.add(ids, p[epoch, ids])
            norms.end_epoch()
        forgetting.add(ids, p[epoch, ids].argmax(1))
        forgetting.end_epoch()
        uncertainty.add(ids, -np.log(true[epoch, ids]))
        uncertainty.end_epoch()
    np.testing.assert_allclose(norms.scores(), np.linalg.norm(p - np.eye(3)[LABELS], axis=2)[2:5].mean(0), rtol=1e-6)
    counts = (right[:-1] & ~right[1:]).sum(0)
    np.testing.assert_array_equal(forgetting.scores(), np.where(right.any(0), counts, counts.max() + 1))
    windows = np.lib.stride_tricks.sliding_window_view(true, 3, axis=0)
    deviations = windows.std(2, ddof=1)
    np.testing.assert_allclose(uncertainty.uncertainties(), deviations.mean(0), rtol=2e-6)
    assert uncertainty.dual_done
    np.testing.assert_allclose(uncertainty.dual_scores(), (deviations * (1 - windows.mean(2)))[:3].mean(0), rtol=2e-6)
    np.testing.assert_allclose(uncertainty.mean_probabilities(), true[:5].mean(0), rtol=1e-6)


def test_dual_chooses_with_and_without_mean_probabilities():
    scores, means = np.linspace(0.1, 1, 100), np.linspace(0.2, 0.9, 100)
    with pytest.raises(rcap.InvalidArgument, match="dual: 0 mean probabilities for 100 samples"):
        rcap.DUAL(LABELS, pruning_rate=0.9, scores=scores)
    top = rcap.DUAL(LABELS, pruning_rate=0.9, scores=scores, choose="top")
    np.testing.assert_array_equal(top.select(0).ids, np.arange(90, 100))
    drawn = rcap.DUAL(LABELS, pruning_rate=0.9, scores=scores, mean_probabilities=means)
    again = pickle.loads(pickle.dumps(drawn))
    np.testing.assert_array_equal(again.select(0).ids, drawn.select(0).ids)
    assert len(drawn.select(0).ids) == 10
    with pytest.raises(rcap.InvalidArgument, match="strata is for choose strata"):
        rcap.EL2N(LABELS, pruning_rate=0.9, scores=scores, strata=10)


def test_scorers_refuse_what_only_fits_by_its_size():
    outputs = np.zeros((2, 3), np.float32)
    with pytest.raises(rcap.InvalidArgument, match="predictions: 4294967297 is not a class"):
        rcap.ForgettingScorer(LABELS).add([0], [2**32 + 1])
    with pytest.raises(rcap.InvalidArgument, match="losses"):
        rcap.UncertaintyScorer(100).add([0, 1], np.zeros((1, 2)))
    for scorer in (rcap.MarginScorer(LABELS), rcap.DivergenceScorer(LABELS, epochs=3, window=3),
                   rcap.EL2NScorer(LABELS)):
        with pytest.raises(rcap.InvalidArgument, match="3 rows for 2 ids; give a row for each, samples x classes"):
            scorer.add([0, 1], outputs.T)
    recalls = rcap.RecallScorer(3)
    with pytest.raises(rcap.InvalidArgument, match="labels: 4294967297 is not a class"):
        recalls.add([2**32 + 1], [1])
    with pytest.raises(rcap.InvalidArgument, match="predictions: -4294967296 is not a class"):
        recalls.add([1], [-2**32])
    with pytest.raises(rcap.InvalidArgument, match="class_count: 4294967298 is not a class"):
        rcap.RecallScorer(2**32 + 2)


@pytest.mark.parametrize(("epochs", "batch_size", "text"), [
    (1, 0, "batch_size is 0"), (1, -1, "batch_size is -1"), (-1, 8, "epochs is -1"),
    (2**31, 8, "epochs is 2147483648")])
def test_batches_are_not_planned_for_what_cannot_be(epochs, batch_size, text):
    with pytest.raises(rcap.InvalidArgument, match=text):
        pruner_of("rs2").planned_batches(epochs, batch_size)
