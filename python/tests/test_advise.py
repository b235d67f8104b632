"""`rcap.advise`: the crossing, types, texts, and the same advice as the program's."""

import doctest
import json
import os
import subprocess

import numpy as np
import pytest

import rcap

SIZES = [10000, 5000, 3000, 1000, 500, 200, 100]
LABELS = np.repeat(np.arange(len(SIZES)), SIZES)
RULES = ["rs2", "balanced", "rcap", "rcap paper", "rcap mass", "rcap group"]


def test_tells_sizes_counts_work_and_a_suggestion():
    advice = rcap.advise(LABELS, epochs=20, test_samples=1000, evaluate_every=10)
    assert (advice.sample_count, advice.filled_class_count, advice.imbalance) == (19800, 7, 100.0)
    assert (advice.largest_class, advice.smallest_class, advice.losses) == (0, 6, None)
    assert advice.class_sizes.dtype == np.int64 and advice.class_sizes.tolist() == SIZES
    assert [rate.pruning_rate for rate in advice.rates] == [0.5, 0.7, 0.9]
    assert [rate.keep_count for rate in advice.rates] == [9900, 5940, 1980]
    assert advice.full_work.total == pytest.approx(3 * 19800 * 20 + 2 * 1000)
    last = advice.rates[-1]
    assert list(last.rules) == RULES and last.remark == ""
    outcome = last.rules["rcap paper"]
    assert outcome.rule == "rcap paper" and outcome.class_counts.tolist() == [1000, 500, 300, 100, 50, 20, 10]
    assert (outcome.work.first_pass, outcome.work.evaluation) == (19800, 2000)
    assert outcome.speed_up == pytest.approx(advice.full_work.total / outcome.work.total)
    suggestion = advice.suggestion
    assert (suggestion.verdict, suggestion.rule, suggestion.pruning_rate) == ("likely", "rcap", 0.9)
    assert (suggestion.speed_up, suggestion.beta) == (last.rules["rcap"].speed_up, 1.0)
    assert suggestion.points_lost == pytest.approx(0.1)
    assert {reason.basis for reason in suggestion.reasons} == {"computed", "study"}
    assert str(suggestion.reasons[0]).startswith("The largest class is 100 times the smallest")


def test_counts_are_those_of_the_pruners():
    losses = np.random.default_rng(0).exponential(1, len(LABELS))
    advice = rcap.advise(LABELS, losses, pruning_rates=0.8, seed=3)
    pruner = rcap.RCAP(LABELS, pruning_rate=0.8, seed=3)
    pruner.observe(np.arange(len(LABELS)), losses)
    random = rcap.RS2(LABELS, pruning_rate=0.8, seed=3)  # unlike RCAP's, its counts follow the seed
    for rule, chosen in (("rcap", pruner.select(0).ids), ("rs2", random.select(0).ids)):
        assert advice.rates[0].rules[rule].class_counts.tolist() == np.bincount(LABELS[chosen]).tolist()
    assert advice.losses is not None and advice.losses.mean == pytest.approx(losses.mean())


def test_parts_outlive_the_whole():
    rate = rcap.advise(LABELS).rates[-1]
    others = [rcap.advise(LABELS[::step]) for step in (2, 3, 5)]  # would take memory that was given back
    assert (rate.keep_count, rate.rules["balanced"].class_counts.sum()) == (1980, 1980)
    reason = rcap.advise(LABELS).suggestion.reasons[0]
    others += [rcap.advise(LABELS[::step]) for step in (2, 3, 5)]
    assert reason.source == "labels" and "100 times" in reason.text
    assert [other.sample_count for other in others] == 2 * [9900, 6600, 3960]


def test_any_array_of_labels_will_do():
    told = str(rcap.advise(LABELS))
    for labels in (LABELS.tolist(), LABELS.astype(np.uint8), LABELS.astype(np.int32)):
        assert str(rcap.advise(labels, threads=2)) == told


def test_the_example_of_the_docstring_holds():
    # doctest finds no functions of a compiled module by itself.
    example = doctest.DocTestParser().get_doctest(rcap.advise.__doc__, {"advise": rcap.advise}, "advise", None, 0)
    assert doctest.DocTestRunner().run(example) == (0, 4)


def test_text_is_that_of_the_program(tmp_path):
    program = os.environ.get("RCAP_PROGRAM", "")
    if not os.path.exists(program):
        pytest.skip("the program is not built")
    np.save(tmp_path / "labels.npy", LABELS)
    words = [program, "advise", "--labels", tmp_path / "labels.npy", "--epochs", "7"]
    advice = rcap.advise(LABELS, epochs=7)
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == str(advice)
    told = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
    assert [reason["text"] for reason in told["suggestion"]["reasons"]] == [
        reason.text for reason in advice.suggestion.reasons]


@pytest.mark.parametrize(("arguments", "options", "message"), [
    (([],), {}, "labels are empty"),
    (([0, -1],), {}, "the label of sample 1 is -1"),
    (([0.5, 1.0],), {}, "labels must be integers, not float64"),
    (([0, 1], [1.0]), {}, "1 losses for 2 samples"),
    (([0, 1], np.array([], dtype=np.float32)), {}, "losses are empty"),
    (([0, 1], [1.0, float("nan")]), {}, "the loss of sample 1 is nan"),
    (([0, 1],), {"pruning_rates": [0.5, 1.0]}, "pruning_rate is 1; it must be at least 0 and below 1"),
    (([0, 1],), {"pruning_rates": []}, "there is no pruning rate"),
    (([0, 1],), {"epochs": 0}, "epochs is 0"),
    (([0, 5],), {"class_count": 2}, "the label of sample 1 is 5")])
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(rcap.InvalidArgument, match=message):
        rcap.advise(*arguments, **options)


def test_a_wrong_type_is_a_type_error():
    for options in ({"epochs": 1.5}, {"pruning_rates": "many"}, {"rates": [0.5]}):
        with pytest.raises(TypeError):
            rcap.advise([0, 1], **options)
