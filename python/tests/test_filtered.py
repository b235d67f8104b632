"""rcap.torch.Filtered: streams of which an epoch keeps what the sampler would have handed out."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import rcap
from rcap.torch import EvenBatches, Filtered, FilterStage, PruningSampler, with_ids
from streams import Shards, make_loader, mosaicml_streaming, train, write_mds, write_tars
from test_core import LABELS as FEW_LABELS
from test_core import losses_of as few_losses_of
from test_core import pruner_of
from training import BATCH, DYNAMIC, EPOCHS, LABELS, losses_of, make_sampler, weighted_epoch

ALL = np.arange(len(LABELS))


@pytest.fixture(scope="module")
def alone():
    """What each method selects and remembers in a loop of its own: the ids of each epoch, and the state."""
    runs = {}
    for method in DYNAMIC:
        pruner = make_sampler(method).pruner
        epochs = []
        for epoch in range(EPOCHS):
            epochs.append(pruner.select(epoch).ids)
            pruner.observe(epochs[-1], losses_of(epochs[-1], epoch).numpy())
        runs[method] = [ids.tolist() for ids in epochs], pruner.state()
    return runs


def check_run(seen, sampler, expected):
    epochs, state = expected
    assert [sorted(seen[epoch]) for epoch in range(EPOCHS)] == epochs
    assert sampler.pruner.state() == state


# ---- the samples of an epoch


@pytest.mark.parametrize("method", rcap.METHODS)
def test_yields_what_every_method_selects(method):
    sampler, twin = PruningSampler(pruner_of(method)), pruner_of(method)
    loader = make_loader(Shards(len(FEW_LABELS)), sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        ids = np.concatenate([ids for _, ids in loader])
        expected = twin.select(epoch).ids
        np.testing.assert_array_equal(ids, expected)  # the stream is in the order of the ids
        sampler.observe(ids, torch.tensor(few_losses_of(ids, epoch)))
        twin.observe(expected, few_losses_of(expected, epoch))
        assert sampler.epoch_done


@pytest.mark.parametrize("workers, persistent", [(0, False), (1, False), (3, False), (3, True)])
@pytest.mark.parametrize("method", DYNAMIC)
def test_trains_as_the_sampler_does(method, workers, persistent, alone):
    sampler = make_sampler(method)
    loader = make_loader(Shards(), sampler, workers, {"persistent_workers": persistent})
    check_run(train(sampler, loader), sampler, alone[method])


def test_workers_that_were_spawned_get_the_filter_of_each_epoch(alone):
    sampler = make_sampler("rcap")
    loader = make_loader(Shards(), sampler, 1, {"multiprocessing_context": "spawn", "persistent_workers": True})
    check_run(train(sampler, loader), sampler, alone["rcap"])


def test_weighs_the_losses():
    first, ids, losses, weights = weighted_epoch()
    second = make_sampler("infobatch")
    make_loader(Shards(), second)
    for epoch in (0, 1):
        second.set_epoch(epoch)
        order = np.sort(second._epoch.part)
        if epoch == 0:
            second.observe(order, losses_of(order, 0))
    expected = (losses * weights)[torch.argsort(ids)]
    assert order.tolist() == sorted(ids.tolist())
    for batch in torch.arange(len(order)).split(BATCH):
        mean = second.observe(order[batch.numpy()], losses_of(order[batch.numpy()], 1))
        assert float(mean) == pytest.approx(float(expected[batch].mean()), rel=1e-6)
    assert first.epoch == second.epoch


def test_a_pass_under_way_keeps_its_filter():
    sampler = make_sampler("rs2")
    filtered = Filtered(Shards(), sampler)
    sampler.set_epoch(0)
    expected = sampler.pruner.select(0).ids.tolist()
    samples = iter(filtered)
    found = [next(samples)[1]]
    sampler.pruner.observe(expected, losses_of(expected, 0).numpy())
    sampler.set_epoch(1)
    assert found + [id for _, id in samples] == expected
    assert [id for _, id in filtered] == sampler.pruner.select(1).ids.tolist() != expected


def test_decodes_what_is_kept_alone():
    decoded = []

    def decode(sample):
        decoded.append(int(sample))
        return -sample

    sampler = make_sampler("rs2")
    pairs = Filtered(Shards(), sampler, decode=decode)
    sampler.set_epoch(0)
    expected = sampler.pruner.select(0).ids.tolist()
    assert [(int(sample), id) for sample, id in pairs] == [(-id, id) for id in expected]
    assert decoded == expected
    fields = Filtered(({"id": id} for id in range(len(LABELS))), sampler, ids="id", decode=lambda sample: sample["id"])
    assert list(fields) == [(id, id) for id in expected]


def test_takes_a_filter_without_a_sampler(tmp_path):
    filter = make_sampler("infobatch").pruner.filter(0)
    filter.save(tmp_path / "epoch.filter")
    for each in (filter, rcap.Filter.load(tmp_path / "epoch.filter")):
        assert [id for _, id in Filtered(Shards(), each)] == filter.ids.tolist()
    with pytest.raises(rcap.InvalidArgument, match="FilterStage: RS2 cannot say what an epoch keeps; give a PruningSa"):
        Filtered(Shards(), rcap.RS2(LABELS))


def test_refreshes_what_an_epoch_leaves_out():
    options = {"epochs": 10, "hidden": 0.5, "confidence": 0.5, "seed": 5}
    alone, sampler = rcap.Kakurenbo(LABELS, **options), PruningSampler(rcap.Kakurenbo(LABELS, **options))
    loader, refreshed = make_loader(Shards(), sampler), 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for _, ids in loader:
            sampler.observe(ids, losses_of(ids, epoch))
        left_out = rcap.Filter(epoch, len(LABELS), sampler.refresh_ids)
        for _, ids in make_loader(Shards(), left_out):
            sampler.observe_refreshed(ids, losses_of(ids, epoch))
            refreshed += len(ids)
        selection = alone.select(epoch)
        alone.observe(selection.ids, losses_of(selection.ids, epoch).numpy())
        alone.observe_refreshed(selection.refresh_ids, losses_of(selection.refresh_ids, epoch).numpy())
        assert sampler.pruner.state() == alone.state()
    assert refreshed > 0


def test_what_workers_are_sent_is_small():
    sampler = PruningSampler(rcap.RS2(np.arange(1_000_000) % 10, pruning_rate=0.9))
    filtered = Filtered(Shards(), sampler)
    sampler.set_epoch(0)
    assert len(pickle.dumps(filtered)) < 1000
    assert len(pickle.loads(pickle.dumps(filtered))._stage.filter) == 100_000


def test_a_copy_of_the_sampler_leaves_the_stream_to_the_original():
    sampler = make_sampler("rcap")
    filtered = Filtered(Shards(), sampler)
    sampler.set_epoch(0)
    expected = [id for _, id in filtered]
    for other in (copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))):
        ids = list(other)
        assert sorted(ids) == expected
        other.observe(ids, losses_of(ids, 0))
        other.set_epoch(1)
    assert [id for _, id in filtered] == expected


# ---- resuming


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop", [(1, 1), (1, 4), (1, 99)])
@pytest.mark.parametrize("method", ["rcap", "infobatch"])
def test_goes_on_from_the_state_of_the_sampler(method, stop, workers, alone):
    first = make_sampler(method)
    seen = train(first, make_loader(Shards(), first, workers), stop)
    if 1 in seen and 2 in seen:  # the epoch had fewer batches: the run came to its end
        check_run(seen, first, alone[method])
        return
    state = io.BytesIO()
    torch.save(first.state_dict(), state)
    state.seek(0)
    second = PruningSampler(rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method]))
    loader = make_loader(Shards(), second, 3 - workers)  # any number of workers goes on
    second.load_state_dict(torch.load(state))
    rest = train(second, loader, first_epoch=second.epoch)
    check_run({epoch: seen.get(epoch, []) + rest.get(epoch, []) for epoch in range(EPOCHS)}, second, alone[method])


def test_a_pass_that_was_left_goes_on_with_the_rest(alone):
    sampler = make_sampler("rcap")
    loader = make_loader(Shards(), sampler)
    first = train(sampler, loader, stop=(0, 3))
    rest = train(sampler, loader)
    assert sorted(first[0] + rest[0]) == alone["rcap"][0][0]
    assert sampler.pruner.state() == alone["rcap"][1]


READ = []


def numbers(shards):
    for first in shards:
        for id in range(first, min(first + 10, len(LABELS))):
            READ.append(id)
            yield {"id": id}


def number_of(sample):
    return torch.tensor([sample["id"]])


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("keeps_state", [False, True])
def test_goes_on_in_a_stateful_loader(keeps_state, workers, alone):
    pytest.importorskip("torchdata")
    from torchdata.stateful_dataloader import StatefulDataLoader

    def make():
        sampler = make_sampler("rcap")
        filtered = Filtered(Shards(), sampler)
        if keeps_state:
            stream = pytest.importorskip("datasets").IterableDataset.from_generator(
                numbers, gen_kwargs={"shards": list(range(0, len(LABELS), 10))})
            filtered = Filtered(stream, sampler, ids="id", decode=number_of)
        return sampler, StatefulDataLoader(filtered, batch_size=BATCH, num_workers=workers, collate_fn=with_ids())

    first, loader = make()
    seen = train(first, loader, stop=(1, 5))
    state = {"sampler": first.state_dict(), "loader": loader.state_dict()}
    second, loader = make()
    second.load_state_dict(state["sampler"])
    loader.load_state_dict(state["loader"])
    READ.clear()
    rest = train(second, loader, first_epoch=1)
    check_run({epoch: seen.get(epoch, []) + rest.get(epoch, []) for epoch in range(EPOCHS)}, second, alone["rcap"])
    if keeps_state and not workers:  # only the shard that was under way is read again
        assert list(range(seen[1][-1] // 10 * 10, len(LABELS))) + ALL.tolist() == READ


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("workers", [0, 2])
def test_goes_on_without_a_sampler_that_knows_what_was_observed(workers):
    pytest.importorskip("torchdata")
    from torchdata.stateful_dataloader import StatefulDataLoader

    filter = make_sampler("rcap").pruner.filter(0)
    loader = StatefulDataLoader(Filtered(Shards(), filter), batch_size=BATCH, num_workers=workers,
                                collate_fn=with_ids())
    whole = [ids.tolist() for _, ids in loader]
    batches = iter(loader)
    first = [next(batches)[1].tolist() for _ in range(4)]
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert first + [ids.tolist() for _, ids in loader] == whole
    assert [ids.tolist() for _, ids in loader] == whole  # the next pass begins anew


def test_the_place_in_another_epoch_is_not_taken_for_one_in_this():
    pruner = make_sampler("rs2").pruner
    filtered = [Filtered(Shards(), pruner.filter(epoch)) for epoch in (0, 1)]
    samples = iter(filtered[0])
    ids = [next(samples)[1] for _ in range(20)]
    state = samples.state_dict()
    assert state == {"epoch": 0, "read": ids[-1] + 1, "stream": None}
    for resumed, before in zip(filtered, (ids, []), strict=True):
        rest = iter(resumed)
        rest.load_state_dict(state)
        assert rest.state_dict() == state
        assert before + [id for _, id in rest] == resumed._stage.filter.ids.tolist()


# ---- mistakes


def test_no_epoch_was_set():
    filtered = Filtered(Shards(), make_sampler("rs2"))
    with pytest.raises(rcap.InvalidArgument, match="no epoch has been selected yet; call sampler.set_epoch"):
        next(iter(filtered))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_sample_that_the_pruner_does_not_know(workers):
    sampler = make_sampler("rs2")
    loader = make_loader(Shards(len(LABELS) + 1), sampler, workers)
    sampler.set_epoch(0)
    with pytest.raises((rcap.InvalidArgument, RuntimeError), match="sample 205 is not in the filter, which knows 205"):
        list(loader)


@pytest.mark.parametrize("ids, sample, complaint", [
    (lambda sample: sample["key"], {"key": "000017"}, "the id of a sample is '000017', of type str; ids= must give an"),
    (lambda sample: 0.5, None, "the id of a sample is 0.5, of type float"),
    ("id", {"key": 3}, "a sample without 'id', which ids= names: it has key"),
    (-1, 3, "a sample without -1, which ids= names: it is int")])
def test_an_id_that_is_none(ids, sample, complaint):
    sampler = make_sampler("rs2")
    filtered = Filtered([sample], sampler, ids)
    sampler.set_epoch(0)
    with pytest.raises(rcap.InvalidArgument, match=complaint):
        list(filtered)


def test_workers_that_read_the_same_shards():
    class Whole(Shards):
        def __iter__(self):
            return iter([(torch.tensor([id]), id) for id in range(self.sample_count)])

    sampler = make_sampler("rcap")
    with pytest.raises(rcap.InvalidArgument, match="was observed before in this epoch; each counts once"):
        train(sampler, make_loader(Whole(), sampler, 2))


def test_a_loss_of_what_is_not_kept():
    sampler = make_sampler("rcap")
    make_loader(Shards(), sampler)
    sampler.set_epoch(0)
    out = np.setdiff1d(ALL, sampler.pruner.select(0).ids)[:1]
    with pytest.raises(rcap.InvalidArgument, match=f"sample {out[0]} is not in the selection of epoch 0"):
        sampler.observe(out, torch.ones(1))


def test_repeats_count_once_where_that_is_asked_for(alone):
    class Twice(Shards):
        def __iter__(self):
            for pair in super().__iter__():
                yield pair
                yield pair

    sampler = make_sampler("rcap")
    seen = train(sampler, make_loader(Twice(), sampler, repeats="first"))
    check_run({epoch: seen[epoch][::2] for epoch in seen}, sampler, alone["rcap"])
    with pytest.raises(rcap.InvalidArgument, match="is not in the selection"):
        out = np.setdiff1d(ALL, sampler.pruner.select(2).ids)[:1]
        sampler.observe(out, torch.ones(1))
    with pytest.raises(rcap.InvalidArgument, match='repeats is "last"; it must be "raise" or "first"'):
        Filtered(Shards(), sampler, repeats="last")


def test_one_sampler_serves_a_stream_or_hands_out():
    sampler = make_sampler("rs2")
    Filtered(Shards(), sampler)
    with pytest.raises(rcap.InvalidArgument, match="this sampler filters a stream"):
        list(sampler)
    with pytest.raises(rcap.InvalidArgument, match="batch_size leaves out what fills no batch"):
        Filtered(Shards(), PruningSampler(rcap.RS2(LABELS), batch_size=8))


def test_what_was_never_observed_is_told():
    sampler = make_sampler("rcap")
    loader = make_loader(Shards(150), sampler)  # shards are missing
    sampler.set_epoch(0)
    for _, ids in loader:
        sampler.observe(ids, losses_of(ids, 0))
    expected = sampler.pruner.select(0).ids
    missing = expected[expected >= 150]
    assert not sampler.epoch_done
    with pytest.warns(RuntimeWarning, match=f"epoch 0: {len(missing)} of {len(expected)} samples that it keeps were "
                                            f"never observed, the first is {missing[0]}: do loader and stream read"):
        sampler.set_epoch(1)
    with pytest.warns(RuntimeWarning, match=r"epoch 1: (\d+) of \1 samples .*: call sampler.observe\(ids, losses\)"):
        sampler.set_epoch(2)


@pytest.mark.filterwarnings("error")
def test_a_method_that_does_not_learn_needs_no_losses():
    sampler = make_sampler("rs2")
    loader = make_loader(Shards(), sampler)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        assert sum(len(ids) for _, ids in loader) == len(sampler) == sampler.pruner.keep_count


def test_even_batches_of_one_rank_are_those_of_its_loader(alone):
    sampler = make_sampler("rcap")
    check_run(train(sampler, EvenBatches(make_loader(Shards(), sampler), sampler)), sampler, alone["rcap"])
    with pytest.raises(rcap.InvalidArgument, match='short is "pad"; it must be "repeat" or "stop"'):
        EvenBatches([], sampler, "pad")


# ---- the readers of shards


@pytest.mark.parametrize("workers", [0, 2])
def test_webdataset(tmp_path, workers, alone):
    wds = pytest.importorskip("webdataset")
    paths = write_tars(tmp_path, {"npy": ALL[:, None]})
    for staged in (True, False):
        sampler = make_sampler("rcap")
        stream = wds.WebDataset(paths, shardshuffle=False)
        if staged:  # what is left out is not decoded
            DECODED.clear()
            stream = stream.compose(FilterStage(sampler, id_of_key)).decode(count_decoded)
            stream = stream.to_tuple("npy", "__key__").map_tuple(torch.as_tensor, int)
            loader = wds.WebLoader(stream, batch_size=BATCH, num_workers=workers, collate_fn=with_ids())
        else:
            filtered = Filtered(stream.decode(), sampler, ids=id_of_key, decode=lambda sample: sample["npy"])
            loader = DataLoader(filtered, batch_size=BATCH, num_workers=workers, collate_fn=with_ids())
        seen = train(sampler, loader)
        check_run(seen, sampler, alone["rcap"])
        assert not staged or workers or len(DECODED) == sum(map(len, seen.values()))


def id_of_key(sample):
    return int(sample["__key__"])


def count_decoded(key, data):
    """A decoder of WebDataset that leaves the work to others."""
    DECODED.append(key)


DECODED = []


@pytest.mark.parametrize("workers", [0, 2])
def test_mosaicml_streaming(tmp_path, workers, alone):
    pytest.importorskip("snappy")
    streaming = mosaicml_streaming()
    write_mds(tmp_path)
    opened = []

    class Ids(streaming.StreamingDataset):
        """Yields ids; what is kept is read by them."""

        def __getitem__(self, id):
            return id

        def read(self, id):
            opened.append(id)
            return torch.from_numpy(super().__getitem__(id)["value"].copy())

    sampler = make_sampler("rcap")
    stream = Ids(local=str(tmp_path), shuffle=True, shuffle_seed=3, batch_size=BATCH)
    loader = DataLoader(Filtered(stream, sampler, ids=int, decode=stream.read), batch_size=BATCH, num_workers=workers,
                        collate_fn=with_ids())
    seen = train(sampler, loader)
    check_run(seen, sampler, alone["rcap"])
    assert workers or opened == [id for epoch in seen for id in seen[epoch]]
