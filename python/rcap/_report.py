"""How a pruned run is doing: numbers to read, for a progress bar and for loggers."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import InvalidArgument

_MOST_ROWS = 12  # classes in the table of str()
_EITHER_END = 5  # rows of the largest and of the smallest classes if there are more


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What `PruningSampler.report` returns. Arrays hold one number for each class.

    `print(report)` shows a table, `one_line` fits a progress bar, `scalars` and `as_dict` are for loggers. Fields that
    are None need a sampler that was made with watch=True.
    """

    method: str
    epoch: int
    """The current epoch; the coming one if nothing is selected yet."""
    sample_count: int
    """Samples in the data set."""
    selected: int
    """How many of them this epoch trains on, all ranks together."""
    observed: int
    """How many of these the pruner has a loss of: over all ranks, as of their last exchange."""
    clipped_part: float
    """Fraction of the previous epoch's losses that RCAP's clip cut; without watch=True, 0 if a state was loaded in this
    epoch."""
    class_names: tuple[str, ...]
    class_sizes: NDArray[np.int64]
    class_counts: NDArray[np.int64]
    """Selected samples of each class."""
    watched_since: int | None = None
    """The first epoch that coverage and repeats include."""
    seen: int | None = None
    """Distinct samples selected since then, including the current epoch."""
    repeats: float | None = None
    """How often a sample has been selected, on average over the samples that were seen."""
    class_coverage: NDArray[np.float64] | None = None
    """Fraction of each class that was seen; NaN for a class without samples."""
    class_repeats: NDArray[np.float64] | None = None
    """As `repeats`, for each class; NaN if none of its samples was seen."""
    loss_epoch: int | None = None
    """The epoch of the reported losses: the current one as soon as it has a loss, otherwise the previous one; -1 is the
    pass before training. None if there are no losses."""
    loss_count: int = 0
    """How many losses the means are taken over."""
    loss: float | None = None
    """Their mean, over all classes."""
    class_losses: NDArray[np.float64] | None = None
    """The mean of each class, over samples that were trained on; NaN if there are none."""

    @property
    def class_fractions(self) -> NDArray[np.float64]:
        """Fraction of the selection that belongs to each class."""
        return ratio(self.class_counts, np.full(len(self.class_counts), self.selected))

    @property
    def class_kept(self) -> NDArray[np.float64]:
        """Fraction of each class that is selected; NaN for a class without samples."""
        return ratio(self.class_counts, self.class_sizes)

    @property
    def coverage(self) -> float | None:
        """Fraction of the data set that was seen."""
        return None if self.seen is None else self.seen / self.sample_count

    def scalars(self, classes: Literal["summary", "all"] = "summary", prefix: str = "rcap") -> dict[str, float]:
        """Numbers for a logger, by name: "rcap/selected", "rcap/class_loss/highest".

        For numbers that differ between classes: the lowest, the median and the highest over all classes with samples.

        Args:
            classes: "all" adds the numbers of every class: "rcap_class_loss/cat".
            prefix: What the names begin with.

        Raises:
            InvalidArgument: If classes is anything else.
        """
        if classes not in ("summary", "all"):
            raise InvalidArgument(f'scalars: classes is "{classes}"; it must be "summary" or "all"')
        totals = {"epoch": self.epoch, "selected": self.selected, "observed": self.observed,
                  "clipped_part": self.clipped_part, "seen": self.seen, "coverage": self.coverage,
                  "repeats": self.repeats, "loss": self.loss}
        found = {f"{prefix}/{name}": float(value) for name, value in totals.items() if value is not None}
        for name, values in self._by_class():
            known = values[np.isfinite(values)]
            if len(known) > 0:
                found[f"{prefix}/{name}/lowest"] = float(known.min())
                found[f"{prefix}/{name}/median"] = float(np.median(known))
                found[f"{prefix}/{name}/highest"] = float(known.max())
            if classes == "all":
                found |= {f"{prefix}_{name}/{self.class_names[number]}": float(values[number])
                          for number in np.flatnonzero(np.isfinite(values)).tolist()}
        return found

    def as_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON supports; None instead of NaN."""
        found = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return found | {"coverage": self.coverage, "class_fractions": _plain(self.class_fractions),
                        "class_kept": _plain(self.class_kept)}

    def one_line(self) -> str:
        """For a progress bar: `bar.set_postfix_str(report.one_line())`."""
        parts = [f"{self.selected:,} of {self.sample_count:,} samples"]
        if self.coverage is not None:
            parts.append(f"seen {_percent(self.coverage)}")
        if self.loss is not None and self.class_losses is not None:
            worst = int(np.nanargmax(self.class_losses))
            parts.append(f"loss {self.loss:.3g}")
            parts.append(f"worst class {self.class_losses[worst]:.3g} ({self.class_names[worst]})")
        return ", ".join(parts)

    def __str__(self) -> str:
        return "\n".join([*self._totals(), *_table(list(self._rows())), *self._remarks()])

    def __repr__(self) -> str:
        return f"<Report of {self.method}, epoch {self.epoch}: {self.one_line()}>"

    def _by_class(self) -> Iterator[tuple[str, NDArray[np.float64]]]:
        filled = self.class_sizes > 0
        for name, values in (("class_fraction", self.class_fractions), ("class_kept", self.class_kept),
                             ("class_loss", self.class_losses), ("class_coverage", self.class_coverage),
                             ("class_repeats", self.class_repeats)):
            if values is not None:
                yield name, np.where(filled, values, np.nan)

    def _totals(self) -> Iterator[str]:
        if self.selected == 0:
            yield f"{self.method}: epoch {self.epoch} is not selected yet"
            return
        part = _percent(self.selected / self.sample_count)
        clipped = f", {_percent(self.clipped_part)} of the last losses clipped" if self.clipped_part > 0 else ""
        yield (f"{self.method}, epoch {self.epoch}: {self.selected:,} of {self.sample_count:,} samples selected "
               f"({part}), {self.observed:,} observed{clipped}")
        if self.seen is not None and self.repeats is not None and self.coverage is not None and self.seen > 0:
            yield (f"since epoch {self.watched_since}: {self.seen:,} distinct samples seen "
                   f"({_percent(self.coverage)}), each {self.repeats:.2f} times on average")

    def _rows(self) -> Iterator[list[str]]:
        numbers, left_out = self._shown()
        columns = {"class": [self.class_names[number] for number in numbers]}
        for name, values, write in (
                ("samples", self.class_sizes, "{:,}".format), ("selected", self.class_counts, "{:,}".format),
                ("kept", self.class_kept, _percent), ("share", self.class_fractions, _percent),
                ("loss", self.class_losses, "{:.3f}".format), ("coverage", self.class_coverage, _percent),
                ("repeats", self.class_repeats, "{:.2f}".format)):
            if values is not None:
                columns[name] = ["-" if math.isnan(value) else write(value) for value in values[numbers].tolist()]
        yield list(columns)
        for place, row in enumerate(zip(*columns.values(), strict=True)):
            if left_out > 0 and place == _EITHER_END:
                yield [f"... {left_out:,} more"]
            yield list(row)

    def _shown(self) -> tuple[list[int], int]:
        """The classes that the table shows, and how many with samples it leaves out: those in the middle, by size."""
        if len(self.class_sizes) <= _MOST_ROWS:
            return list(range(len(self.class_sizes))), 0
        by_size = np.argsort(-self.class_sizes, kind="stable")[:np.count_nonzero(self.class_sizes)].tolist()
        if len(by_size) <= _MOST_ROWS:
            return by_size, 0
        return by_size[:_EITHER_END] + by_size[-_EITHER_END:], len(by_size) - 2 * _EITHER_END

    def _remarks(self) -> Iterator[str]:
        if self.seen is None:
            yield "make the sampler with watch=True to see losses, coverage and repeats"
        elif self.loss_epoch is not None:
            when = "the pass before training" if self.loss_epoch < 0 else f"epoch {self.loss_epoch}"
            yield f"losses: means over {self.loss_count:,} samples observed in {when}"


def ratio(parts: NDArray[Any], wholes: NDArray[Any]) -> NDArray[np.float64]:
    """Parts divided by wholes; NaN where a whole is 0."""
    found = np.full(len(parts), np.nan)
    np.divide(parts, wholes, out=found, where=wholes > 0)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value.tolist()]
    if isinstance(value, float) and math.isnan(value):
        return None
    return list(value) if isinstance(value, tuple) else value


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with the first column aligned left and the others right; rows may be shorter."""
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) if column == 0 else text.rjust(width)
                        for column, (text, width) in enumerate(zip(row, widths, strict=False))).rstrip()
