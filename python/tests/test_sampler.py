"""PruningSampler in one process."""

import copy
import io
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.torch import Indexed, PruningSampler, initial_losses, total_steps
from test_core import pruner_of
from training import (
    BATCH, DYNAMIC, EPOCHS, LABELS, Stopped, losses_of, make_loader, make_sampler, train, weighted_epoch)


@pytest.mark.parametrize("method", DYNAMIC)
class TestEveryDynamicMethod:
    def test_yields_the_selection_once(self, method):
        sampler = make_sampler(method)
        other = make_sampler(method)
        for epoch in range(EPOCHS):
            sampler.set_epoch(epoch)
            length = len(sampler)
            ids = list(sampler)
            assert length == len(ids)
            assert ids == other.pruner.select_in_order(epoch).ids.tolist()
            sampler.observe(ids, losses_of(ids, epoch))
            other.pruner.observe(ids, losses_of(ids, epoch).numpy())

    def test_advances_by_itself(self, method):
        assert train(make_sampler(method), set_epoch=False) == train(make_sampler(method))

    def test_gives_the_same_again_until_something_is_observed(self, method):
        sampler = make_sampler(method)
        sampler.set_epoch(0)
        iterator = iter(sampler)
        first = [next(iterator) for _ in range(5)]
        sampler.set_epoch(0)
        assert list(sampler)[:5] == first

    @pytest.mark.parametrize("workers", [0, 2])
    @pytest.mark.parametrize("point", ["start", "middle", "last batch", "end of epoch", "twice in one epoch"])
    def test_resumes_exactly(self, method, point, workers):
        expected = train(make_sampler(method), workers)
        stops = {
            "start": [lambda epoch, done, batches: epoch == 1 and done == 0],
            "middle": [lambda epoch, done, batches: epoch == 1 and done == batches // 2],
            "last batch": [lambda epoch, done, batches: epoch == 1 and done == batches - 1],
            "end of epoch": [lambda epoch, done, batches: epoch == 1 and done == batches],
            "twice in one epoch": [lambda epoch, done, batches: epoch == 1 and done == 2] * 2}[point]
        sampler = make_sampler(method)
        first_epoch = 0
        for stop in stops:
            with pytest.raises(Stopped):
                train(sampler, workers, stop, first_epoch)
            file = io.BytesIO()
            torch.save(sampler.state_dict(), file)
            file.seek(0)
            sampler = PruningSampler(rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method]))
            sampler.load_state_dict(torch.load(file))
            first_epoch = sampler.epoch
        rest = train(sampler, workers, None, first_epoch)
        assert rest.get(2) == expected[2]
        for epoch in rest:
            assert expected[epoch][len(expected[epoch]) - len(rest[epoch]):] == rest[epoch]


def test_a_loader_that_drops_its_last_batch_gets_whole_ones():
    sampler = make_sampler("rs2", batch_size=BATCH)
    kept = sampler.pruner.keep_count
    assert kept % BATCH > 0
    assert len(sampler) == kept // BATCH * BATCH
    assert sum(len(ids) for _, ids in make_loader(sampler, drop_last=True)) == len(sampler)


def test_persistent_workers_see_every_epoch():
    sampler = make_sampler("rcap")
    expected = train(make_sampler("rcap"))
    loader = make_loader(sampler, 2, persistent_workers=True)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        batches = []
        for _, ids in loader:
            sampler.observe(ids, losses_of(ids, epoch))
            batches.append(ids.tolist())
        assert batches == expected[epoch]


def test_the_length_after_a_finished_epoch_was_loaded_is_that_of_the_next():
    before = make_sampler("ucb")
    ids = list(before)
    before.observe(ids, losses_of(ids, 0))
    after = make_sampler("ucb")
    after.load_state_dict(before.state_dict())
    assert len(ids) == len(LABELS)  # the first epoch of ucb is whole
    assert len(after) == len(list(after)) == after.pruner.keep_count


KINDS = [{}, {"hands_out": "whole"}, {"counts_epochs": False}, {"hands_out": "whole", "counts_epochs": False}]


