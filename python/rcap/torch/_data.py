"""Data sets that return ids with their samples, and their labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset, default_collate

from .. import InvalidArgument

if TYPE_CHECKING:
    from ._sampler import PruningSampler


class Indexed(Dataset[tuple[Any, int]]):
    """A map-style data set that returns each item with its id: `(item, id)`.

    >>> Indexed(["a", "b"])[1]
    ('b', 1)

    Args:
        dataset: The data set to wrap.
        sampler: The sampler that will ask for its samples.

    Raises:
        InvalidArgument: If the sampler's pruner was made for another number of samples.
    """

    def __init__(self, dataset: Any, sampler: "PruningSampler | None" = None) -> None:
        if sampler is not None and len(dataset) != sampler.pruner.sample_count:
            raise InvalidArgument(f"Indexed: the data set has {len(dataset)} samples, the pruner was made with the "
                                  f"labels of {sampler.pruner.sample_count}; give it the labels of this data set")
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self._check([index])
        return self.dataset[index], index

    def __getitems__(self, indices: Sequence[int] | NDArray[np.int64]) -> list[tuple[Any, int]]:
        """A whole batch, as DataLoader asks for it; through the data set's own method if it has one."""
        numbers: Sequence[int] = indices.tolist() if isinstance(indices, np.ndarray) else indices
        self._check(numbers)
        fetch = getattr(self.dataset, "__getitems__", None)
        items = fetch(numbers) if fetch else [self.dataset[index] for index in numbers]
        return list(zip(items, numbers, strict=True))

    def _check(self, indices: Sequence[int]) -> None:
        if max(indices, default=0) >= len(self.dataset):
            raise InvalidArgument(f"Indexed: sample {max(indices)} was asked for, and the data set has "
                                  f"{len(self.dataset)}; give the pruner the labels of this data set")


class with_ids:
    """A collate function that turns items of `Indexed` into `(batch, ids)`, with the ids in a NumPy array.

    Frameworks move all tensors of a batch to the device. Ids are not needed there and would have to be copied back; an
    array stays on the host.

    >>> with_ids()([(1.0, 4), (2.0, 7)])
    (tensor([1., 2.], dtype=torch.float64), array([4, 7]))

    Args:
        collate_fn: Makes a batch from the items without their ids; by default PyTorch's own function.
    """

    def __init__(self, collate_fn: Callable[[list[Any]], Any] | None = None) -> None:
        self.collate_fn = collate_fn or default_collate

    def __call__(self, items: Sequence[tuple[Any, int]]) -> tuple[Any, NDArray[np.int64]]:
        batch = self.collate_fn([item for item, _ in items])
        return batch, np.array([id for _, id in items], np.int64)


_LABEL_NAMES = ("targets", "labels", "label", "target", "y")


def labels_of(dataset: Any, key: str | int | None = None) -> NDArray[np.int64]:
    """The class of every sample, as a pruner needs it.

    Looks first for an attribute or a column that holds them (`targets` in torchvision, `label` in datasets), also
    inside `Subset` and `ConcatDataset`. Only if there is none does it read every sample once.

    >>> labels_of(Subset(TensorDataset(torch.zeros(3, 2), torch.tensor([2, 0, 1])), [2, 0]))
    array([1, 2])

    Args:
        dataset: A data set with a length, indexed by position.
        key: What to look for: the name of an attribute, a column or a field, or the position in a tuple. By default
            targets, labels, label, target or y, and the last item of a tuple.

    Returns:
        An int64 array. `rcap.classes` numbers labels that have gaps.

    Raises:
        InvalidArgument: If no label is found, or labels are not integers.
    """
    if isinstance(dataset, Subset):
        return labels_of(dataset.dataset, key)[np.asarray(dataset.indices, np.int64)]
    if isinstance(dataset, ConcatDataset):
        return np.concatenate([labels_of(part, key) for part in dataset.datasets])
    if isinstance(dataset, Indexed):
        return labels_of(dataset.dataset, key)
    found = _labels_at_once(dataset, key)
    if found is None:
        found = [_label_of(dataset[index], key) for index in range(len(dataset))]
    labels = np.asarray(found)
    if labels.ndim != 1 or len(labels) != len(dataset) or labels.dtype.kind not in "iub":
        raise InvalidArgument(f"labels_of: labels of type {labels.dtype} and shape {labels.shape} for {len(dataset)} "
                              "samples; each sample needs one integer: give key=, or number them with rcap.classes")
    return labels.astype(np.int64)


def _labels_at_once(dataset: Any, key: str | int | None) -> Any:
    names = _LABEL_NAMES if key is None else (key,)
    columns = getattr(dataset, "column_names", None)  # of datasets.Dataset
    if columns is not None:
        return next((dataset[name] for name in names if name in columns), None)
    if isinstance(dataset, TensorDataset) and not isinstance(key, str):
        return dataset.tensors[-1 if key is None else key]
    named = (getattr(dataset, name, None) for name in names if isinstance(name, str))
    return next((value for value in named if value is not None and len(value) == len(dataset)), None)


def _label_of(item: Any, key: str | int | None) -> Any:
    if isinstance(item, Mapping):
        names = [name for name in (_LABEL_NAMES if key is None else (key,)) if name in item]
        if names:
            return _number(item[names[0]])
    elif isinstance(item, (tuple, list)) and not isinstance(key, str):
        return _number(item[-1 if key is None else key])
    raise InvalidArgument(f"labels_of: a sample is {type(item).__name__}, and no label was found in it; give key=, or "
                          "give the pruner the labels themselves")


def _number(label: Any) -> Any:
    return label.item() if isinstance(label, torch.Tensor) else label
