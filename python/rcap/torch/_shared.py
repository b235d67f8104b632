"""One pruner for all ranks of a host: the leader holds it, the others know what the leader tells of it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from .. import InvalidArgument, Pruner, StateMismatch
from ._epoch import NOTHING
from ._host import Host
from ._steps import planned_count
from ._watch import Watch

PrunerSource = Pruner | Callable[[], Pruner]
"""A pruner, or a function that makes one: called once on each host, for all its ranks."""

Result = TypeVar("Result")

_FIXED = ("method", "options", "seed", "sample_count", "class_count", "class_sizes", "keep_count", "label_fingerprint",
          "window", "token_count", "learns", "weighs", "refreshes", "judges_classes", "follows_rate",
          "needs_initial_losses")
_CHANGING = ("epoch", "pending_count", "clipped_part", "averages_batches")


class PrunerOfLeader:
    """What a rank knows of the pruner that another rank of its host holds: everything but the samples."""

    method: str
    sample_count: int
    epoch: int
    averages_batches: bool
    _log_prior: NDArray[np.float64]
    _pending: NDArray[np.int64] | None  # None for all of the epoch
    _unrefreshed: NDArray[np.int64]
    _plan: "Plan"

    def __init__(self, leader: int, told: Mapping[str, Any]) -> None:
        self._leader = leader
        self.selected = NOTHING
        self.tell(told)

    def tell(self, told: Mapping[str, Any]) -> None:
        self.__dict__.update(told)

    def average_batches(self) -> None:
        """Without effect on the pruner: the leader does the same."""
        self.averages_batches = True

    def log_prior(self) -> NDArray[np.float64]:
        return self._log_prior

    def pending_ids(self) -> NDArray[np.int64]:
        if self._pending is not None:
            return self._pending
        return np.arange(self.sample_count) if self.epoch < 0 else np.sort(self.selected)

    def unrefreshed_ids(self) -> NDArray[np.int64]:
        return self._unrefreshed

    def planned_batches(self, epochs: int, batch_size: int) -> int | None:
        return self._plan.batches(epochs, batch_size)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"pruner.{name}: rank {self._leader} holds the pruner of this host, and this rank only "
                             "knows what the sampler needs; ask there")

    def __repr__(self) -> str:
        return f"PrunerOfLeader({self.method}, {self.sample_count:,} samples, held by rank {self._leader})"


class Plan:
    """The planned lengths of epochs, in place of `Pruner.planned_batches`."""

    _MOST_EPOCHS = 100_000

    def __init__(self, pruner: Pruner) -> None:
        self._counts: list[int] = []
        self._whole: tuple[int, int] | None = None  # epochs and batch size of a run whose batches alone are known
        self._batches: int | None = None
        given = dict(option.split("=", 1) for option in pruner.options)
        epochs = min(int(given.get("epochs", 2)), self._MOST_EPOCHS)
        for epoch in range(max(epochs, 2)):
            count = planned_count(pruner, epoch)
            if count is None:
                break
            self._counts.append(count)
        self._goes_on = planned_count(pruner, len(self._counts)) is not None
        if given.get("batch_size", "none").isdecimal():
            self._whole = int(given["epochs"]), int(given["batch_size"])
            self._batches = pruner.planned_batches(*self._whole)

    def batches(self, epochs: int, batch_size: int) -> int | None:
        if epochs < 0 or batch_size < 1:
            raise InvalidArgument(f"planned_batches: {epochs} epochs in batches of {batch_size}; epochs must be at "
                                  "least 0, and a batch has at least 1 sample")
        if self._whole == (epochs, batch_size):
            return self._batches
        beyond = epochs - len(self._counts)
        if not self._counts or (beyond > 0 and not self._goes_on):
            return None
        counts = self._counts[:epochs] + self._counts[-1:] * max(beyond, 0)
        return sum(-(-count // batch_size) for count in counts)


class PrunerCopy:
    """The pruner of this rank, which may be that of its host.

    Args:
        source: The pruner of this rank, or a function that makes the one of its host.
        host: If several ranks of a host are to share it.
        prepare: Called with the pruner, before anybody else knows of it.
    """

    def __init__(self, source: PrunerSource, host: Host | None, prepare: Callable[[Pruner], None]) -> None:
        self.host = host
        self.watch: Watch | None = None  # on the leader
        self._told: Mapping[str, Any] | None = None  # what a watch on the leader has to add to a report
        self._selected = NOTHING
        held = source if host is None or host.leads or not callable(source) else None
        if host is None:
            self.pruner = _made(held, prepare)
            return
        fixed = host.share("make the pruner", lambda: self._make(held, prepare))
        if not host.leads:
            self.pruner = cast(Pruner, PrunerOfLeader(host.leader, fixed))  # answers in its place

    def _make(self, source: PrunerSource | None, prepare: Callable[[Pruner], None]) -> dict[str, Any]:
        self.pruner = _made(source, prepare)
        fixed: dict[str, Any] = {name: getattr(self.pruner, name) for name in _FIXED}
        return {**fixed, "_plan": Plan(self.pruner), **self._progress()}

    @property
    def leads(self) -> bool:
        """Whether this rank holds a pruner."""
        return not isinstance(self.pruner, PrunerOfLeader)

    def watched(self) -> Mapping[str, Any] | None:
        """What is reported of a sampler that is made with watch=True."""
        return self.watch.summary() if self.watch is not None else self._told

    @property
    def selected(self) -> NDArray[np.int64]:
        """What the epoch trains on."""
        return self._selected

    @selected.setter
    def selected(self, ids: NDArray[np.int64]) -> None:
        self._selected = ids
        if isinstance(self.pruner, PrunerOfLeader):
            self.pruner.selected = ids

    @property
    def is_shared(self) -> bool:
        return self.host is not None

    def change(self, step: str, act: Callable[[], Result]) -> Result:
        """What `act` returns, which changes the pruner; it is called where the pruner is, and all ranks get the result.

        Collective if the pruner is shared.
        """
        if self.host is None:
            return act()
        result, progress, self._told = self.host.share(step, lambda: (act(), self._progress(), self.watched()))
        if isinstance(self.pruner, PrunerOfLeader):
            self.pruner.tell(progress)
        return result

    def state(self) -> dict[str, torch.Tensor]:
        """All state, on the leader; elsewhere nothing that anybody could go on with."""
        held = bytearray(self.pruner.state() if self.leads else b"")
        state = {"pruner": torch.from_numpy(np.frombuffer(held, np.uint8))}
        return state if self.watch is None else state | self.watch.state()

    def set_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Takes over what `state` returned on the leader. Collective if the pruner is shared."""
        self.change("load_state_dict", lambda: self._set_state(state))

    def _set_state(self, state: Mapping[str, torch.Tensor]) -> None:
        held = state["pruner"].cpu().numpy().tobytes()
        if not held:
            raise StateMismatch("load_state_dict: the state of a rank that shares the pruner of another one; load what "
                                "rank 0 saved, on all ranks")
        watch = None if self.watch is None else Watch.of(self.pruner, state)
        self._selected = NOTHING
        self.pruner.set_state(held)
        self.watch = watch

    def _progress(self) -> dict[str, Any]:
        pruner = self.pruner
        changing: dict[str, Any] = {name: getattr(pruner, name) for name in _CHANGING}
        changing["_log_prior"] = pruner.log_prior()
        selected_count = len(self._selected) if pruner.epoch >= 0 else pruner.sample_count
        is_partial = pruner.pending_count != selected_count  # otherwise it is the whole epoch, which all ranks know
        changing["_pending"] = pruner.pending_ids() if is_partial else None
        changing["_unrefreshed"] = pruner.unrefreshed_ids() if pruner.refreshes else NOTHING
        return changing


def _made(source: PrunerSource | None, prepare: Callable[[Pruner], None]) -> Pruner:
    pruner = source() if callable(source) else source
    if not isinstance(pruner, Pruner):
        raise InvalidArgument(f"PruningSampler: the pruner is {type(pruner).__name__}; give a pruner, such as "
                              "rcap.RCAP(labels), or a function that makes one, for all ranks of a host to share")
    prepare(pruner)
    return pruner