def in_every_state(method, **kind):
    """(state, sampler, whether the next pass begins an epoch) for each state in which a sampler can be asked."""
    def make(saved=None):
        sampler = PruningSampler(pruner_of(method), **kind)
        if saved is not None:
            sampler.load_state_dict(saved)
        return sampler

    yield "fresh", make(), True
    selected = make()
    selected.set_epoch(0)
    yield "selected", selected, True
    begun = make()
    iterator = iter(begun)
    next(iterator)
    yield "under way", begun, True  # nothing is observed: the next pass is the same again
    handed_out = make()
    ids = list(handed_out)
    yield "handed out", handed_out, False
    partly, over = make(), make()
    for sampler, count in ((partly, 5), (over, len(ids))):
        list(sampler)
        sampler.observe(ids[:count], losses_of(ids[:count], 0))
    middle, end = partly.state_dict(), over.state_dict()
    counts = kind.get("counts_epochs", True)
    yield "partly observed", partly, False
    yield "loaded in the middle", make(middle), counts
    yield "over", over, counts
    yield "loaded at the end", make(end), counts


@pytest.mark.parametrize("method", rcap.METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:no loss was observed")
def test_asking_for_the_length_changes_nothing(method, kind):
    for (state, asked, of_next_pass), (_, silent, _) in zip(
            in_every_state(method, **kind), in_every_state(method, **kind), strict=True):
        before = asked.pruner.epoch, asked.pruner.state(), asked.epoch
        length = None
        try:
            length = len(asked)
            assert len(DataLoader(Indexed(LABELS), sampler=asked, batch_size=1)) == length, state
        except TypeError as error:
            coming = 0 if state == "fresh" else 1
            assert f"is not known yet; call set_epoch({coming}) first" in str(error)
            assert method in ("infobatch", "kakurenbo", "dropout", "ies")
            assert state in ("fresh", "over", "loaded at the end")
        assert (asked.pruner.epoch, asked.pruner.state(), asked.epoch) == before, state
        ids = list(asked)
        assert ids == list(silent) and asked.epoch == silent.epoch, state
        assert length is None or not of_next_pass or length == len(ids), state


def test_the_end_of_a_pass_that_another_has_replaced_moves_nothing_on():
    sampler = make_sampler("rs2")
    replaced, latest = iter(sampler), iter(sampler)
    ids = list(replaced)
    assert list(sampler) == ids == list(latest) and sampler.epoch == 0


def test_a_bar_does_without_the_length_that_is_not_known():
    tqdm = pytest.importorskip("tqdm")
    loader = make_loader(make_sampler("infobatch"))
    assert len(list(tqdm.tqdm(loader, file=io.StringIO()))) == -(-len(LABELS) // BATCH)


def test_hands_out_the_whole_where_it_is_told_to():
    sampler = make_sampler("rs2", hands_out="whole")
    ids = list(sampler)
    sampler.observe(ids[:BATCH], losses_of(ids[:BATCH], 0))
    resumed = make_sampler("rs2", hands_out="whole")
    resumed.load_state_dict(sampler.state_dict())
    assert len(resumed) == len(ids) and resumed.batches_done(BATCH) == 1
    assert list(resumed) == ids
    assert list(resumed) != ids and resumed.epoch == 1


def test_leaves_counting_to_a_framework_where_it_is_told_to():
    sampler = make_sampler("rs2", counts_epochs=False)
    ids = list(sampler)
    assert list(sampler) == ids
    sampler.observe(ids[:BATCH], losses_of(ids[:BATCH], 0))
    assert list(sampler) == ids[BATCH:] and len(sampler) == len(ids)
    sampler.observe(ids[BATCH:], losses_of(ids[BATCH:], 0))
    assert list(sampler) == [] and len(sampler) == len(ids) and sampler.epoch_done
    sampler.set_epoch(1)
    assert len(list(sampler)) == len(sampler) == len(ids)


def test_initial_losses_take_named_batches():
    class Batch(NamedTuple):
        inputs: torch.Tensor
        targets: torch.Tensor

    data = [Batch(torch.ones(2), torch.tensor(label)) for label in LABELS]
    sampler = PruningSampler(rcap.RCAP(LABELS, initial_loss="forward"))
    initial_losses(torch.nn.Linear(2, 3), DataLoader(Indexed(data), batch_size=64), sampler)
    assert sampler.pruner.pending_count == 0


def test_returns_the_mean_loss_with_its_gradient():
    sampler = make_sampler("rs2")
    ids = torch.tensor(list(sampler)[:4])
    losses = torch.tensor([1.0, 2.0, 3.0, 6.0], requires_grad=True)
    mean = sampler.observe(ids, losses)
    mean.backward()
    assert mean.item() == 3 and losses.grad.tolist() == [0.25] * 4


@pytest.mark.parametrize("form", [torch.Tensor.clone, torch.Tensor.numpy, torch.Tensor.tolist])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("order", ["as handed out", "last batch first", "mixed"])
def test_weighs_where_the_method_does(form, dtype, order):
    sampler, all_ids, all_losses, all_weights = weighted_epoch()
    batches = list(zip(*(part.split(BATCH) for part in (all_ids, all_losses, all_weights)), strict=True))
    if order == "last batch first":
        batches = [batches[-1], *batches[:-1]]
    if order == "mixed":
        places = torch.randperm(len(all_ids), generator=torch.Generator().manual_seed(1)).split(BATCH)
        batches = [(all_ids[part], all_losses[part], all_weights[part]) for part in places]
    for ids, losses, weights in batches:
        losses = losses.to(dtype).requires_grad_()
        mean = sampler.observe(form(ids), losses)
        mean.backward()
        torch.testing.assert_close(mean, (losses * weights).mean().to(dtype))
        torch.testing.assert_close(losses.grad, weights.to(dtype) / len(ids))
    assert sampler.epoch_done


@pytest.mark.parametrize("method", ["rs2", "infobatch"])
def test_a_batch_without_samples_changes_nothing(method):
    sampler = make_sampler(method)
    ids = torch.tensor(list(sampler))
    sampler.observe(ids[:BATCH], losses_of(ids[:BATCH], 0))
    before = sampler.pruner.state()
    assert sampler.observe(ids[:0], torch.empty(0)).isnan()  # the mean of nothing
    assert sampler.pruner.state() == before


def test_a_copy_weighs_as_the_original_does():
    sampler, ids, losses, weights = weighted_epoch()
    sampler.observe(ids[:BATCH], losses[:BATCH])
    copied = copy.deepcopy(sampler)
    places = slice(BATCH, 2 * BATCH)
    for each in (sampler, copied):
        each.observe(ids[places], losses[places])
        rest = slice(2 * BATCH, 3 * BATCH)
        torch.testing.assert_close(each.observe(ids[rest], losses[rest]), (losses * weights)[rest].mean())


@pytest.mark.parametrize("method", ["rs2", "infobatch"])
def test_losses_of_evaluation_do_not_spoil_those_of_training(method):
    """The first batches of a size may come without gradients, as those of the pass before training do."""
    sampler = make_sampler(method)
    sampler.set_epoch(0)
    batches = torch.tensor(list(sampler)).split(11)
    with torch.inference_mode():
        for ids in batches[:3]:
            sampler.observe(ids, losses_of(ids, 0))
    losses = losses_of(batches[3], 0).requires_grad_()
    sampler.observe(batches[3], losses).backward()
    torch.testing.assert_close(losses.grad, torch.full((11,), 1 / 11))


def test_means_keep_their_precision_under_autocast():
    sampler, ids, losses, weights = weighted_epoch()
    with torch.autocast("cpu", torch.bfloat16):
        means = [sampler.observe(*batch) for batch in zip(ids.split(BATCH), losses.split(BATCH), strict=True)]
    expected = [batch.mean() for batch in (losses * weights).split(BATCH)]
    torch.testing.assert_close(means, expected)


def test_weights_do_not_depend_on_the_default_type():
    torch.set_default_dtype(torch.float64)
    try:
        sampler, ids, losses, weights = weighted_epoch()
        losses, means = losses.float(), []
        for part in range(2):  # the second one is read in place
            places = slice(part * BATCH, (part + 1) * BATCH)
            means.append(sampler.observe(ids[places], losses[places]))
            torch.testing.assert_close(means[-1], (losses * weights)[places].mean())
    finally:
        torch.set_default_dtype(torch.float32)


def test_prior_is_that_of_the_epoch_even_if_the_next_is_selected_ahead():
    sampler, alone = make_sampler("rcap"), make_sampler("rcap").pruner
    sizes = torch.from_numpy(np.bincount(LABELS) / len(LABELS))
    torch.testing.assert_close(sampler.log_prior(), sizes.log().float())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        ids = torch.tensor(list(sampler))
        alone.select(epoch)
        alone.observe(ids, losses_of(ids, epoch))
        prior = torch.from_numpy(alone.log_prior()).float()
        assert torch.equal(sampler.log_prior(), prior)
        sampler.observe(ids, losses_of(ids, epoch))
        sampler.select_ahead()
        assert torch.equal(sampler.log_prior(), prior)
    resumed = make_sampler("rcap")
    resumed.load_state_dict(sampler.state_dict())
    assert resumed.epoch == 2
    alone.select(2)
    assert torch.equal(resumed.log_prior(), torch.from_numpy(alone.log_prior()).float())


def test_tells_class_errors_to_the_pruner():
    sampler = PruningSampler(rcap.RCAP([0] * 50 + [1] * 50, class_share="robust", initial_loss="log-c"))
    sampler.observe_classes(torch.tensor([0.1, 0.9], requires_grad=True))
    counts = np.bincount(np.array(list(sampler)) // 50)
    assert counts.tolist() == [3, 7]  # as the roots of 0.1 and 0.9: 2.5 to 7.5
    with pytest.raises(rcap.InvalidArgument, match="3 errors for 2 classes"):
        sampler.observe_classes([0.1, 0.2, 0.3])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_losses_may_have_any_float_type(dtype):
    sampler = make_sampler("rs2")
    ids = torch.tensor(list(sampler))
    assert sampler.observe(ids, losses_of(ids, 0).to(dtype)).dtype == dtype
    assert sampler.pruner.pending_count == 0


def test_initial_losses_leave_the_network_as_it_was():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5),
                                torch.nn.Linear(8, 3))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    data = TensorDataset(torch.randn(len(LABELS), 2), torch.from_numpy(LABELS))
    sampler = PruningSampler(rcap.RCAP(LABELS, initial_loss="forward"))
    model.eval()
    initial_losses(model, DataLoader(Indexed(data), batch_size=64), sampler)
    assert not model.training and not model[2].training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert sampler.pruner.pending_count == 0


@pytest.mark.parametrize(("outputs", "targets"), [
    (torch.zeros(20, 1), torch.rand(20, 1)), (torch.zeros(20, 3), torch.rand(20, 3)), (torch.zeros(20), torch.rand(20)),
    (torch.zeros(20, 3, 5), torch.zeros(20, 5, dtype=torch.int64))])
def test_initial_losses_do_not_guess_the_loss(outputs, targets):
    class Constant(torch.nn.Linear):
        def forward(self, x):
            return outputs[:len(x)]

    labels = np.arange(20) % 4
    loader = DataLoader(Indexed(TensorDataset(torch.zeros(20, 2), targets)), batch_size=20)
    sampler = PruningSampler(rcap.RCAP(labels, initial_loss="forward"))
    with pytest.raises(rcap.InvalidArgument, match="give losses=, a function"):
        initial_losses(Constant(2, 2), loader, sampler)
    assert sampler.pruner.pending_count == 20


def test_makes_its_own_loader():
    data = TensorDataset(torch.arange(100.0))
    sampler = PruningSampler(rcap.RS2(np.arange(100) % 4, pruning_rate=0.8), batch_size=8)
    ids = [id for (_, ids) in sampler.loader(data, batch_size=8, drop_last=True) for id in ids.tolist()]
    assert len(set(ids)) == len(ids) == 16
    for options, text in (({"shuffle": True}, "shuffle says"), ({"sampler": [1]}, "sampler says"),
                          ({"batch_size": 9, "drop_last": True}, "make the sampler with batch_size=9")):
        with pytest.raises(rcap.InvalidArgument, match=text):
            sampler.loader(data, **options)
    for wrong in (TensorDataset(torch.arange(99.0)), TensorDataset(torch.arange(101.0))):
        with pytest.raises(rcap.InvalidArgument, match="the pruner was made with the labels of 100"):
            sampler.loader(wrong)


def test_initial_losses_that_failed_can_be_repeated():
    features, labels = torch.randn(20, 3), torch.arange(20) % 4
    loader = DataLoader(Indexed(TensorDataset(features, labels)), batch_size=6)
    model, calls = torch.nn.Linear(3, 4), []

    def fail_once(model, batch):
        calls.append(len(batch[0]))
        if len(calls) == 3:
            raise MemoryError("not this time")
        return torch.nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")

    sampler, whole = (PruningSampler(rcap.RCAP(labels.numpy(), initial_loss="forward")) for _ in range(2))
    with pytest.raises(MemoryError):
        initial_losses(model, loader, sampler, losses=fail_once)
    assert 0 < sampler.pruner.pending_count < 20
    initial_losses(model, loader, sampler, losses=fail_once)
    initial_losses(model, loader, whole)
    assert sampler.pruner.state() == whole.pruner.state()


def test_the_length_is_known_before_the_initial_losses():
    sampler = PruningSampler(rcap.RCAP(LABELS, initial_loss="forward"))
    assert len(sampler) == sampler.pruner.keep_count == 20
    assert len(make_loader(sampler)) == 3


def test_total_steps_are_those_made():
    for method in ("rcap", "ucb", "balanced"):
        sampler = make_sampler(method)
        steps = total_steps(sampler, EPOCHS, BATCH)
        assert steps == sum(len(batches) for batches in train(sampler).values())
    with pytest.raises(rcap.InvalidArgument, match="cannot tell in advance"):
        total_steps(make_sampler("infobatch"), EPOCHS, BATCH)


@pytest.mark.parametrize(("epochs", "batch_size", "text"), [(10, 0, "batch_size is 0"), (-1, 8, "epochs is -1")])
def test_total_steps_of_what_cannot_be(epochs, batch_size, text):
    with pytest.raises(rcap.InvalidArgument, match=text):
        total_steps(make_sampler("rs2"), epochs, batch_size)


class TestMistakes:
    def test_a_loss_that_was_reduced(self):
        sampler = make_sampler("rs2")
        ids = list(sampler)[:2]
        with pytest.raises(rcap.InvalidArgument, match='reduction="none"'):
            sampler.observe(ids, torch.tensor(1.0))
        with pytest.raises(rcap.InvalidArgument, match="3 losses for 2 ids"):
            sampler.observe(ids, torch.ones(3))

    def test_a_loss_that_is_nan_names_the_sample(self):
        sampler = make_sampler("ucb")
        ids = list(sampler)[:2]
        with pytest.raises(rcap.InvalidArgument, match=f"the loss of sample {ids[1]} is nan"):
            sampler.observe(ids, torch.tensor([1.0, float("nan")]))

    def test_observing_before_anything_is_selected(self):
        with pytest.raises(rcap.InvalidArgument, match="nothing is selected yet"):
            PruningSampler(rcap.RS2(LABELS)).observe([0], torch.ones(1))

    def test_iterating_without_initial_losses(self):
        with pytest.raises(rcap.InvalidArgument, match="initial"):
            list(PruningSampler(rcap.RCAP(LABELS, initial_loss="forward")))

    def test_a_data_set_of_another_length(self):
        model = torch.nn.Linear(2, 3)
        data = TensorDataset(torch.randn(10, 2), torch.zeros(10, dtype=torch.long))
        with pytest.raises(rcap.InvalidArgument, match="has 10 samples, but there are 205 labels"):
            initial_losses(model, DataLoader(Indexed(data)), PruningSampler(rcap.RCAP(LABELS, initial_loss="forward")))

    def test_a_state_of_another_data_set(self):
        state = make_sampler("rs2").state_dict()
        other = PruningSampler(rcap.RS2(LABELS[:100]))
        with pytest.raises(rcap.StateMismatch, match="this data set has 100"):
            other.load_state_dict(state)
        with pytest.raises(rcap.StateMismatch, match="not a state of PruningSampler"):
            other.load_state_dict({"epoch": 3})

    @pytest.mark.parametrize("workers", [0, 1])
    def test_a_data_set_that_is_shorter_than_the_labels(self, workers):
        data = Indexed(TensorDataset(torch.arange(50)))
        with pytest.raises(rcap.InvalidArgument, match="and the data set has 50; give the pruner the labels of this"):
            list(DataLoader(data, sampler=make_sampler("rs2"), batch_size=BATCH, num_workers=workers))

    def test_an_epoch_in_which_nothing_is_observed(self):
        for method in ("rcap", "rs2"):
            sampler = make_sampler(method)
            list(sampler)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                sampler.set_epoch(1)
            texts = [str(warning.message) for warning in caught]
            assert texts == (["no loss was observed in epoch 0, so rcap learns nothing: call sampler.observe(ids, "
                              "losses) for every batch"] if method == "rcap" else [])

    def test_an_unknown_way_to_hand_out(self):
        with pytest.raises(rcap.InvalidArgument, match='hands_out is "all"; it must be "rest" or "whole"'):
            make_sampler("rs2", hands_out="all")

    def test_batches_that_are_larger_than_the_epoch(self):
        sampler = PruningSampler(rcap.RS2(np.arange(100) % 4, pruning_rate=0.9), batch_size=11)
        with pytest.raises(rcap.InvalidArgument, match="epoch 0 has 10 samples, fewer than one batch of 11 on each"):
            iter(sampler)

    def test_an_epoch_that_is_past(self):
        sampler = make_sampler("rs2")
        sampler.set_epoch(2)
        with pytest.raises(rcap.InvalidArgument, match="epoch 1 lies before 2"):
            sampler.set_epoch(1)
