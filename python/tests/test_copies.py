"""Pruners and selections in pickles, copies and other processes."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import rcap
from test_core import LABELS, LOSSES, losses_of, pruner_of

COPIES = {"pickle": lambda pruner: pickle.loads(pickle.dumps(pruner)), "deepcopy": copy.deepcopy, "copy": copy.copy}


class Described(rcap.RCAP):
    """A method that a user has derived, with arguments of its own."""

    def __init__(self, words):
        super().__init__(LABELS, pruning_rate=0.5, class_count=7, seed=2**64 - 1)
        self.words = words


def test_a_derived_class_says_its_own_name():
    assert repr(Described([])).startswith("Described(100 samples, 7 classes, pruning_rate=0.5, seed=1844674407370955")


@pytest.mark.parametrize("method", rcap.METHODS)
@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES)
def test_copies_go_on_bit_for_bit(method, make_copy):
    pruner = pruner_of(method, threads=2, class_count=3)
    ids = pruner.select(0).ids
    pruner.observe(ids[:5], losses_of(ids[:5], 0))
    made = make_copy(pruner)
    assert type(made) is type(pruner) and repr(made) == repr(pruner)
    assert made.state() == pruner.state() and made.label_fingerprint == pruner.label_fingerprint
    made = make_copy(made)
    for epoch in (0, 1, 2):
        selections = [each.select(epoch) for each in (pruner, made)]
        np.testing.assert_array_equal(*(selection.ids for selection in selections))
        np.testing.assert_array_equal(*(selection.weights for selection in selections))
        for each in (pruner, made):
            rest = each.pending_ids()
            each.observe(rest, losses_of(rest, epoch))
    assert made.state() == pruner.state()
    made.select(3)
    assert pruner.epoch == 2  # they share nothing


def select_first(pruner):
    return pruner.select(0)


def same_selection(one, other):
    return one.epoch == other.epoch and np.array_equal(one.ids, other.ids) and (
        one.weights is other.weights is None or np.array_equal(one.weights, other.weights))


def test_processes_of_joblib_select_as_this_one_does():
    joblib = pytest.importorskip("joblib")
    methods = ["rcap", "infobatch", "ucb"]
    chosen = joblib.Parallel(n_jobs=2)(joblib.delayed(select_first)(pruner_of(method)) for method in methods)
    for method, selection in zip(methods, chosen, strict=True):
        assert same_selection(selection, select_first(pruner_of(method))), method


@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES)
def test_a_selection_can_be_copied_and_says_what_it_is(make_copy):
    pruner = pruner_of("infobatch", annealing=1.0)
    plain = pruner.select(0)
    pruner.observe(plain.ids, LOSSES[plain.ids])
    weighted = pruner.select(1)
    assert weighted.weights is not None
    assert same_selection(make_copy(plain), plain) and same_selection(make_copy(weighted), weighted)
    assert repr(make_copy(plain)) == "Selection(epoch 0, 100 samples)"
    assert repr(weighted) == f"Selection(epoch 1, {len(weighted)} samples, weighted)"


@pytest.mark.parametrize("make_copy", COPIES.values(), ids=COPIES)
def test_copies_of_a_derived_class_keep_what_it_has_added(make_copy):
    pruner = Described(["a"])
    made = make_copy(pruner)
    assert type(made) is Described and made.words == ["a"] and made.class_count == 7
    assert made.seed == 2**64 - 1 and made.options == pruner.options


def test_a_copy_tells_nothing_of_the_budget_again():
    with pytest.warns(RuntimeWarning, match="fewer than there are classes"):
        pruner = rcap.RS2(np.arange(400) % 100, pruning_rate=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make_copy in COPIES.values():
            assert make_copy(pruner).keep_count == 100


@pytest.mark.parametrize(("entry", "value", "kind"), [
    ("labels", None, rcap.InvalidArgument), ("labels", [0, -1], rcap.InvalidArgument),
    ("options", {"beta": 1.0}, rcap.InvalidArgument), ("options", {1: "a"}, rcap.InvalidArgument),
    ("options", {"beta": "-1"}, rcap.InvalidArgument), ("options", {"alpha": "1"}, rcap.InvalidArgument),
    ("class_count", "10", rcap.InvalidArgument), ("attributes", None, rcap.InvalidArgument),
    ("state", b"", rcap.BadFile), ("state", "", rcap.InvalidArgument), ("seed", None, None)])
def test_contents_that_are_no_pruner_are_refused(entry, value, kind):
    contents = {**pruner_of("rcap").__getstate__(), entry: value}
    empty = rcap.RCAP.__new__(rcap.RCAP)
    if kind is None:  # of a later version, say
        return empty.__setstate__(contents)
    with pytest.raises(kind):
        empty.__setstate__(contents)
    assert repr(empty) == "<RCAP, not initialised yet>"
