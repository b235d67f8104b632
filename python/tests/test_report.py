"""What PruningSampler.report tells of a run."""

import copy
import io
import json
import pickle

import numpy as np
import pytest
import torch

import rcap
from rcap.torch import PruningSampler
from stand_in_device import Device
from training import BATCH, DYNAMIC, EPOCHS, LABELS, Stopped, losses_of, make_sampler, train

SMALL = [0] * 6 + [1] * 4  # RS2 at 0.5 goes through all ten in two epochs


def make_small(**options):
    return PruningSampler(rcap.RS2(SMALL, pruning_rate=0.5, seed=2), **options)


def train_epoch(sampler, epoch, loss=1.0):
    """An epoch in which every sample has this loss; its ids."""
    sampler.set_epoch(epoch)
    ids = np.array(list(sampler))
    sampler.observe(ids, torch.full((len(ids),), loss))
    return ids


def fresh(method, **options):
    return PruningSampler(rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method]), **options)


def numbers_of(sampler):
    """All of a report, losses rounded: sums of the same numbers in another order."""
    found = sampler.report().as_dict()
    found["class_losses"] = [None if loss is None else round(loss, 9) for loss in found["class_losses"]]
    found["loss"] = round(found["loss"], 9)
    return found


def test_counts_the_selected_samples_of_each_class():
    sampler = make_small()
    ids = train_epoch(sampler, 0)
    report = sampler.report()
    zeros = int((ids < 6).sum())
    assert report.method == "rs2"
    assert (report.epoch, report.sample_count, report.selected, report.observed) == (0, 10, 5, 5)
    assert report.class_sizes.tolist() == [6, 4]
    assert report.class_counts.tolist() == [zeros, 5 - zeros]
    assert report.class_fractions.tolist() == [zeros / 5, (5 - zeros) / 5]
    assert report.class_kept.tolist() == [zeros / 6, (5 - zeros) / 4]


def test_an_epoch_that_is_under_way_is_observed_in_part():
    sampler = make_small()
    ids = list(sampler)
    sampler.observe(ids[:2], torch.ones(2))
    assert (sampler.report().selected, sampler.report().observed) == (5, 2)


def test_coverage_and_repeats_count_all_epochs():
    sampler = make_small(watch=True)
    first = train_epoch(sampler, 0)
    zeros = int((first < 6).sum())
    report = sampler.report()
    assert (report.seen, report.coverage, report.repeats, report.watched_since) == (5, 0.5, 1.0, 0)
    assert report.class_coverage.tolist() == [zeros / 6, (5 - zeros) / 4]

    train_epoch(sampler, 1)  # the other five
    report = sampler.report()
    assert (report.seen, report.coverage, report.repeats) == (10, 1.0, 1.0)
    assert report.class_coverage.tolist() == [1, 1]

    third = train_epoch(sampler, 2)
    zeros = int((third < 6).sum())
    report = sampler.report()
    assert (report.seen, report.repeats) == (10, 1.5)
    assert report.class_repeats.tolist() == [1 + zeros / 6, 1 + (5 - zeros) / 4]


def test_what_a_loader_drops_is_not_seen():
    sampler = make_small(watch=True, batch_size=4)
    report = (list(sampler), sampler.report())[1]
    assert (report.selected, report.seen) == (4, 4)


def test_losses_are_means_of_each_class_in_the_epoch_so_far():
    sampler = make_small(watch=True)
    ids = train_epoch(sampler, 0, loss=2.0)
    sampler.set_epoch(1)
    report = sampler.report()  # of the epoch before, until one of this epoch is known
    assert (report.loss_epoch, report.loss_count, report.loss) == (0, 5, 2.0)
    assert report.class_losses.tolist() == [2, 2]

    ids = np.array(list(sampler))
    zeros = ids[ids < 6][:2]
    sampler.observe(zeros, torch.tensor([0.5, 1.0]))
    report = sampler.report()
    assert (report.loss_epoch, report.loss_count, report.loss) == (1, 2, 0.75)
    assert report.class_losses[0] == 0.75
    assert np.isnan(report.class_losses[1])


def test_losses_before_training_are_told_as_such():
    sampler = PruningSampler(rcap.RCAP(SMALL, pruning_rate=0.5, initial_loss="forward"), watch=True)
    sampler.observe(np.arange(10), torch.tensor([1.0] * 6 + [3.0] * 4))
    report = sampler.report()
    assert (report.loss_epoch, report.loss_count, report.selected) == (-1, 10, 0)
    assert report.class_losses.tolist() == [1, 3]
    assert "rcap: epoch 0 is not selected yet" in str(report)
    assert "10 samples observed in the pass before training" in str(report)


def test_late_losses_belong_to_the_epoch_before():
    sampler = make_small(watch=True)
    ids = np.array(list(sampler))
    sampler.observe(ids[:3], torch.full((3,), 2.0))
    following = iter(sampler)  # a loader that fetches ahead
    next(following)
    sampler.observe(ids[3:], torch.full((2,), 7.0))
    report = sampler.report()
    assert (report.epoch, report.loss_epoch, report.loss_count, report.loss) == (1, 0, 5, 4.0)


