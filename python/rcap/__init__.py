"""Cheaper training: each epoch runs on a small, well-chosen part of the data, and every class keeps its share of it.

    import rcap

    pruner = rcap.RCAP(labels, pruning_rate=0.9)
    for epoch in range(epochs):
        selection = pruner.select(epoch)                   # int64 positions in the data set
        pruner.observe(selection.ids, train(selection.ids, selection.weights))

`rcap.torch` has a sampler for PyTorch's DataLoader, `rcap.lightning` a callback, `rcap.hf` a mixin for the Trainer of
transformers, `rcap.loggers` reports for TensorBoard and Weights & Biases. They and the packages they need are imported
only when you ask for them.
"""

import collections.abc
import inspect
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import *  # noqa: F403 (a class for every method)
from ._core import Pruner

if TYPE_CHECKING:  # the stub that nanobind generates for _core leaves these out
    __version__: str
    __revision__: str

    class Error(Exception): ...
    class InvalidArgument(Error, ValueError): ...
    class BadFile(Error, OSError): ...
    class StateMismatch(Error, ValueError): ...
    class InternalError(Error, RuntimeError): ...
else:
    from ._core import __revision__ as __revision__
    from ._core import __version__ as __version__

METHODS: dict[str, type[Pruner]] = vars(_core)["_METHODS"]
"""The class of every method, by its name on the command line."""


def _signature_of(method: type[Pruner]) -> inspect.Signature:
    """The signature of a class, from its docstring: a compiled module has nothing else."""
    scope: dict[str, Any] = {"typing": typing, "collections": collections}
    exec((method.__init__.__doc__ or "").replace("__init__(self, ", "def made(", 1) + ": ...", scope)
    return inspect.signature(scope["made"])


for _method in METHODS.values():
    setattr(_method, "__signature__", _signature_of(_method))  # noqa: B010 (no type has it, and inspect looks for it)


def classes(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Numbers the distinct values from 0, to make labels from classes that are names, have gaps or are pairs.

    >>> classes(["dog", "cat", "dog"])
    (array([1, 0, 1]), ['cat', 'dog'])
    >>> classes([("cat", "photo"), ("cat", "sketch"), ("cat", "photo")])[0]
    array([0, 1, 0])

    Args:
        values: The class of every sample: strings, numbers, or tuples of these such as (class, domain). Each row of a
            two-dimensional array is a tuple.

    Returns:
        The class number of every sample, and the distinct values in ascending order, so that value i is class i.

    Raises:
        InvalidArgument: If there are no values, or they cannot be hashed and sorted.
    """
    if isinstance(values, np.ndarray) and values.ndim > 1:
        values = list(map(tuple, values.tolist()))
    elif hasattr(values, "tolist"):
        values = values.tolist()  # arrays, tensors, pandas columns: as Python numbers and strings
    values = list(values)
    if not values:
        raise InvalidArgument("classes: there are no values; a data set has at least one sample")
    try:
        names = sorted(set(values))
    except TypeError as error:
        raise InvalidArgument(f"classes: the values cannot be hashed and sorted: {error}") from error
    number_of = {name: number for number, name in enumerate(names)}
    return np.fromiter(map(number_of.__getitem__, values), np.int64, len(values)), names


def make_pruner(method: str, labels: object, **options: object) -> Pruner:
    """Makes a pruner by the name of its method.

    >>> make_pruner("rs2", [0, 1, 0, 1], pruning_rate=0.5).keep_count
    2

    Args:
        method: A name of `METHODS`.
        labels: The class of every sample.
        **options: Options of the method.

    Raises:
        InvalidArgument: If there is no such method, or labels or options break a rule.
        TypeError: If the method has no such option.
    """
    if method not in METHODS:
        raise InvalidArgument(f'make_pruner: there is no method "{method}"; the methods are {", ".join(METHODS)}')
    make: Callable[..., Pruner] = METHODS[method]
    return make(labels, **options)
