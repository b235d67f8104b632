"""The sampler: which samples of an epoch go to this rank, and where their losses go."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Sampler

from .. import Filter, InvalidArgument, Pruner, StateMismatch
from .._report import Report
from ._ahead import Ahead
from ._batch_sampler import PruningBatchSampler
from ._current_filter import CurrentFilter
from ._data import Indexed, with_ids
from ._epoch import NOTHING, Chosen, Epoch, Phase
from ._observer import Observer
from ._pass import IdIterator, LossLog, Pass
from ._ranks import Ranks
from ._shared import PrunerCopy, PrunerSource
from ._steps import planned_count, wants_initial_losses
from ._watch import Watch, count_classes, report_on
from ._windows import require_possible_windows, set_windows, windows_per_pass

Value = TypeVar("Value", bound=np.generic)


class PruningSampler(Sampler[int]):
    """Yields the samples a pruner selects for an epoch, in random order, and takes their losses.

    Give it to a DataLoader as `sampler`, and do not let anything shard it again. Without `set_epoch` a full pass moves
    on to the next epoch. After an interrupted pass, the next one continues with the samples that have not been
    observed, and so does the first one after `load_state_dict`.

    With several ranks, making the sampler, iterating over it and moving to another epoch are collective: every rank
    must do them, in the same order.

    Args:
        pruner: Selects the samples. Or a function that makes the pruner: it is called once on each host, and the ranks
            of the host share what it made, so that memory and time do not grow with their number.
        batch_size: The batch size of a loader that drops its last, smaller batch. An epoch then has whole batches only.
        group: The process group of torch.distributed, if not the default one.
        hands_out: What a pass yields if part of the epoch has been observed: the "rest", or the "whole" epoch, for a
            framework that skips the finished batches itself.
        counts_epochs: Whether a full pass moves on to the next epoch. If not, only `set_epoch` does, and the length is
            always that of a whole epoch: a framework asks for it at any time, counts the batches of a resumed epoch
            from its beginning, and makes iterators that it throws away.
        bad_losses: Whether a loss that is negative or not finite is an error ("raise"), or its sample keeps its
            previous loss ("keep"), for gradient scalers, which skip batches that overflow.
        watch: Whether `report` includes the losses and the coverage of the classes. Costs 4 bytes per sample and about
            15 microseconds per batch.
        class_names: What `report` calls the classes, in the order of their numbers; by default their numbers.
        window_steps: Selects anew every so many steps, within one pass over the data: a window. Needs batch_size.
            Samples that the pass has not visited come first (options unseen_first and max_repeats of the pruner).

    Raises:
        InvalidArgument: If batch_size or window_steps is below 1, there is not one name for each class, the method
            does not select such windows, or the ranks disagree on the pruner.
    """

    _JOINS_LATER = False  # whether the ranks are started after a sampler is made

    def __init__(self, pruner: PrunerSource, *, batch_size: int | None = None,
                 group: torch.distributed.ProcessGroup | None = None,
                 hands_out: Literal["rest", "whole"] = "rest", counts_epochs: bool = True,
                 bad_losses: Literal["raise", "keep"] = "raise", watch: bool = False,
                 class_names: Sequence[str] | None = None, window_steps: int | None = None) -> None:
        if batch_size is not None and batch_size < 1:
            raise InvalidArgument(f"PruningSampler: batch_size is {batch_size}; it must be at least 1")
        require_possible_windows(window_steps, batch_size, hands_out)
        _require_word("hands_out", hands_out, "rest", "whole")
        _require_word("bad_losses", bad_losses, "raise", "keep")
        self._source = pruner
        self._copy: PrunerCopy | None = None
        self.hands_out = hands_out
        self.counts_epochs = counts_epochs
        self.bad_losses = bad_losses
        self._batch_size = batch_size
        self._window_steps = window_steps
        self._windows_per_pass = 1
        self._passed = 0  # samples of this rank in earlier windows of the pass under way
        self._group = group
        self._watches = watch
        self._given_names = class_names
        self._stream_filter: CurrentFilter | None = None  # what a stream keeps, if it reads one instead of handing out
        self._repeats: Literal["raise", "first"] | None = None  # what to do with samples that the stream repeats
        if not (callable(pruner) and self._JOINS_LATER):
            self.join()

    def join(self) -> None:
        """Joins the ranks if they were started after the sampler was made. All must call it.

        Raises:
            InvalidArgument: If the ranks disagree on the pruner.
        """
        self._ranks = Ranks(self._group)
        self._ranks.require_equal("PruningSampler", {"whether it is given a function": callable(self._source)})
        host = self._ranks.find_host() if callable(self._source) else None
        before = self._copy
        source = before.pruner if before is not None and before.leads else self._source
        self._copy = PrunerCopy(source, host, self._set_windows)
        pruner = self._copy.pruner
        self._windows_per_pass = windows_per_pass(pruner, self._window_steps)
        self._class_names = _names_of_classes(pruner.class_count, self._given_names)
        if self._watches and self._copy.leads:
            self._copy.watch = before.watch if before is not None and before.watch is not None else Watch(pruner)
        self._ranks.require_equal("PruningSampler", {
            "method": pruner.method, "samples": pruner.sample_count, "labels": pruner.label_fingerprint,
            "epoch": pruner.epoch})
        self._ranks.require_same_options("PruningSampler", pruner.options)
        self._start()

    def _set_windows(self, pruner: Pruner) -> None:
        if self._window_steps is not None and self._batch_size is not None:
            set_windows(pruner, self._window_steps, self._batch_size, self._ranks.size)

    @property
    def pruner(self) -> Pruner:
        """What selects the samples. If another rank of this host holds it, what the sampler has to know of it."""
        return self._shared().pruner

    def _shared(self) -> PrunerCopy:
        if self._copy is None:
            self.join()
        assert self._copy is not None
        return self._copy

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """Joins the ranks at the first use, where the constructor did not."""
            if name in ("_ranks", "_observer", "_epoch", "_ahead") and self.__dict__.get("_copy", self) is None:
                self.join()
                return self.__dict__[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def _make_observer(self) -> Observer:
        return Observer(self._shared(), self._ranks, self.bad_losses, self._repeats)

    def _start(self) -> None:
        """Takes the epoch from the pruner, which may be in the middle of it."""
        self._observer = self._make_observer()
        self._ahead: Ahead | None = None
        self._epoch = Epoch(0, Phase.COMING, NOTHING, log_prior=self.pruner.log_prior())
        self._observer.begin_epoch(self._epoch)
        if self.pruner.epoch >= 0:
            self._select(self.pruner.epoch)
            if self._window_done():
                self._epoch.phase = Phase.HANDED_OUT

    def loader(self, dataset: Any, **options: Any) -> DataLoader[Any]:
        """A loader that yields `(batch, ids)` of the selected samples, the ids as NumPy arrays.

        The same as `DataLoader(Indexed(dataset), sampler=self, collate_fn=with_ids(), **options)`, but it fetches whole
        batches at a time.

        Args:
            dataset: The data set whose labels the pruner has.
            **options: Options of the DataLoader.

        Raises:
            InvalidArgument: If the data set has another number of samples, an option says which samples to take, or
                drop_last is given and the sampler was not made with this batch_size.
        """
        for name in ("sampler", "batch_sampler", "shuffle"):
            if options.get(name):
                raise InvalidArgument(f"loader: {name} says which samples to take, but the pruner does; leave it out")
        batch_size, drops = options.pop("batch_size", 1), options.pop("drop_last", False)
        if drops and self._batch_size != batch_size:
            raise InvalidArgument(f"loader: drop_last with batches of {batch_size}; make the sampler with "
                                  f"batch_size={batch_size}, so that it knows what is dropped")
        indexed = Indexed(dataset, self)
        if batch_size is None:
            return DataLoader(indexed, sampler=self, batch_size=None, **options)
        options["collate_fn"] = with_ids(options.get("collate_fn"))
        batches: Any = PruningBatchSampler(self, batch_size, drops)  # arrays, where DataLoader's types say lists
        return DataLoader(indexed, batch_sampler=batches, **options)

    @property
    def epoch(self) -> int:
        """The epoch under way: the pass over the data."""
        return self._epoch.number // self._windows_per_pass

    @property
    def window(self) -> int:
        """The selection under way: the epoch, or with window_steps the window, counted over all passes."""
        return self._epoch.number

    @property
    def windows_per_pass(self) -> int:
        """How many selections a pass over the data has: 1 without window_steps."""
        return self._windows_per_pass

    @property
    def epoch_done(self) -> bool:
        """Whether everything that this epoch trains on has been observed."""
        return self._is_last_window() and self._window_done()

    def _is_last_window(self) -> bool:
        return (self._epoch.number + 1) % self._windows_per_pass == 0

    def _window_done(self) -> bool:
        self._observer.settle()
        return self._epoch.phase is not Phase.COMING and self._share(self._pending_count()) == 0

    @property
    def any_observed(self) -> bool:
        """Whether any sample of the epoch has been observed, by this rank or, as of the last exchange, by another."""
        self._observer.settle()
        epoch = self._epoch
        return epoch.phase is not Phase.COMING and (
            epoch.batches > 0 or self._pending_count() < epoch.count)

    @property
    def rank_count(self) -> int:
        """How many processes share the samples."""
        return self._ranks.size

    @property
    def drops_last(self) -> bool:
        """Whether an epoch has whole batches only."""
        return self._batch_size is not None

    def batches_done(self, batch_size: int) -> int:
        """How many batches of the epoch have been trained on."""
        self._observer.settle()
        whole, rest = self._share(self._epoch.count), self._share(self._pending_count())
        before = self._epoch.number % self._windows_per_pass * (self._window_steps or 0)
        return before + math.ceil(whole / batch_size) - math.ceil(rest / batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next pass and selects its samples. Setting it again changes nothing.

        Raises:
            InvalidArgument: If the epoch lies before the last one.
        """
        self._observer.settle()
        if epoch < self.epoch:
            raise InvalidArgument(f"PruningSampler: epoch {epoch} lies before {self.epoch}, the last one")
        self._passed = 0
        if epoch != self.epoch or self._epoch.phase is Phase.COMING:
            self._enter(max(epoch * self._windows_per_pass, self._epoch.number))
            self._observer.warn_if_nothing_came()
        elif self._epoch.phase is Phase.UNDER_WAY and self._epoch.batches == 0:
            return  # a loader has begun to fetch what the loop is about to train on
        self._epoch.phase, self._epoch.part = Phase.SELECTED, NOTHING
        if self._stream_filter is not None:
            self._begin_stream(self._stream_filter)

    def __len__(self) -> int:
        """How many samples the current pass yields on this rank; between passes, the next one.

        Selects nothing and is not collective, so the length of a coming epoch is known only if the method can tell it
        in advance. InfoBatch cannot: it has no length until `set_epoch` or the next pass.

        Raises:
            TypeError: If the length is not known yet, as for any object without one.
        """
        length, epoch = self._window_length(), self._epoch
        begins_next = epoch.over and self.counts_epochs
        number = epoch.number + begins_next
        later = -(number + 1) % self._windows_per_pass
        before = 0 if begins_next else self._passed
        return before + length + (later * self._planned_length(number + 1) if later else 0)

    def _window_length(self) -> int:
        """What the pass yields of the window under way; between passes, of the next one."""
        epoch = self._epoch
        if epoch.phase is Phase.COMING:
            return self._planned_length(epoch.number)
        if not self.counts_epochs:
            return self._share(epoch.count)
        if epoch.phase is Phase.HANDED_OUT:
            self._observer.settle()
        if epoch.over:
            return self._planned_length(epoch.number + 1)
        if epoch.phase is Phase.SELECTED:
            return self._share(epoch.count if self.hands_out == "whole" else self._pending_count())
        # Of a stream only the ranks together are known.
        return len(epoch.part) if self._stream_filter is None else self._share(len(epoch.part))

    def __iter__(self) -> Iterator[int]:
        return IdIterator.over(self._make_pass())

    def _make_pass(self) -> Pass:
        # A loader may load a state after it has made its iterator: initial losses are required only later.
        return Pass(self, begins_later=wants_initial_losses(self.pruner))

    def _begin_pass(self) -> NDArray[np.int64]:
        """Begins a new pass; returns the samples that it hands out."""
        self._ranks.require_unchanged()
        if self._stream_filter is not None:
            raise InvalidArgument("PruningSampler: this sampler filters a stream, which says what comes next; give the "
                                  "loader no sampler")
        self._passed = 0
        if self._epoch.phase is Phase.COMING:
            self._enter(self._epoch.number)
        elif self._epoch.phase is Phase.HANDED_OUT and self.counts_epochs:
            self._enter(self._epoch.number + 1)
        else:
            self.synchronize()
        return self._begin_window()

    def _next_window(self, part: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The samples of the next window of the pass that handed out `part`; None if this pass is over."""
        if self._epoch.part is not part or self._is_last_window():
            return None
        self._passed += len(part)
        self._enter(self._epoch.number + 1)
        return self._begin_window()

    def _begin_window(self) -> NDArray[np.int64]:
        return self._hand_out(*self._own_part())

    def _own_part(self) -> tuple[NDArray[np.int64], int, NDArray[np.float32] | None]:
        """The samples of this rank in the pass that begins, how many no other rank has, and the weights of all."""
        epoch, rest = self._epoch, self._rest()
        ids = epoch.ids[rest]
        part = self._part(ids, epoch.ids)
        own_count = min(len(ids[self._ranks.rank::self._ranks.size]), len(part))
        if epoch.weights is None:
            return part, own_count, None
        weights = epoch.weights.numpy()
        return part, own_count, self._part(weights[rest], weights)

    def _filter_stream(self, repeats: Literal["raise", "first"]) -> CurrentFilter:
        """From now on `set_epoch` tells a stream what to keep, and any rank may observe any sample of the epoch."""
        _require_word("repeats", repeats, "raise", "first")
        if self._batch_size is not None:
            raise InvalidArgument("PruningSampler: batch_size leaves out what fills no batch, but a stream decides "
                                  "where that is; make the sampler without it")
        if self._stream_filter is None:
            self._stream_filter = CurrentFilter()
        self._repeats = self._observer.repeats = repeats
        return self._stream_filter

    def _begin_stream(self, current: CurrentFilter) -> None:
        """Begins a pass of all ranks through a stream."""
        self._ranks.require_unchanged()
        self.synchronize()
        ids = self._epoch.ids[self._rest()]
        self._hand_out(ids, len(ids))
        current.put(Filter(self.epoch, self.pruner.sample_count, ids))

    def _rest(self) -> slice | NDArray[np.bool_]:
        """The places, in the order of the epoch, of what the ranks together train on in a pass that begins now."""
        return slice(None) if self.hands_out == "whole" else self._places_left()

    def _hand_out(self, part: NDArray[np.int64], own_count: int,
                  weights: NDArray[np.float32] | None = None) -> NDArray[np.int64]:
        self._epoch.begin_pass(part, weights)
        self._own_count = own_count  # those that no other rank has
        self._observer.begin_pass(own_count)
        return part

    def _end_pass(self, part: NDArray[np.int64]) -> None:
        self._epoch.end_pass(part)

    def _log(self) -> LossLog:
        return self._observer.log()

    def _resume_pass(self, state: Mapping[str, Any]) -> NDArray[np.int64]:
        """The rest of a pass from its `Pass.state_dict`; samples that were fetched but not observed come first."""
        wanted = self._epoch.number
        self.load_state_dict(state)
        part, done, count = state["part"].numpy(), int(state["done"]), int(state["count"])
        ids, losses = state["ids"][:count].numpy(), state["losses"][:count].numpy()
        known = ~np.isin(ids, part[done:])  # a state that is kept in memory may hold what came after it
        self._hand_out(part, int(state["own"]))
        self._observer.resume(ids[known], losses[known])
        if wanted > self._epoch.number:  # set_epoch came first, as it does after an epoch that was complete
            self._enter(wanted)
            return self._begin_pass()
        again = np.setdiff1d(self.pruner.pending_ids(), ids[known])
        rest = np.concatenate([part[:done][np.isin(part[:done], again)], part[done:]])
        self._epoch.begin_pass(rest)
        return rest

    def observe(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor,
                tokens: torch.Tensor | None = None) -> torch.Tensor:
        """Records the losses of a batch. Before the first epoch these are the initial losses that some methods need.

        Losses on an accelerator are copied to the host while the loop goes on and recorded when they arrive, at the
        latest at the end of the epoch, in `synchronize` or in `state_dict`. A bad loss is therefore reported late, too.
        Losses that come after a loader has asked for the next epoch are recorded as well.

        Args:
            ids: The ids of the samples, as the loader gave them.
            losses: One loss for each id (reduction="none"), on any device.
            tokens: For sequences, how many tokens each loss is the mean of, as `sequence_losses` counts them: every
                token of the batch then weighs the same in what is returned, as in the loss of a language model.

        Returns:
            The mean of the losses to differentiate, weighted if the method has weights.

        Raises:
            InvalidArgument: If losses were reduced, are negative or not finite, or do not belong to samples of this
                epoch, each once. In that case nothing is recorded.
        """
        if tokens is None:
            return self._observer.observe(ids, losses)
        return self._observe_sequences(ids, losses, tokens)

    def _observe_sequences(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor,
                           tokens: torch.Tensor) -> torch.Tensor:
        if tokens.shape != losses.shape:
            raise InvalidArgument(f"observe: {tokens.numel()} counts of tokens for {losses.numel()} losses; give the "
                                  "two that sequence_losses returns")
        with torch.enable_grad():  # the factor of a loss in the mean is its derivative
            observed = losses.detach().requires_grad_()
            factors, = torch.autograd.grad(self._observer.observe(ids, observed), observed)
        parts = tokens / tokens.sum().clamp(min=1)
        return (losses * factors * parts).sum() * len(losses)

    def observe_batch(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], mean_loss: torch.Tensor) -> torch.Tensor:
        """Records the mean loss of a batch, for a loss function that does not give the losses of single samples.

        The method then follows, for each sample, the moving average of the batches it was in. Use it for all batches of
        a run, also in the pass before training, or for none.

        Args:
            ids: The ids of the samples, as the loader gave them.
            mean_loss: One number, on any device.

        Returns:
            The loss to differentiate: times the mean weight of the batch, if the method has weights.

        Raises:
            InvalidArgument: If the loss is not a single number, is negative or not finite, or losses of single samples
                were observed before. In that case nothing is recorded.
        """
        if not isinstance(mean_loss, torch.Tensor) or mean_loss.numel() != 1:
            shape = tuple(mean_loss.shape) if isinstance(mean_loss, torch.Tensor) else type(mean_loss).__name__
            raise InvalidArgument(f"observe_batch: mean_loss has shape {shape}; give the mean of the batch, one number")
        if self.pruner.learns and not self.pruner.averages_batches:
            self.pruner.average_batches()
        return self._observer.observe(ids, mean_loss.reshape(1).expand(len(ids)).contiguous())

    @property
    def rate_factor(self) -> float:
        """What the method multiplies the learning rate of this epoch by: 1 unless it is Kakurenbo."""
        return self._epoch.rate_factor

    @property
    def refresh_ids(self) -> NDArray[np.int64]:
        """The samples that this rank is to refresh before the next epoch; none unless the method asks for it."""
        if not self.pruner.refreshes or self._epoch.phase is Phase.COMING or self._ahead is not None:
            return NOTHING
        return self._observer.unrefreshed()

    def refresh_loader(self, dataset: Any, **options: Any) -> DataLoader[Any]:
        """A loader that yields `(batch, ids)` of the samples to refresh, after the training of an epoch.

            for (x, y), ids in sampler.refresh_loader(dataset, batch_size=256):
                with torch.no_grad():
                    sampler.observe_refreshed(ids, F.cross_entropy(model(x), y, reduction="none"))

        Args:
            dataset: The data set whose labels the pruner has.
            **options: Options of the DataLoader.

        Raises:
            InvalidArgument: If the data set has another number of samples.
        """
        options["collate_fn"] = with_ids(options.get("collate_fn"))
        ids: Any = self.refresh_ids.tolist()  # a sequence, where DataLoader's types say Sampler
        return DataLoader(Indexed(dataset, self), sampler=ids, **options)

    def observe_refreshed(self, ids: torch.Tensor | NDArray[Any] | Sequence[int], losses: torch.Tensor) -> None:
        """Records losses of samples that the epoch left out, from a forward pass after its training.

        Some methods (Kakurenbo, Dropout, IES) follow them. Samples that are not refreshed keep the loss they had.

        Args:
            ids: Of `refresh_ids`, each once.
            losses: One loss for each id, on any device.

        Raises:
            InvalidArgument: If the method did not ask for these samples, or a loss is negative or not finite. In that
                case nothing is recorded.
        """
        self._observer.observe_refreshed(ids, losses)

    def observe_classes(self, errors: torch.Tensor | NDArray[Any] | Sequence[float]) -> None:
        """Records the error of every class on held-out data; RCAP's robust rule follows these from then on.

        With several ranks all must call it, with the same numbers.

        Args:
            errors: One for each class, such as the mean loss of its held-out samples.

        Raises:
            InvalidArgument: If there is not one error for each class, any is negative or not finite, the ranks
                disagree, or the method does not judge classes. In that case nothing is changed.
        """
        if isinstance(errors, torch.Tensor):
            errors = errors.detach().cpu()
        told = np.asarray(errors, dtype=np.float64)
        self._ranks.require_equal("observe_classes", {"the errors of the classes": told.tolist()})
        self._shared().change("observe_classes", lambda: self.pruner.observe_classes(told))

    def log_prior(self) -> torch.Tensor:
        """The logarithm of each class's part of what was trained, up to and with the current epoch (logit adjustment).

        Predict with `logits - sampler.log_prior()`, or train with the cross entropy of
        `logits + tau * sampler.log_prior()`, but not both. An epoch that is selected ahead counts once it begins.

        Not collective, and the same on every rank.

        Returns:
            One number for each class, float32 on the host: `Pruner.log_prior` of the epoch.
        """
        return torch.from_numpy(self._epoch.log_prior.astype(np.float32))

    def synchronize(self) -> None:
        """Waits for losses that are still on a device, and exchanges losses between the ranks; all must call it.

        The next epoch does this by itself. In mid-epoch, call it before `state_dict`.

        Raises:
            InvalidArgument: If the ranks have diverged.
        """
        self._observer.exchange(self._pending_count())

    def report(self) -> Report:
        """How the run is doing: what the epoch selects of each class and, with watch=True, losses and coverage.

        Not collective, and the same on every rank: all ranks know the selections, and losses count once the ranks have
        exchanged them, which the next epoch and `synchronize` do. Losses on a device are not waited for.

        Takes one pass over the selected samples; with watch=True, over all samples.
        """
        self._observer.take_arrived()
        epoch = self._epoch
        observed = 0 if epoch.phase is Phase.COMING else epoch.count - self._pending_count()
        counts = epoch.class_counts
        if counts is None:
            counts = count_classes(self.pruner, self._trained_ids())
        return report_on(self.pruner, epoch, counts, observed, self._shared().watched(), self._class_names)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """All state, as bytes in a tensor: the same on every rank, and for any number of ranks.

        It holds what was observed, not what workers have prefetched.

        Raises:
            InvalidArgument: If `synchronize` has to be called first.
        """
        self._require_exchanged()
        return self._shared().state()

    def _require_exchanged(self) -> None:
        self._observer.settle()
        if self._observer:
            raise InvalidArgument("state_dict: this rank holds losses that the others do not have; call synchronize() "
                                  "on all ranks first. torchdata's StatefulDataLoader asks for states at any time: "
                                  "give it batch_sampler=PruningBatchSampler(sampler, batch_size)")

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continues exactly where `state_dict` was called, also with another number of ranks or workers.

        Raises:
            StateMismatch: If it is not such a state, or belongs to other data, another method or other options.
        """
        if "pruner" not in state:
            raise StateMismatch("load_state_dict: not a state of PruningSampler: it has no \"pruner\"")
        self._observer.settle()
        if self._ahead is not None:
            self._ahead.result()
        self._shared().set_state(state)
        self._start()

    def _missing(self) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]]:
        """Tells, of ids, which samples have no loss at this moment, before the first epoch."""
        missing = np.zeros(self.pruner.sample_count, bool)
        missing[self.pruner.pending_ids()] = True
        return missing.__getitem__

    def select_ahead(self) -> None:
        """Begins to select the next epoch in a thread, while the loop evaluates or saves. All ranks must call it.

        The selections are the same as without it.

        Raises:
            InvalidArgument: If samples of the epoch under way have not been observed yet.
        """
        self.synchronize()
        epoch = self._epoch
        coming = epoch.phase is Phase.COMING
        if not coming and not self._window_done():
            raise InvalidArgument(f"select_ahead: {self._pending_count()} samples of epoch {epoch.number} have not "
                                  "been observed yet; call it after the last batch")
        if self._ahead is None:
            self._ahead = Ahead(epoch.number if coming else epoch.number + 1, self._choose)

    def _enter(self, number: int) -> None:
        self.synchronize()
        if self._stream_filter is not None:
            self._tell_what_is_missing()
        self._observer.end_epoch()
        self._select(number)
        if self._epoch.clipped_part > 0.9:
            warnings.warn(f"over 90 % of the losses of the last epoch were clipped, so {self.pruner.method} cannot "
                          "tell its samples apart; give a larger clip=, or \"none\"", RuntimeWarning, stacklevel=4)

    def _tell_what_is_missing(self) -> None:
        """Warns if a stream has ended and samples that its epoch keeps were never observed."""
        epoch, missing = self._epoch, self._pending_count()
        if epoch.phase is not Phase.UNDER_WAY or missing == 0:
            return
        if missing < len(epoch.ids):
            cause = "do loader and stream read every shard, also the last batch?"
        elif self.pruner.learns:
            cause = "call sampler.observe(ids, losses) for every batch"
        else:
            return
        warnings.warn(f"epoch {epoch.number}: {missing} of {len(epoch.ids)} samples that it keeps were never observed, "
                      f"the first is {self.pruner.pending_ids()[0]}: {cause}", RuntimeWarning, stacklevel=4)

    def _select(self, number: int) -> None:
        ahead, self._ahead = self._ahead, None
        shared = self._shared()
        chosen = shared.change(f"select epoch {number}", lambda: self._choose_now(number, ahead))
        self._epoch = chosen.epoch_of(self.pruner)
        shared.selected = self._epoch.ids
        self._observer.begin_epoch(self._epoch)
        if self._share(self._epoch.count) == 0:
            raise InvalidArgument(f"PruningSampler: epoch {number} has {self._epoch.count} samples, fewer than one "
                                  f"batch of {self._batch_size} on each of {self._ranks.size} ranks, so nothing would "
                                  "be trained; choose a smaller batch_size")

    def _choose_now(self, number: int, ahead: Ahead | None) -> Chosen:
        """Where the pruner is."""
        shared = self._shared()
        made = None if ahead is None else ahead.result()
        chosen = made if made is not None and made.number == number else self._choose(number)
        ids = chosen.selection.ids
        trained = ids[:self._share(len(ids)) * self._ranks.size]
        if shared.watch is not None and len(trained) > 0:
            shared.watch.begin_epoch(number, trained, chosen.clipped_part)
        if shared.is_shared:  # the others do not know the labels
            shared.selected = ids
            chosen.class_counts = count_classes(self.pruner, trained)
        return chosen

    def _choose(self, number: int) -> Chosen:
        if not self._shared().leads:
            return Chosen(-1)
        pruner = self.pruner
        return Chosen(number, pruner.select_in_order(number), pruner.clipped_part, pruner.log_prior())

    def _pending_count(self) -> int:
        """How many samples of the epoch have not been observed; the pruner itself may be an epoch ahead."""
        return self.pruner.pending_count if self._ahead is None else 0

    def _places_left(self) -> slice | NDArray[np.bool_]:
        """Where the order of the epoch has samples that have not been observed."""
        ids, count = self._epoch.ids, self._pending_count()
        if count == len(ids):
            return slice(None)
        if count == 0:
            return slice(0)
        pending = np.zeros(self.pruner.sample_count, bool)
        pending[self.pruner.pending_ids()] = True
        left: NDArray[np.bool_] = pending[ids]
        return left

    def _share(self, count: int) -> int:
        """How many of `count` samples each rank takes: the same on all, in total possibly more than there are."""
        if self._batch_size is None:
            return math.ceil(count / self._ranks.size)
        return count // (self._batch_size * self._ranks.size) * self._batch_size

    def _trained_ids(self) -> NDArray[np.int64]:
        """The samples that all ranks together train on in this epoch, without repeats."""
        return self._epoch.ids[:self._share(self._epoch.count) * self._ranks.size]

    def _part(self, values: NDArray[Value], of_epoch: NDArray[Value]) -> NDArray[Value]:
        """What this rank takes of the samples' values: every size-th one, in place.

        Those of the first samples of the epoch fill up the rest, also after resuming, so that the same ones are trained
        twice.
        """
        size, rank = self._ranks.size, self._ranks.rank
        count = self._share(len(values)) * size
        part = values[:count][rank::size]
        places = np.arange(len(values), count)
        repeats = np.resize(of_epoch, len(places))[places % size == rank]
        return part if len(repeats) == 0 else np.concatenate([part, repeats])

    def _planned_length(self, epoch: int) -> int:
        count = planned_count(self.pruner, epoch)
        if count is None:
            where = " on all ranks" if self._ranks.size > 1 else ""
            raise TypeError(f"PruningSampler: the length of epoch {epoch} of {self.pruner.method} is not known yet; "
                            f"call set_epoch({epoch}){where} first")
        return self._share(count)

    def __repr__(self) -> str:
        ranks = f", rank {self._ranks.rank} of {self._ranks.size}" if self._ranks.size > 1 else ""
        return f"PruningSampler({self.pruner!r}{ranks})"

    def __getstate__(self) -> dict[str, Any]:
        """For copies and other processes: they do not share the process group, and join their own."""
        if self._copy is not None:
            self._observer.settle()
        if self._copy is not None and self._observer:
            raise InvalidArgument("PruningSampler: this rank holds losses that the others do not have; call "
                                  "synchronize() on all ranks before you copy it")
        kept = self.__dict__.copy()
        for name in ("_ranks", "_observer", "_group", "_stream_filter", "_repeats"):
            kept.pop(name, None)
        return kept

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._group = None
        self._stream_filter = self._repeats = None  # the stream goes on with the original
        if self._copy is not None:
            self._ranks = Ranks(None, self._copy.host)
            self._observer = self._make_observer()
            self._observer.begin_epoch(self._epoch)


def _names_of_classes(class_count: int, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is not None and len(names) != class_count:
        raise InvalidArgument(f"PruningSampler: {len(names)} class_names for {class_count} classes; give one for each, "
                              "in the order of their numbers")
    return None if names is None else tuple(map(str, names))


def _require_word(name: str, word: str, *words: str) -> None:
    if word not in words:
        known = " or ".join(f'"{each}"' for each in words)
        raise InvalidArgument(f'PruningSampler: {name} is "{word}"; it must be {known}')