@pytest.mark.parametrize("options", [{}, {"bad_losses": "keep"}])
def test_losses_that_are_not_finite_are_left_out(options):
    sampler = make_small(watch=True, **options)  # RS2 does not learn, so it takes them
    ids = np.array(list(sampler))
    sampler.observe(ids, torch.tensor([1.0, float("nan"), 2.0, float("inf"), 3.0]))
    report = sampler.report()
    assert (report.loss_count, report.loss, report.observed) == (3, 2.0, 5)


def test_without_watch_there_is_nothing_more_to_do_and_less_to_tell():
    sampler = make_small()
    train_epoch(sampler, 0)
    sampler.set_epoch(1)
    for first in iter(np.array_split(np.array(list(sampler)), 2)):
        sampler.observe(first, torch.ones(len(first)))
    assert sampler._observer._is_plain  # batches go to the pruner where they are
    assert set(sampler.state_dict()) == {"pruner"}
    report = sampler.report()
    assert report.seen is report.coverage is report.loss is report.class_losses is report.class_coverage is None
    assert "watch=True" in str(report)


@pytest.mark.parametrize("method", ["rcap", "rs2", "infobatch"])
@pytest.mark.parametrize("point", [(1, 0), (1, 2), (1, None)])
def test_a_resumed_run_reports_as_if_never_stopped(method, point):
    whole = make_sampler(method, watch=True)
    train(whole)
    stopped = make_sampler(method, watch=True)
    with pytest.raises(Stopped):
        train(stopped, stop=lambda epoch, done, batches: (epoch, done) == (point[0], batches if point[1] is None
                                                                            else point[1]))
    file = io.BytesIO()
    torch.save(stopped.state_dict(), file)
    file.seek(0)
    resumed = fresh(method, watch=True)
    resumed.load_state_dict(torch.load(file))
    assert numbers_of(resumed) == numbers_of(stopped)
    train(resumed, first_epoch=resumed.epoch)
    assert numbers_of(resumed) == numbers_of(whole)
    assert whole.report().watched_since == 0


def test_a_state_is_not_changed_by_what_comes_later():
    sampler = make_small(watch=True)
    train_epoch(sampler, 0)
    state = sampler.state_dict()
    kept = {name: value.clone() for name, value in state.items()}
    train_epoch(sampler, 1)
    assert all(torch.equal(state[name], kept[name]) for name in kept)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda sampler: pickle.loads(pickle.dumps(sampler))])
def test_a_copy_goes_on_counting_by_itself(copied):
    sampler = make_small(watch=True)
    train_epoch(sampler, 0)
    other = copied(sampler)
    train_epoch(other, 1, loss=3.0)
    assert (other.report().seen, other.report().loss) == (10, 3.0)
    assert (sampler.report().seen, sampler.report().loss) == (5, 1.0)


def test_coverage_begins_where_a_state_without_it_was_loaded():
    before = make_small()
    train_epoch(before, 0)
    train_epoch(before, 1)
    after = make_small(watch=True)
    after.load_state_dict(before.state_dict())
    report = after.report()
    assert (report.watched_since, report.seen, report.loss) == (1, 5, None)
    assert "since epoch 1: 5 distinct samples seen" in str(report)


def test_a_sampler_that_does_not_watch_takes_the_state_of_one_that_does():
    before = make_small(watch=True)
    train_epoch(before, 0)
    after = make_small()
    after.load_state_dict(before.state_dict())
    assert after.epoch == 0
    assert after.report().seen is None


def test_a_state_of_other_data_is_refused_and_changes_nothing():
    sampler = make_small(watch=True)
    ids = train_epoch(sampler, 0)
    state = sampler.state_dict()
    state["watch.times"] = state["watch.times"][:7]
    with pytest.raises(rcap.StateMismatch, match="written for 7 samples in 2 classes, this sampler has 10 in 2"):
        sampler.load_state_dict(state)
    assert sampler.report().seen == len(ids)


def test_selecting_ahead_leaves_the_report_of_this_epoch():
    sampler = make_small(watch=True)
    train_epoch(sampler, 0)
    before = numbers_of(sampler)
    sampler.select_ahead()
    assert numbers_of(sampler) == before
    sampler.set_epoch(1)
    assert (sampler.report().epoch, sampler.report().seen) == (1, 10)


def test_losses_on_a_device_are_not_waited_for(monkeypatch):
    with Device(0, 0.0).installed(monkeypatch) as device:  # nothing arrives before it is waited for
        sampler = make_small(watch=True)
        ids = torch.tensor(list(sampler))
        sampler.observe(ids, device.put(torch.full((5,), 2.0)))
        assert (sampler.report().observed, device.waits) == (0, 0)
        sampler.synchronize()
        assert (sampler.report().observed, sampler.report().loss) == (5, 2.0)


