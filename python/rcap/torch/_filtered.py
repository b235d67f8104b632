"""Streams, whose samples come in an order of their own: what an epoch keeps of them."""

import inspect
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, TypeGuard

from torch.utils.data import IterableDataset

from .. import Filter, InvalidArgument
from ._current_filter import CurrentFilter
from ._sampler import PruningSampler

class _Stateful(Protocol):
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state: Any) -> None: ...


IdOf = Callable[[Any], int] | Hashable


class FilterStage:
    """Lets the samples pass that an epoch keeps: a stage of a pipeline, such as WebDataset's.

        stream = wds.WebDataset(urls).compose(FilterStage(sampler, lambda sample: int(sample["__key__"])))
        stream = stream.decode("rgb").to_tuple("jpg", "cls", "__key__")           # of what is kept alone

    Args:
        by: The sampler whose current epoch decides, or a filter.
        ids: Gives the id of a sample, its position among the labels of the pruner: a function, or the key of a field.
        repeats: See `Filtered`.

    Raises:
        InvalidArgument: If the sampler hands out its samples itself, or `by` is something else.
    """

    def __init__(self, by: PruningSampler | Filter, ids: IdOf, *, repeats: Literal["raise", "first"] = "raise") -> None:
        self._id_of = _function_of(ids)
        self._current: CurrentFilter | Filter = by._filter_stream(repeats) if isinstance(by, PruningSampler) else by
        if not isinstance(self._current, (CurrentFilter, Filter)):
            raise InvalidArgument(f"FilterStage: {type(by).__name__} cannot say what an epoch keeps; give a "
                                  "PruningSampler, which takes the losses too, or a Filter")

    @property
    def filter(self) -> Filter:
        """What decides in a pass that begins now."""
        return self._current if isinstance(self._current, Filter) else self._current.get()

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same filter in every pass."""
        return isinstance(self._current, Filter)

    def __call__(self, stream: Iterable[Any]) -> Iterator[Any]:
        return (sample for _, sample, _ in self.passing(enumerate(stream), self.filter))

    def passing(self, numbered: Iterable[tuple[int, Any]], filter: Filter) -> Iterator[tuple[int, Any, int]]:
        """Number, sample and id of those that pass."""
        id_of, keeps = self._id_of, filter.__contains__
        for number, sample in numbered:
            id = id_of(sample)
            try:
                kept = keeps(id)
            except TypeError:
                raise InvalidArgument(f"Filtered: the id of a sample is {id!r}, of type {type(id).__name__}; ids= must "
                                      "give an integer, the position of the sample among the labels of the pruner"
                                      ) from None
            if kept:
                yield number, sample, id


class Filtered(IterableDataset[tuple[Any, int]]):
    """What an epoch keeps of a stream, as `(sample, id)`. A loop is::

        sampler = PruningSampler(pruner)
        loader  = DataLoader(Filtered(stream, sampler, ids="index"), batch_size=128, num_workers=8,
                             collate_fn=with_ids())
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for (x, y), ids in loader:
                sampler.observe(ids, F.cross_entropy(model(x), y, reduction="none")).backward()
                ...

    The samples come in the order of the stream, which splits them over workers and ranks as it always does. What has
    been observed of an epoch does not come again, so a run is resumed from the sampler's state alone; in torchdata's
    StatefulDataLoader the stream does not begin anew either.

    Args:
        stream: Any iterable whose samples know their ids.
        by: The sampler whose current epoch decides, or a filter.
        ids: Gives the id of a sample, its position among the labels of the pruner: a function, or the key of a field.
            By default the stream yields pairs (sample, id).
        decode: Called for the samples that are kept, before they are yielded: what it costs is saved for the others.
        repeats: Whether a sample whose loss was observed before in the epoch is an error ("raise"), as it is if
            workers or ranks read the same shards, or only its first loss counts ("first"), for streams that repeat
            samples to fill up.

    Raises:
        InvalidArgument: If the sampler hands out its samples itself, or `by` is something else.
    """

    def __init__(self, stream: Iterable[Any], by: PruningSampler | Filter, ids: IdOf = None, *,
                 decode: Callable[[Any], Any] | None = None, repeats: Literal["raise", "first"] = "raise") -> None:
        self.stream = stream
        self._stage = FilterStage(by, _second if ids is None else ids, repeats=repeats)
        self._decode = decode if ids is not None else _DecodedFirst(decode)
        self._beginning: Any = None  # the state in which a resumed stream begins its next pass

    def __iter__(self) -> "KeptSamples":
        return KeptSamples(self)

    def _set_place(self, place: Any) -> None:
        """Makes a stream that keeps a state begin there, or at its beginning, where no pass has resumed it yet."""
        if not _keeps_state(self.stream):
            return
        if place is not None:
            self._beginning = self.stream.state_dict() if self._beginning is None else self._beginning
            self.stream.load_state_dict(place)
        elif self._beginning is not None:
            self.stream.load_state_dict(self._beginning)


class KeptSamples(Iterator[tuple[Any, int]]):
    """A pass through a filtered stream, in a form that torchdata's StatefulDataLoader can save and resume.

    A stream that keeps a state goes on from it. Another one begins anew: what was observed is filtered out, if there is
    a sampler that knows it, and otherwise what was read is skipped.
    """

    def __init__(self, filtered: Filtered) -> None:
        self._filtered = filtered
        self._samples: Iterable[Any] = ()  # the iterator of the stream, once there is one
        self._read = 0  # samples of the stream, those that were left out included
        self._epoch = -1
        self._resumed: Mapping[str, Any] = {}
        self._kept = self._pass_through()

    def __next__(self) -> tuple[Any, int]:
        return next(self._kept)

    def _pass_through(self) -> Iterator[tuple[Any, int]]:
        stage, decode = self._filtered._stage, self._filtered._decode
        filter = stage.filter
        self._epoch = filter.epoch
        self._begin()
        numbered = zip(itertools.count(self._read + 1), self._samples)
        for number, sample, id in stage.passing(numbered, filter):
            self._read = number
            yield sample if decode is None else decode(sample), id

    def _begin(self) -> None:
        """Begins the stream, or goes on where the resumed state has left it."""
        resumed = self._resumed if self._resumed.get("epoch") == self._epoch else {}
        place = resumed.get("stream")
        self._filtered._set_place(place)
        self._samples = iter(self._filtered.stream)
        if place is not None and _keeps_state(self._samples):
            self._samples.load_state_dict(place)
        elif place is None and self._filtered._stage.is_fixed:
            self._read = resumed.get("read", 0)
            next(itertools.islice(self._samples, self._read, self._read), None)  # skips as many

    def state_dict(self) -> dict[str, Any]:
        if self._epoch < 0:
            return dict(self._resumed)
        keeper = next((each for each in (self._filtered.stream, self._samples) if _keeps_state(each)), None)
        return {"epoch": self._epoch, "read": self._read, "stream": None if keeper is None else keeper.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._resumed = state


def _keeps_state(thing: Any) -> TypeGuard[_Stateful]:
    """Whether it knows where it is; mosaicml's StreamingDataset has to be told."""
    tell = getattr(thing, "state_dict", None)
    if tell is None or not hasattr(thing, "load_state_dict"):
        return False
    return all(each.default is not each.empty for each in inspect.signature(tell).parameters.values())


def _function_of(ids: IdOf) -> Callable[[Any], Any]:
    return ids if callable(ids) else _Field(ids)


class _Field:
    """A field of a sample; operator.itemgetter has no room for a clear error."""

    def __init__(self, key: Hashable) -> None:
        self.key = key

    def __call__(self, sample: Any) -> Any:
        try:
            return sample[self.key]
        except (KeyError, IndexError, TypeError) as error:
            has = f"has {', '.join(map(str, sample))}" if isinstance(sample, Mapping) else f"is {type(sample).__name__}"
            raise InvalidArgument(f"Filtered: a sample without {self.key!r}, which ids= names: it {has}") from error


def _second(pair: Any) -> Any:
    return pair[1]


class _DecodedFirst:
    """The sample of a pair (sample, id)."""

    def __init__(self, decode: Callable[[Any], Any] | None) -> None:
        self.decode = decode

    def __call__(self, pair: Any) -> Any:
        return pair[0] if self.decode is None else self.decode(pair[0])
