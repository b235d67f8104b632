"""Arguments that nobody would think of: whatever enters from Python is taken or refused in words."""

import os

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

import rcap

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what is odd, and taken all the same

# RCAP_TEST_EXAMPLES=1000000 for a long night; the same examples every time otherwise.
EXAMPLES = int(os.environ.get("RCAP_TEST_EXAMPLES", "300"))
THOROUGH = settings(max_examples=EXAMPLES, deadline=None, derandomize="RCAP_TEST_EXAMPLES" not in os.environ,
                    suppress_health_check=list(HealthCheck))
REFUSALS = (rcap.Error, TypeError, ValueError, OverflowError)

NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(-3, 3),
                    st.sampled_from([2**31, 2**32, 2**63, 2**64, -2**63]))
WORDS = st.one_of(st.text(max_size=8), st.just("\ud800"),
                  st.sampled_from(["auto", "none", "robust", "paper", "mass", "domain", "bandit", "forward", "log-c"]))
SHAPES = st.one_of(st.just(()), st.tuples(st.integers(0, 40)), st.tuples(st.integers(0, 4), st.integers(0, 4)))
ARRAYS = st.one_of(
    arrays.arrays(st.one_of(arrays.scalar_dtypes(), st.sampled_from(["<i8", "<i4", "|u1", "<f4", "<f8"])), SHAPES),
    arrays.arrays(st.sampled_from([np.int64, np.int32, np.uint8]), st.integers(1, 60),
                  elements=st.integers(0, 5)),
    st.lists(NUMBERS, max_size=6), st.lists(st.integers(0, 4), min_size=1, max_size=60), st.none(), WORDS, NUMBERS,
    st.just(np.arange(12)[::-2]), st.just(np.ma.array([0, 1], mask=[0, 1])), st.just(memoryview(b"abcd")))
OPTIONS = ["pruning_rate", "seed", "threads", "class_count", "beta", "class_share", "initial_loss", "clip", "focus",
           "allowance", "lift", "unbias", "eta", "loss_power", "turns", "reference_losses", "epochs", "batch_size",
           "scores", "mean_probabilities", "recalls", "choose", "epsilon", "\ud800"]


@THOROUGH
@given(method=st.one_of(st.sampled_from(list(rcap.METHODS)), WORDS), labels=ARRAYS,
       options=st.dictionaries(st.sampled_from(OPTIONS), st.one_of(NUMBERS, WORDS, ARRAYS), max_size=4))
def test_any_arguments_make_a_pruner_or_are_refused(method, labels, options):
    if isinstance(options.get("threads"), int) and options["threads"] > 4:
        options["threads"] = 4  # that many could be started
    try:
        pruner = rcap.make_pruner(method, labels, **options)
    except REFUSALS:
        return
    assert pruner.sample_count == len(labels)
    assert 1 <= pruner.keep_count <= pruner.sample_count


class AnyCalls(RuleBasedStateMachine):
    """A pruner in the hands of someone who calls anything, with anything, in any order."""

    states = Bundle("states")

    def __init__(self):
        super().__init__()
        self.pruner = None

    @rule(method=st.sampled_from(["rcap", "ucb", "infobatch", "top-loss", "balanced", "rs2"]), count=st.integers(1, 60),
          classes=st.integers(1, 6), rate=st.floats(0, 0.99))
    def make(self, method, count, classes, rate):
        options = {"epochs": 5} if method == "infobatch" else {}
        self.pruner = rcap.make_pruner(method, np.arange(count) % classes, pruning_rate=rate, **options)

    def attempt(self, call):
        """A call that may be refused, and then has changed nothing."""
        if self.pruner is None:
            return None
        before = self.pruner.state()
        try:
            return call(self.pruner)
        except REFUSALS:
            assert self.pruner.state() == before
            return None

    @rule(epoch=st.one_of(st.integers(-2, 8), NUMBERS))
    def select(self, epoch):
        selection = self.attempt(lambda pruner: pruner.select(epoch))
        if selection is not None:
            assert len(np.unique(selection.ids)) == len(selection.ids) <= self.pruner.sample_count

    @rule(ids=ARRAYS, losses=ARRAYS)
    def observe_anything(self, ids, losses):
        self.attempt(lambda pruner: pruner.observe(ids, losses))

    @rule(loss=st.floats(0, 10))
    def observe_what_is_pending(self, loss):
        def observe(pruner):
            ids = pruner.pending_ids()
            pruner.observe(ids, np.full(len(ids), loss))
        self.attempt(observe)

    @rule(errors=ARRAYS)
    def observe_classes(self, errors):
        self.attempt(lambda pruner: pruner.observe_classes(errors))

    @rule(epochs=NUMBERS, batch_size=NUMBERS)
    def planned_batches(self, epochs, batch_size):
        self.attempt(lambda pruner: pruner.planned_batches(epochs, batch_size))

    @rule(target=states)
    def state(self):
        return b"" if self.pruner is None else self.pruner.state()

    @rule(state=consumes(states), place=st.integers(0, 10**6), change=st.integers(0, 255), cut=st.booleans())
    def set_state(self, state, place, change, cut):
        damaged = bytearray(state)
        if damaged and change:
            damaged[place % len(damaged)] ^= change
        self.attempt(lambda pruner: pruner.set_state(bytes(damaged[:place] if cut else damaged)))

    @invariant()
    def holds_together(self):
        if self.pruner is not None:
            assert 0 <= self.pruner.pending_count <= self.pruner.sample_count
            assert np.isfinite(self.pruner.log_prior()).all()


AnyCalls.TestCase.settings = settings(THOROUGH, max_examples=max(EXAMPLES // 5, 20), stateful_step_count=20)
TestAnyCalls = AnyCalls.TestCase


@THOROUGH
@given(labels=ARRAYS, values=ARRAYS, ids=ARRAYS)
def test_scorers_take_or_refuse_anything(labels, values, ids):
    for make in (lambda: rcap.MarginScorer(labels), lambda: rcap.DivergenceScorer(labels, epochs=3, window=3),
                 lambda: rcap.RecallScorer(3), lambda: rcap.EL2NScorer(labels),
                 lambda: rcap.ForgettingScorer(labels), lambda: rcap.UncertaintyScorer(3)):
        try:
            scorer = make()
            scorer.add(ids, values)
        except REFUSALS:
            continue
