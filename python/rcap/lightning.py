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

Checkpoints hold the state of the sampler. A run goes on from one exactly as if it had never stopped: from the end of an
epoch with any number of devices, from the middle of one with the same devices and batch size.
"""

from torch.utils.data import DataLoader, DistributedSampler

from . import InvalidArgument, StateMismatch
from ._steered import SteeredSampler, initial_loader as loader_of_this_rank, keeps_length
from .torch import initial_losses, wants_initial_losses

try:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.utilities import CombinedLoader
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.split(".")[0] != "lightning":
        raise
    raise ModuleNotFoundError('rcap.lightning needs the package lightning: pip install "rcap[lightning]"',
                              name="lightning") from missing

__all__ = ["PruningCallback", "PruningSampler"]


class PruningSampler(SteeredSampler):
    """`rcap.torch.PruningSampler` as Lightning wants it: its length is that of a whole epoch, also of a resumed one.

    It may be made before the devices are started. Give it to the training loader and to `PruningCallback`.
    """


class PruningCallback(Callback):
    """Steers a sampler through the epochs of a Trainer, and keeps its state in the checkpoints.

    initial_loader: of the whole data set, `Indexed`, for a method that wants the loss of every sample before training
    (RCAP does). Each device takes its part.
    losses: of (module, batch) in that pass, one for each sample; by default the cross entropy of (inputs, targets).
    """

    def __init__(self, sampler, *, initial_loader=None, losses=None):
        if not isinstance(sampler, PruningSampler):
            raise InvalidArgument(f"PruningCallback: the sampler is a {type(sampler).__module__}."
                                  f"{type(sampler).__name__}; make it with rcap.lightning.PruningSampler")
        self.sampler = sampler
        self._initial_loader = initial_loader
        self._losses = losses
        self._fitting = False
        self._batch_size = None  # of the training loader
        self._resumed_batch_size = None  # of the run that was stopped in mid-epoch

    def setup(self, trainer, pl_module, stage):
        self._fitting = stage == "fit"
        if not self._fitting:
            return
        if not keeps_length(self.sampler.pruner) and trainer.reload_dataloaders_every_n_epochs != 1:
            raise InvalidArgument(
                f"PruningCallback: the epochs of {self.sampler.pruner.method} differ in length, and Lightning asks for "
                "it once; give the Trainer reload_dataloaders_every_n_epochs=1")
        self.sampler.join()
        if self.sampler.rank_count != trainer.world_size:
            raise InvalidArgument(
                f"PruningCallback: the Trainer has {trainer.world_size} processes, but torch.distributed "
                f"{self.sampler.rank_count}; use a strategy that starts a process for each device, such as ddp")

    def on_fit_start(self, trainer, pl_module):
        if not wants_initial_losses(self.sampler.pruner):
            return
        given = self._initial_loader
        if given is None:
            raise InvalidArgument(
                f"PruningCallback: {self.sampler.pruner.method} wants the loss of every sample before training; give "
                "initial_loader=DataLoader(Indexed(dataset), batch_size=...), or RCAP(..., initial_loss=\"log-c\")")
        loader = loader_of_this_rank(given.dataset, self.sampler, batch_size=given.batch_size,
                                     num_workers=given.num_workers, collate_fn=given.collate_fn,
                                     pin_memory=given.pin_memory)
        with trainer.precision_plugin.forward_context():
            initial_losses(pl_module, loader, self.sampler, losses=self._losses, device=pl_module.device)

    def on_train_start(self, trainer, pl_module):
        """The first moment at which Lightning's own copy of the loader can be seen."""
        loader = self._find_loader(trainer)
        if len(loader.dataset) != self.sampler.pruner.sample_count:
            raise InvalidArgument(f"PruningCallback: the data set has {len(loader.dataset)} samples, the labels are "
                                  f"{self.sampler.pruner.sample_count}; give the pruner the labels of this data set")
        if self._resumed_batch_size not in (None, loader.batch_size):
            raise StateMismatch(
                "PruningCallback: the checkpoint was written in the middle of an epoch with batches of "
                f"{self._resumed_batch_size}, this loader makes batches of {loader.batch_size}; Lightning counts "
                "batches, so go on with the same size, or from the end of an epoch")
        self._batch_size, self._resumed_batch_size = loader.batch_size, None

    def _find_loader(self, trainer):
        loaders = [loader for loader in CombinedLoader(trainer.train_dataloader).flattened
                   if isinstance(loader, DataLoader)]
        for loader in loaders:
            if loader.sampler is self.sampler:
                return loader
        if any(isinstance(loader.sampler, DistributedSampler) for loader in loaders):
            raise InvalidArgument("PruningCallback: Lightning has put a DistributedSampler around the sampler, which "
                                  "shares out its part again; give the Trainer use_distributed_sampler=False")
        found = ", ".join(type(loader.sampler).__name__ for loader in loaders) or "none"
        raise InvalidArgument(f"PruningCallback: no training loader uses the sampler of this callback, but {found}; "
                              "make it with DataLoader(Indexed(dataset), sampler=sampler, ...), not overfit_batches")

    def on_train_epoch_end(self, trainer, pl_module):
        """Checkpoints of the end of an epoch are written after this, and begin with the next one."""
        if not self.sampler.any_observed:
            raise InvalidArgument(f"PruningCallback: no loss was observed in epoch {self.sampler.epoch}; let "
                                  "training_step return sampler.observe(ids, losses)")
        self.sampler.set_epoch(self.sampler.epoch + 1)

    def state_dict(self):
        """Lightning calls this on all ranks."""
        self.sampler.synchronize()
        return {"sampler": self.sampler.state_dict(), "ranks": self.sampler.rank_count, "batch_size": self._batch_size}

    def on_load_checkpoint(self, trainer, pl_module, checkpoint):
        if not self._fitting:
            return
        state = checkpoint["callbacks"].get(self.state_key)
        if state is None:
            raise StateMismatch("PruningCallback: the checkpoint holds no state of a sampler; go on from one that was "
                                "written with this callback, or load only its weights")
        self.sampler.load_state_dict(state["sampler"])
        self._resumed_batch_size = None
        if self.sampler.under_way:
            self._check_ranks(state)
            self._resumed_batch_size = state["batch_size"]
        elif self.sampler.epoch_done and _skips_the_end(checkpoint["loops"]["fit_loop"]):
            self._skip_the_end()

    def _check_ranks(self, state):
        if state["ranks"] != self.sampler.rank_count:
            raise StateMismatch(
                f"PruningCallback: the checkpoint was written in the middle of an epoch by {state['ranks']} processes, "
                f"now there are {self.sampler.rank_count}; Lightning counts batches, so go on with as many, or from "
                "the end of an epoch")

    def _skip_the_end(self):
        if not keeps_length(self.sampler.pruner):
            raise StateMismatch(
                "PruningCallback: the checkpoint was written after the last batch of an epoch but before its end, and "
                f"the epochs of {self.sampler.pruner.method} differ in length; go on from one of the end of an epoch")
        self.sampler.set_epoch(self.sampler.epoch + 1)


def _skips_the_end(progress):
    """Whether Lightning goes on with the next epoch from a checkpoint that the last batch of one has written."""
    batches = progress["epoch_loop.batch_progress"]
    return batches["is_last_batch"] and batches["current"]["completed"] < batches["current"]["processed"]
