"""Data sets: ids beside items, labels from wherever they are."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset

import rcap
from rcap.torch import Indexed, labels_of, with_ids

TARGETS = [3, 1, 4, 1, 5]


class Pairs(Dataset):
    def __len__(self):
        return len(TARGETS)

    def __getitem__(self, index):
        return torch.zeros(2), torch.tensor(TARGETS[index])


class WithTargets(Pairs):
    targets = TARGETS

    def __getitem__(self, index):
        raise AssertionError("nothing needs to be read")


class Records(Pairs):
    def __getitem__(self, index):
        return {"text": "a", "label": TARGETS[index], "domain": index % 2}


@pytest.mark.parametrize("dataset", [
    Pairs(), WithTargets(), Records(), TensorDataset(torch.zeros(5, 2), torch.tensor(TARGETS)), Indexed(Pairs())])
def test_finds_labels(dataset):
    labels = labels_of(dataset)
    assert labels.dtype == np.int64 and labels.tolist() == TARGETS
    assert labels_of(Subset(dataset, [4, 0])).tolist() == [5, 3]
    assert labels_of(ConcatDataset([dataset, Subset(dataset, [1])])).tolist() == [*TARGETS, 1]


def test_finds_what_it_is_told_to():
    assert labels_of(Records(), "domain").tolist() == [0, 1, 0, 1, 0]
    assert labels_of(TensorDataset(torch.tensor(TARGETS), torch.zeros(5)), 0).tolist() == TARGETS


def test_finds_the_column_of_a_table():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"text": list("abcde"), "label": TARGETS, "domain": [0, 0, 1, 1, 1]})
    assert labels_of(table).tolist() == TARGETS
    assert labels_of(table, "domain").tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("dataset", "text"), [
    (["a", "b"], "a sample is str, and no label was found"),
    (TensorDataset(torch.zeros(3, 2), torch.rand(3)), "labels of type float32"),
    (TensorDataset(torch.zeros(3, 2)), r"shape \(3, 2\) for 3 samples")])
def test_says_where_there_are_none(dataset, text):
    with pytest.raises(rcap.InvalidArgument, match=text):
        labels_of(dataset)


def test_ids_are_arrays_beside_the_batch():
    loader = DataLoader(Indexed(Pairs()), batch_size=2, collate_fn=with_ids())
    (x, y), ids = next(iter(loader))
    assert type(ids) is np.ndarray and ids.tolist() == [0, 1] and y.tolist() == [3, 1] and x.shape == (2, 2)


def test_any_collate_function_will_do():
    collate = with_ids(len)
    for function in (collate, copy.deepcopy(collate), pickle.loads(pickle.dumps(collate))):
        batch, ids = function([("a", 5), ("b", 7)])
        assert batch == 2 and ids.tolist() == [5, 7]
