"""Pruning with Lightning.

    from rcap.lightning import PruningCallback, PruningSampler
    from rcap.torch import Indexed

    class Network(L.LightningModule):
        def training_step(self, batch, batch_idx):
            (x, y), ids = batch
            losses = F.cross_entropy(self(x), y, reduction="none")
            return self.sampler.observe(ids, losses)

    sampler = PruningSampler(rcap.RCAP(labels, pruning_rate=0.9))
    network.sampler = sampler
    callback = PruningCallback(sampler, initial_loader=DataLoader(Indexed(dataset), batch_size=256))
    trainer = L.Trainer(callbacks=[callback], use_distributed_sampler=False)
    trainer.fit(network, DataLoader(Indexed(dataset), sampler=sampler, batch_size=128))

Checkpoints hold the state of the sampler. A run continues from one exactly as if it had never stopped: from the end of
an epoch with any number of devices, from the middle of one with the same number of devices and the same batch size.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from torch import Tensor
from torch.distributed import ProcessGroup
from torch.utils.data import DataLoader, DistributedSampler

from . import InvalidArgument, StateMismatch
from . import torch as rcap_torch
from .torch._initial_pass import initial_losses, loader_of_this_rank
from .torch._shared import PrunerSource
from .torch._steps import keeps_length, wants_initial_losses

try:
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import BatchSizeFinder, Callback
    from lightning.pytorch.utilities import CombinedLoader
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.split(".")[0] != "lightning":
        raise
    raise ModuleNotFoundError("rcap.lightning needs the package lightning: pip install lightning",
                              name="lightning") from missing

__all__ = ["PruningCallback", "PruningSampler"]


class PruningSampler(rcap_torch.PruningSampler):
    """`rcap.torch.PruningSampler` with `counts_epochs=False`: Lightning counts the epochs.

    It may be made before the devices are started. Give it to the training loader and to `PruningCallback`.
    """

    _JOINS_LATER = True

    def __init__(self, pruner: PrunerSource, *, batch_size: int | None = None, group: ProcessGroup | None = None,
                 watch: bool = False, class_names: Sequence[str] | None = None) -> None:
        super().__init__(pruner, batch_size=batch_size, group=group, counts_epochs=False, watch=watch,
                         class_names=class_names)


class PruningCallback(Callback):
    """Moves a sampler through the epochs of a Trainer, and keeps its state in the checkpoints.

    Args:
        sampler: The sampler of the training loader.
        initial_loader: A loader over the whole data set, `Indexed`, for a method that needs the loss of every sample
            before training (`pruner.needs_initial_losses`). Each device takes its part.
        losses: A function of (module, batch) that returns one loss for each sample; by default the cross entropy of
            (inputs, targets).
        log_report: Whether to send the sampler's report to the Trainer's loggers at the end of each epoch; "all" for
            the numbers of every class.

    Raises:
        InvalidArgument: If the sampler is not one for Lightning, or log_report is anything else.
    """

    def __init__(self, sampler: rcap_torch.PruningSampler, *, initial_loader: DataLoader[Any] | None = None,
                 losses: Callable[[Any, Any], Tensor] | None = None,
                 log_report: bool | Literal["all"] = False) -> None:
        if not isinstance(sampler, rcap_torch.PruningSampler) or sampler.counts_epochs or sampler.hands_out != "rest":
            raise InvalidArgument(f"PruningCallback: the sampler is a {type(sampler).__module__}."
                                  f"{type(sampler).__name__}; make it with rcap.lightning.PruningSampler")
        if log_report not in (False, True, "all"):
            raise InvalidArgument(f'PruningCallback: log_report is "{log_report}"; it must be False, True or "all"')
        self.sampler = sampler
        self._log_report = log_report
        self._initial_loader = initial_loader
        self._losses = losses
        self._fitting = False
        self._batch_size: int | None = None  # of the training loader
        self._resumed_batch_size: int | None = None  # of the run that stopped in mid-epoch

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._fitting = stage == "fit"
        if not self._fitting:
            return
        others = [callback for callback in trainer.callbacks if callback is not self]  # type: ignore[attr-defined]
        if any(isinstance(callback, BatchSizeFinder) for callback in others):
            raise InvalidArgument(
                "PruningCallback: scale_batch_size trains on the same samples again with other batch sizes, and the "
                "pruner counts them as trained; find the size without the callback, on the whole data")
        # A search for the learning rate trains in on_fit_start: initial losses must come before that.
        trainer.callbacks = [self, *others]  # type: ignore[attr-defined]
        self.sampler.join()
        reloads = trainer.reload_dataloaders_every_n_epochs  # type: ignore[attr-defined]  # a connector sets it
        if not keeps_length(self.sampler.pruner) and reloads != 1:
            raise InvalidArgument(
                f"PruningCallback: the epochs of {self.sampler.pruner.method} differ in length, but Lightning asks for "
                "the length once; give the Trainer reload_dataloaders_every_n_epochs=1")
        if self.sampler.rank_count != trainer.world_size:
            raise InvalidArgument(
                f"PruningCallback: the Trainer has {trainer.world_size} processes, but torch.distributed has "
                f"{self.sampler.rank_count}; use a strategy that starts a process for each device, such as ddp")
        if not wants_initial_losses(self.sampler.pruner):
            self.sampler.set_epoch(self.sampler.epoch)  # the length is known after this

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not wants_initial_losses(self.sampler.pruner):
            return
        given = self._initial_loader
        if given is None:
            raise InvalidArgument(
                f"PruningCallback: {self.sampler.pruner.method} needs the loss of every sample before training; give "
                "initial_loader=DataLoader(Indexed(dataset), batch_size=...), or RCAP(..., initial_loss=\"log-c\")")
        loader = loader_of_this_rank(given.dataset, self.sampler, batch_size=given.batch_size,
                                     num_workers=given.num_workers, collate_fn=given.collate_fn,
                                     pin_memory=given.pin_memory)
        with trainer.precision_plugin.forward_context():
            initial_losses(pl_module, loader, self.sampler, losses=self._losses, device=pl_module.device)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Checks the loader: Lightning's own copy of it is available from here on."""
        loader = self._find_loader(trainer)
        dataset: Any = loader.dataset
        if len(dataset) != self.sampler.pruner.sample_count:
            raise InvalidArgument(f"PruningCallback: the data set has {len(dataset)} samples, but there are "
                                  f"{self.sampler.pruner.sample_count} labels; give the pruner those of this data set")
        batch_size = getattr(loader.batch_sampler, "batch_size", loader.batch_size)
        if self._resumed_batch_size not in (None, batch_size):
            raise StateMismatch(
                "PruningCallback: the checkpoint was written in the middle of an epoch with batches of "
                f"{self._resumed_batch_size}, this loader makes batches of {batch_size}; Lightning counts "
                "batches, so resume with the same size, or from the end of an epoch")
        self._batch_size, self._resumed_batch_size = batch_size, None

    def _find_loader(self, trainer: Trainer) -> DataLoader[Any]:
        loaders = [loader for loader in CombinedLoader(trainer.train_dataloader).flattened
                   if isinstance(loader, DataLoader)]
        for loader in loaders:
            if self.sampler in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
                return loader
        if any(isinstance(loader.sampler, DistributedSampler) for loader in loaders):
            raise InvalidArgument("PruningCallback: Lightning has wrapped the sampler in a DistributedSampler, which "
                                  "shards its part again; give the Trainer use_distributed_sampler=False")
        found = ", ".join(type(loader.sampler).__name__ for loader in loaders) or "none"
        raise InvalidArgument(f"PruningCallback: no training loader uses the sampler of this callback, but {found}; "
                              "make it with DataLoader(Indexed(dataset), sampler=sampler, ...), not overfit_batches")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Checkpoints at the end of an epoch are written after this, and start at the next one."""
        if not self.sampler.any_observed:
            raise InvalidArgument(f"PruningCallback: no loss was observed in epoch {self.sampler.epoch}; make "
                                  "training_step return sampler.observe(ids, losses)")
        if self._log_report:
            self.sampler.synchronize()  # for a report of all ranks; the next epoch would exchange the losses anyway
            scalars = self.sampler.report().scalars("all" if self._log_report == "all" else "summary")
            pl_module.log_dict(scalars, sync_dist=trainer.world_size > 1)  # equal on all ranks
        self.sampler.set_epoch(self.sampler.epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        """Lightning calls this on all ranks."""
        self.sampler.synchronize()
        return {"sampler": self.sampler.state_dict(), "ranks": self.sampler.rank_count, "batch_size": self._batch_size}

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule,
                           checkpoint: dict[str, Any]) -> None:
        if not self._fitting:
            return
        state = checkpoint["callbacks"].get(self.state_key)
        if state is None:
            raise StateMismatch("PruningCallback: the checkpoint holds no state of a sampler; resume from one that was "
                                "written with this callback, or load only its weights")
        self.sampler.load_state_dict(state["sampler"])
        self._resumed_batch_size = None
        if self.sampler.epoch_done:
            if _skips_the_end(trainer, checkpoint["loops"]["fit_loop"]):
                self._skip_the_end()
        elif self.sampler.any_observed:
            if state["ranks"] != self.sampler.rank_count:
                raise StateMismatch(
                    f"PruningCallback: the checkpoint was written in the middle of an epoch by {state['ranks']} "
                    f"processes, but now there are {self.sampler.rank_count}; Lightning counts batches, so resume "
                    "with as many, or from the end of an epoch")
            self._resumed_batch_size = state["batch_size"]

    def _skip_the_end(self) -> None:
        if not keeps_length(self.sampler.pruner):
            raise StateMismatch(
                "PruningCallback: the checkpoint was written after the last batch of an epoch but before its end, and "
                f"the epochs of {self.sampler.pruner.method} differ in length; resume from the end of an epoch")
        self.sampler.set_epoch(self.sampler.epoch + 1)


def _skips_the_end(trainer: Trainer, progress: Mapping[str, Any]) -> bool:
    """Whether Lightning resumes at the next epoch: from 2.5 on, where the checkpoint was written at the last batch."""
    if not hasattr(trainer.fit_loop, "restarted_mid_epoch"):
        return False
    batches = progress["epoch_loop.batch_progress"]
    return bool(batches["is_last_batch"] and batches["current"]["completed"] < batches["current"]["processed"])