def test_every_method_reports():
    for method in DYNAMIC:
        sampler = make_sampler(method, watch=True)
        train(sampler)
        report = sampler.report()
        assert report.epoch == EPOCHS - 1
        assert report.class_counts.sum() == report.selected == report.observed == report.loss_count
        assert 0 < report.coverage <= 1 <= report.repeats


# ---- how it is shown

def test_the_table():
    sampler = make_small(watch=True, class_names=["cat", "dog"])
    sampler.set_epoch(0)
    ids = np.array(list(sampler))
    assert sorted((ids >= 6).tolist()) == [False] * 3 + [True] * 2  # 3 cats, 2 dogs
    sampler.observe(ids, torch.from_numpy(np.where(ids < 6, 0.5, 1.25)))
    report = sampler.report()
    assert str(report).splitlines() == [
        "rs2, epoch 0: 5 of 10 samples selected (50.0 %), 5 observed",
        "since epoch 0: 5 distinct samples seen (50.0 %), each 1.00 times on average",
        "class  samples  selected    kept   share   loss  coverage  repeats",
        "cat          6         3  50.0 %  60.0 %  0.500    50.0 %     1.00",
        "dog          4         2  50.0 %  40.0 %  1.250    50.0 %     1.00",
        "losses: means over 5 samples observed in epoch 0"]
    assert report.one_line() == "5 of 10 samples, seen 50.0 %, loss 0.8, worst class 1.25 (dog)"
    assert repr(report) == f"<Report of rs2, epoch 0: {report.one_line()}>"


def test_of_many_classes_the_largest_and_the_smallest_are_shown():
    sizes = np.arange(1, 21)  # class 19 has 20 samples; 20 has none
    pruner = rcap.RS2(np.repeat(np.arange(20), sizes), pruning_rate=0.5, class_count=21)
    rows = [line.split() for line in str(PruningSampler(pruner).report()).splitlines()]
    assert [row[0] for row in rows[2:-1]] == ["19", "18", "17", "16", "15", "...", "4", "3", "2", "1", "0"]
    assert rows[7] == ["...", "10", "more"]


def test_the_numbers_of_a_logger():
    sampler = make_small(watch=True, class_names=["cat", "dog"])
    train_epoch(sampler, 0, loss=2.0)
    scalars = sampler.report().scalars()
    assert scalars["rcap/selected"] == 5
    assert scalars["rcap/coverage"] == 0.5
    assert [scalars[f"rcap/class_fraction/{which}"] for which in ("lowest", "median", "highest")] == [0.4, 0.5, 0.6]
    assert scalars["rcap/class_loss/highest"] == 2
    assert not any("cat" in name for name in scalars)
    every = sampler.report().scalars("all", prefix="pruning")
    assert every["pruning_class_fraction/cat"] == 0.6
    assert every["pruning_class_loss/dog"] == 2
    with pytest.raises(rcap.InvalidArgument, match='classes is "each"; it must be "summary" or "all"'):
        sampler.report().scalars("each")


def test_a_thousand_classes_are_a_few_numbers():
    sampler = PruningSampler(rcap.RS2(np.arange(5000) % 1000, pruning_rate=0.5), watch=True)
    train_epoch(sampler, 0)
    assert len(sampler.report().scalars()) < 30
    assert len(sampler.report().scalars("all")) > 1000


def test_everything_goes_into_json():
    sampler = PruningSampler(rcap.RS2(SMALL, pruning_rate=0.5, class_count=3), watch=True)
    train_epoch(sampler, 0)
    found = json.loads(json.dumps(sampler.report().as_dict(), allow_nan=False))
    assert found["class_sizes"] == [6, 4, 0]
    assert found["class_coverage"][2] is None
    assert found["class_losses"] == [1, 1, None]


def test_there_is_a_name_for_each_class():
    with pytest.raises(rcap.InvalidArgument, match="3 class_names for 2 classes; give one for each"):
        make_small(class_names=["a", "b", "c"])


def test_labels_are_those_that_the_pruner_was_made_with():
    pruner = rcap.RS2(LABELS)
    assert pruner.labels.tolist() == LABELS.tolist()
    with pytest.raises(ValueError, match="read-only"):
        pruner.labels[0] = 1
    labels = rcap.RS2([0, 70000], pruning_rate=0.0).labels  # the pruner lives as long as the array
    assert labels.tolist() == [0, 70000]


def test_a_batch_of_any_size_is_summed():
    sampler = make_sampler("rcap", watch=True)
    sampler.set_epoch(0)
    ids = np.array(list(sampler))
    for first in range(0, len(ids), BATCH):
        batch = ids[first:first + BATCH]
        sampler.observe(batch, losses_of(batch, 0))
    expected = losses_of(ids, 0).double().numpy()
    for number, loss in enumerate(sampler.report().class_losses):
        assert loss == pytest.approx(expected[LABELS[ids] == number].mean(), rel=1e-6)
