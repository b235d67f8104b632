"""rcap.Filter: a selection as an answer to "is this sample in it?", in memory and in files."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rcap
from test_core import LABELS, losses_of, pruner_of

ALL = np.arange(len(LABELS))


@pytest.mark.parametrize("method", rcap.METHODS)
def test_keeps_what_select_selects(method, tmp_path):
    pruner = pruner_of(method)
    for epoch in (0, 1, 2):
        filter = pruner.filter(epoch)
        selection = pruner.select(epoch)
        for each in (filter, pruner.filter(), pickle.loads(pickle.dumps(filter))):
            assert (each.epoch, each.sample_count, len(each)) == (epoch, len(LABELS), len(selection))
            np.testing.assert_array_equal(each.ids, selection.ids)
            mask = each.keep(ALL[::-1])
            assert mask.dtype == bool
            np.testing.assert_array_equal(ALL[::-1][mask][::-1], selection.ids)
            expected = np.zeros(len(LABELS), np.float32)
            expected[selection.ids] = 1 if selection.weights is None else selection.weights
            np.testing.assert_array_equal(each.weights(ALL), expected)
            assert each.weighs == (selection.weights is not None)
            assert [id in each for id in ALL.tolist()] == (expected > 0).tolist()
        pruner.observe(selection.ids, losses_of(selection.ids, epoch))


def test_asks_for_an_epoch_that_can_be_selected():
    pruner = rcap.RS2(LABELS, pruning_rate=0.5)
    with pytest.raises(rcap.InvalidArgument, match="filter: nothing has been selected yet; give the epoch"):
        pruner.filter()
    pruner.filter(3)
    with pytest.raises(rcap.InvalidArgument, match="epoch 2"):
        pruner.filter(2)


def test_an_unknown_sample_is_an_error():
    filter = rcap.RS2(LABELS, pruning_rate=0.5).filter(0)
    for unknown in (-1, len(LABELS), 2**62):
        for ask in (lambda id: id in filter, lambda id: filter.keep([0, id]), lambda id: filter.weights([id])):
            with pytest.raises(rcap.InvalidArgument, match=f"sample {unknown} is not in the filter, which knows 100 s"):
                ask(unknown)
    with pytest.raises(rcap.InvalidArgument, match="keep: ids"):
        filter.keep([0.5])


def test_is_made_of_any_ids():
    filter = rcap.Filter(4, 10, [7, 2], [0.5, 2.0])
    assert filter.weights([2, 7, 3]).tolist() == [2.0, 0.5, 0.0]
    assert repr(filter) == "Filter(epoch 4, keeps 2 of 10 samples, weighted)"
    with pytest.raises(rcap.InvalidArgument, match="sample 7 comes twice"):
        rcap.Filter(4, 10, [7, 7])


def test_is_loaded_as_it_was_saved(tmp_path):
    path = tmp_path / "epoch.filter"
    rcap.Filter(4, 10, [7, 2], [0.5, 2.0]).save(path)
    filter = rcap.Filter.load(path)
    assert filter.path == path and filter.weights([2, 7, 3]).tolist() == [2.0, 0.5, 0.0]
    bits = np.unpackbits(np.frombuffer(path.read_bytes(), np.uint8)[64:], bitorder="little")[:10]
    assert np.flatnonzero(bits).tolist() == [2, 7]  # as docs/select.md tells others to read it
    rcap.Filter(5, 10, [1]).save(path)
    assert filter.ids.tolist() == [2, 7]  # who has it keeps it
    with pytest.raises(rcap.StateMismatch, match=r'epoch.filter": it is for epoch 5, epoch 4 is wanted'):
        rcap.Filter.load(path, epoch=4)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(rcap.BadFile, match=r"epoch.filter.*has 79 bytes, its head says 80"):
        rcap.Filter.load(path)


def test_a_pickle_of_a_file_is_its_path(tmp_path):
    path = tmp_path / "epoch.filter"
    rcap.RS2(np.arange(1_000_000) % 10, pruning_rate=0.9).filter(0).save(path)
    filter = rcap.Filter.load(path)
    pickled = pickle.dumps(filter)
    assert len(pickled) < 1000
    for each in (pickle.loads(pickled), copy.deepcopy(filter)):
        assert each.path == path
        np.testing.assert_array_equal(each.ids, filter.ids)
    in_memory = pickle.loads(pickle.dumps(rcap.RS2(np.arange(640) % 10, pruning_rate=0.9).filter(0)))
    assert in_memory.path is None and len(in_memory) == 64
    rcap.Filter(3, 1_000_000, [1]).save(path)
    with pytest.raises(rcap.StateMismatch, match="the file now holds another filter, of epoch 3"):
        pickle.loads(pickled)


def test_another_process_finds_it_by_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rcap.Filter(3, 10, [1, 5]).save("epoch.filter")
    (tmp_path / "pickled").write_bytes(pickle.dumps(rcap.Filter.load("epoch.filter")))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).ids.tolist())"
    found = subprocess.run([sys.executable, "-c", program, tmp_path / "pickled"], cwd=os.sep, capture_output=True,
                           text=True, check=True)
    assert found.stdout == "[1, 5]\n"
