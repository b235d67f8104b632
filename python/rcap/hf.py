"""Pruning with the Trainer of transformers.

    from transformers import Trainer, TrainingArguments
    from rcap.hf import PruningMixin

    class PruningTrainer(PruningMixin, Trainer):
        pass

    trainer = PruningTrainer(model=model, args=TrainingArguments("out"), train_dataset=dataset,
                             pruner=rcap.RCAP(labels, pruning_rate=0.9))
    trainer.train()

`labels` are the labels of `train_dataset`, in its order: the classes of a classifier, the domains of a language model's
text. Nothing else changes: the collator and the columns of the data set need not know about pruning. Checkpoints hold
the state of the sampler, and `resume_from_checkpoint` continues exactly as if the run had never stopped, also in the
middle of an epoch.
"""

import functools
import inspect
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

from . import InvalidArgument, Pruner, StateMismatch
from .torch import Indexed, PruningSampler, initial_losses, refresh_losses, sequence_losses, with_ids
from .torch._initial_pass import loader_of_this_rank
from .torch._sequences import mean_of_each, sequence_of_each_token
from .torch._shared import PrunerSource
from .torch._steps import keeps_length, wants_initial_losses


TESTED = "transformers 5.6.0 to 5.23.0"


def _does_not_fit(what: str) -> ImportError:
    return ImportError(f"rcap.hf uses parts of transformers that are not public, and in transformers "
                       f"{metadata.version('transformers')} {what}; it is tested with {TESTED}: "
                       "pip install 'rcap-pruning[hf]'")


try:
    from accelerate.data_loader import prepare_data_loader
    from transformers import trainer as _trainer
    from transformers.models.auto import modeling_auto as _models
    from transformers.trainer_utils import seed_worker
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.split(".")[0] not in ("accelerate", "transformers"):
        raise
    package = missing.name.split(".")[0]
    raise ModuleNotFoundError(f"rcap.hf needs the package {package}: pip install {package}",
                              name=missing.name) from missing
except ImportError as missing:
    if not str(missing.name).startswith("transformers"):
        raise
    raise _does_not_fit(f"one is missing: {missing}") from missing

if TYPE_CHECKING:
    from transformers.trainer import Trainer
    from transformers.training_args import TrainingArguments
else:
    Trainer = object  # the class that follows the mixin

# The methods of Trainer that are not public, with the parameters that the mixin counts on.
_HOOKS = {
    "set_initial_training_values": "args dataloader",
    "_inner_training_loop": "batch_size args resume_from_checkpoint",
    "_init_training_state": "",
    "_run_epoch": "epoch train_dataloader steps_in_epoch num_update_steps_per_epoch",
    "_save_optimizer_and_scheduler": "output_dir",
    "_remove_unused_columns": "dataset description",
    "_get_collator_with_removed_columns": "data_collator description",
}


def _check_hooks(trainer: type) -> None:
    """Without one of them a run would train on other samples than it observes, or resume elsewhere, and not say so."""
    for name, parameters in _HOOKS.items():
        method = getattr(trainer, name, None)
        if method is None:
            raise _does_not_fit(f"Trainer has no {name}")
        for parameter in parameters.split():
            if parameter not in inspect.signature(method).parameters:
                raise _does_not_fit(f"Trainer.{name} has no parameter {parameter}")


_check_hooks(_trainer.Trainer)

__all__ = ["PruningMixin"]

STATE_FILE = "rcap_sampler.pt"  # in a checkpoint's folder
IDS = "rcap_ids"  # in a batch
BOUNDS = "rcap_bounds"  # in a batch whose samples lie end to end: where each begins, and the end


class PruningMixin(Trainer):
    """Put before Trainer in the bases of a class: `class PruningTrainer(PruningMixin, Trainer)`.

    The losses of single samples come from `sample_losses`, which knows classifiers (also of several labels), regression
    and language models: causal, masked and sequence-to-sequence, padded or packed. For other models give
    `sample_losses`, override it, or give a `compute_loss_func` that returns one loss for each sample.

    Args:
        pruner: Selects the samples; made with the labels of `train_dataset`, in its order. Or a function that makes it,
            once for all ranks of a host.
        sample_losses: A function that is called in place of the method of this name.
        batch_losses: Whether only the mean loss of each batch is observed, which Trainer computes as without pruning:
            for fused kernels, which return no logits (`PruningSampler.observe_batch`).
        watch: Whether `trainer.sampler.report()` includes the losses and the coverage of the classes.
        *args: For Trainer.
        **kwargs: For Trainer.

    Raises:
        InvalidArgument: If the data set does not match the labels, or an argument of Trainer rules out pruning.
    """

    # What compute_loss returns is the mean of a batch: Trainer divides it by its accumulation steps.
    loss_is_scaled_for_ga = False

    def __init__(self, *args: Any, pruner: PrunerSource, watch: bool = False,
                 sample_losses: Callable[[torch.nn.Module, dict[str, Any]], tuple[Any, ...]] | None = None,
                 batch_losses: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._batch_losses = batch_losses
        if sample_losses is not None:
            setattr(self, "sample_losses", sample_losses)  # noqa: B010  (mypy lets no one assign to a method)
        dropped = self.args.train_batch_size if self.args.dataloader_drop_last else None
        # Trainer counts the epochs, and after resuming it skips the batches that are done, without loading them.
        self.sampler = PruningSampler(pruner, batch_size=dropped, hands_out="whole", counts_epochs=False,
                                      watch=watch)
        pruner = self.sampler.pruner
        self._check_arguments(pruner)
        if batch_losses and pruner.learns and not pruner.averages_batches:
            pruner.average_batches()

    def _check_arguments(self, pruner: Pruner) -> None:
        dataset: Any = self.train_dataset
        if dataset is None or isinstance(dataset, IterableDataset):
            raise InvalidArgument("PruningMixin: it needs a train_dataset that has a length and is indexed by position")
        if len(dataset) != pruner.sample_count:
            packed = "packing=True joins samples: pack them before, each class by itself" if getattr(
                self.args, "packing", False) else "give the pruner the labels of this data set"
            raise InvalidArgument(f"PruningMixin: the train_dataset has {len(dataset)} samples, but there are "
                                  f"{pruner.sample_count} labels; {packed}")
        if self.args.auto_find_batch_size:
            raise InvalidArgument("PruningMixin: auto_find_batch_size starts the training again in mid-epoch, which a "
                                  "pruner cannot follow; give per_device_train_batch_size")
        if self.args.ignore_data_skip:
            raise InvalidArgument("PruningMixin: ignore_data_skip trains on samples twice after resuming; leave it off")
        own_loss = self.label_smoother is not None or self.compute_loss_func is not None
        if _fuses_the_head(self) and not self._batch_losses and (
                own_loss or getattr(self.args, "loss_type", "nll") != "nll"):
            raise InvalidArgument("PruningMixin: of SFTTrainer it takes the loss of each token, which is plain cross "
                                  "entropy; leave out loss_type, label_smoothing_factor and compute_loss_func, or give "
                                  "batch_losses=True")
        if pruner.method == "infobatch" and self.args.max_steps > 0:
            raise InvalidArgument("PruningMixin: infobatch needs its epochs; give num_train_epochs, not max_steps")
        if pruner.method == "kakurenbo":
            warnings.warn("PruningMixin: kakurenbo raises the learning rate of epochs that hide samples, but Trainer's "
                          "schedule stays as it is; sampler.rate_factor is what it would multiply it by",
                          RuntimeWarning, stacklevel=3)

    # ---- losses

    def sample_losses(self, model: torch.nn.Module, inputs: dict[str, Any]) -> tuple[Any, ...]:
        """The losses of a batch, by default as the model itself computes its loss, but one for each sample.

        Args:
            model: The network.
            inputs: The batch, as the collator made it. If it laid the samples end to end, `inputs["rcap_bounds"]` says
                where each begins, and the end; take it out before you call the model.

        Returns:
            One loss for each sample, and the outputs of the model. For sequences also the count of tokens that each
            loss is the mean of: all tokens of the batch then weigh the same in training.

        Raises:
            InvalidArgument: If it is not clear what the loss of this model is.
        """
        bounds = inputs.pop(BOUNDS, None)
        if _fuses_the_head(self):
            outputs = self._outputs_of_trl(model, inputs)
            losses, tokens = _losses_of_log_probs(outputs, bounds)
            return losses, outputs, tokens
        network: Any = _network(self.accelerator.unwrap_model(model))
        labels = inputs["labels"]
        outputs = model(**_without_labels(inputs, network))
        if self.compute_loss_func is not None:
            return self.compute_loss_func(outputs, labels, num_items_in_batch=None), outputs
        logits = outputs["logits"] if isinstance(outputs, dict) else outputs[0]
        smoothing = self.args.label_smoothing_factor
        if logits.dim() == 3 and labels.dim() == 2:
            losses, tokens = sequence_losses(logits, labels, shift=_predicts_the_next_token(network), cu_seqlens=bounds,
                                             label_smoothing=smoothing)
            return losses, outputs, tokens
        return _losses_of_heads(network, logits, labels, smoothing), outputs

    def _outputs_of_trl(self, model: torch.nn.Module, inputs: dict[str, Any]) -> Any:
        """What the model returns to SFTTrainer, whose own compute_loss keeps its metrics up to date."""
        if not torch.is_grad_enabled():  # not a step
            return model(**inputs, fused_lm_head=True)
        seen: list[Any] = []
        hook = model.register_forward_hook(lambda module, arguments, outputs: seen.append(outputs))
        try:
            super().compute_loss(model, inputs)
        finally:
            hook.remove()
        return seen[-1]

    def _observed_losses(self, model: torch.nn.Module, inputs: dict[str, Any]) -> tuple[Any, ...]:
        """What `sample_losses` returns; or the mean of the batch for each of its samples."""
        if not self._batch_losses:
            return self.sample_losses(model, inputs)
        bounds = inputs.pop(BOUNDS, None)
        count = len(bounds) - 1 if bounds is not None else len(next(iter(inputs.values())))
        loss: Any = super().compute_loss(model, inputs)  # outputs would cost some trainers a second forward pass
        return loss.mean().reshape(1).expand(count).contiguous(), None

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Any], return_outputs: bool = False,
                     *args: Any, **kwargs: Any) -> torch.Tensor | tuple[torch.Tensor, Any]:
        ids = inputs.pop(IDS, None)
        if ids is None:  # an evaluation
            return super().compute_loss(model, inputs, return_outputs, *args, **kwargs)
        losses, outputs, *tokens = self._observed_losses(model, inputs)
        loss = self.sampler.observe(ids, losses, *tokens)
        items = kwargs.get("num_items_in_batch")
        if tokens and items is not None:  # every token of all accumulated batches weighs the same
            ranks = self.accelerator.num_processes if self.args.average_tokens_across_devices else 1
            loss = loss * (tokens[0].sum() * self.current_gradient_accumulation_steps * ranks / items)
        loss = loss + self._auxiliary_loss(model, outputs)
        if not self._trainer_divides(items):
            loss = loss / self.current_gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss

    def _auxiliary_loss(self, model: torch.nn.Module, outputs: Any) -> Any:
        """What keeps the experts of a mixture busy, which is a number of the batch; nothing for other models."""
        auxiliary = outputs.get("aux_loss") if isinstance(outputs, dict) else None
        if auxiliary is None or self._batch_losses:
            return 0.0
        return _network(self.accelerator.unwrap_model(model)).config.get_text_config().router_aux_loss_coef * auxiliary

    def _trainer_divides(self, num_items_in_batch: Any) -> bool:
        """Whether Trainer divides the mean of a batch by its accumulation steps, as it should; before 5.19 it did not
        for losses that it took for parts of a sum over all of these batches."""
        return hasattr(_trainer.Trainer, "loss_is_scaled_for_ga") or (
            self.compute_loss_func is None and not (self.model_accepts_loss_kwargs and num_items_in_batch is not None))

    # ---- data

    def get_train_dataloader(self) -> DataLoader[Any]:
        """A loader that is not sharded again: the sampler already takes this rank's part."""
        self._make_initial_pass()
        loader = DataLoader(
            Indexed(self._columns_of_the_model()), sampler=self.sampler, batch_size=self._train_batch_size,
            drop_last=self.args.dataloader_drop_last, collate_fn=_CollateWithIds(_CollateWithBounds(self._collator())),
            worker_init_fn=functools.partial(seed_worker, num_workers=self.args.dataloader_num_workers,
                                             rank=self.args.process_index),
            persistent_workers=self.args.dataloader_persistent_workers, **self._worker_options())
        prepared: DataLoader[Any] = prepare_data_loader(loader, self.args.device, num_processes=1, process_index=0,
                                                        put_on_device=True)
        return prepared

    def num_examples(self, dataloader: DataLoader[Any]) -> int:
        """How many samples an epoch trains on, for the speed that Trainer prints."""
        if isinstance(getattr(dataloader, "dataset", None), Indexed):
            return len(self.sampler) * int(self.args.world_size)
        return super().num_examples(dataloader)

    def _worker_options(self) -> dict[str, Any]:
        return {"num_workers": self.args.dataloader_num_workers, "pin_memory": self.args.dataloader_pin_memory,
                "prefetch_factor": self.args.dataloader_prefetch_factor,
                # Older versions have no such argument.
                "multiprocessing_context": getattr(self.args, "dataloader_multiprocessing_context", None)}

    def _columns_of_the_model(self) -> Any:
        dataset: Any = self.train_dataset
        # A datasets.Dataset: columns that are not needed are not decoded either.
        if hasattr(dataset, "remove_columns") and hasattr(dataset, "column_names"):
            return self._remove_unused_columns(dataset, description="training")
        return dataset

    def _collator(self) -> Callable[..., Any]:
        return self._get_collator_with_removed_columns(self.data_collator, description="training")

    def _make_initial_pass(self) -> None:
        if not wants_initial_losses(self.sampler.pruner):
            return
        loader = loader_of_this_rank(
            Indexed(self._columns_of_the_model()), self.sampler, batch_size=self.args.eval_batch_size,
            collate_fn=with_ids(_CollateWithBounds(self._collator())), **self._worker_options())
        model: Any = self.model
        # The model is wrapped for mixed precision only later; its first losses should be computed as in training.
        with self.accelerator.autocast(), self.compute_loss_context_manager():
            initial_losses(model, loader, self.sampler, device=self.args.device,
                           losses=lambda model, batch: self._observed_losses(model, batch)[0])

    # ---- steps: Trainer counts them once, from the length of the first epoch

    def set_initial_training_values(self, args: "TrainingArguments", dataloader: DataLoader[Any]) -> Any:
        self.sampler.set_epoch(self.sampler.epoch)  # the length is known after this
        values = super().set_initial_training_values(args, dataloader)
        epochs, steps_per_epoch, examples, samples, batch_size, batches, max_steps = values
        if not keeps_length(self.sampler.pruner):
            if args.max_steps > 0:
                epochs = max_steps  # more than there will be; the steps end the run
            else:
                pruner = self.sampler.pruner
                most = epochs * math.ceil(pruner.sample_count / batch_size)
                max_steps = pruner.planned_batches(epochs, batch_size) or most
        return epochs, steps_per_epoch, examples, samples, batch_size, batches, max_steps

    def _run_epoch(self, *args: Any, **kwargs: Any) -> Any:
        self.sampler.set_epoch(kwargs["epoch"])
        batches = len(kwargs["train_dataloader"])
        kwargs["steps_in_epoch"] = batches
        kwargs["num_update_steps_per_epoch"] = math.ceil(batches / self.args.gradient_accumulation_steps)
        run_epoch: Callable[..., Any] = super()._run_epoch
        result = run_epoch(*args, **kwargs)
        if kwargs["epoch"] + 1 < math.ceil(self.args.num_train_epochs):
            self._refresh()
        return result

    def _refresh(self) -> None:
        """A forward pass over the samples that the epoch left out, for methods that ask for it."""
        if not self.sampler.pruner.refreshes:
            return
        loader = self.sampler.refresh_loader(
            self._columns_of_the_model(), batch_size=self.args.eval_batch_size,
            collate_fn=_CollateWithBounds(self._collator()), **self._worker_options())
        model: Any = self.model
        with self.accelerator.autocast(), self.compute_loss_context_manager():
            refresh_losses(model, loader, self.sampler, device=self.args.device,
                           losses=lambda model, batch: self._observed_losses(model, batch)[0])

    def _init_training_state(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        found = super()._init_training_state(*args, **kwargs)
        if self.state.global_step == 0:
            return found
        if self.sampler.epoch_done:
            return self.sampler.epoch + 1, 0
        return self.sampler.epoch, self.sampler.batches_done(self._train_batch_size)

    # ---- checkpoints

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        super()._save_optimizer_and_scheduler(output_dir)
        self.sampler.synchronize()  # Trainer saves on all ranks
        if self.args.should_save:
            torch.save({"sampler": self.sampler.state_dict(), "batch_size": self._batch_of_all_ranks()},
                       os.path.join(output_dir, STATE_FILE))

    def _inner_training_loop(self, batch_size: int | None = None, args: "TrainingArguments | None" = None,
                             resume_from_checkpoint: str | None = None, *rest: Any, **options: Any) -> Any:
        if resume_from_checkpoint is not None:
            self._load_sampler(os.path.join(resume_from_checkpoint, STATE_FILE))
        return super()._inner_training_loop(batch_size, args, resume_from_checkpoint, *rest, **options)

    def _load_sampler(self, path: str) -> None:
        if not os.path.isfile(path):
            raise StateMismatch(f'PruningMixin: there is no "{path}"; resume from a checkpoint that was written with '
                                "PruningMixin, and without save_only_model")
        saved = torch.load(path, weights_only=True)
        self.sampler.load_state_dict(saved["sampler"])
        under_way = self.sampler.any_observed and not self.sampler.epoch_done
        if under_way and saved["batch_size"] != self._batch_of_all_ranks():
            raise StateMismatch(
                f"PruningMixin: the checkpoint was written in the middle of an epoch with {saved['batch_size']} "
                f"samples in the batches of all ranks, but now there are {self._batch_of_all_ranks()}; Trainer skips "
                "whole batches, so keep per_device_train_batch_size times ranks, or resume from the end of an epoch")

    def _batch_of_all_ranks(self) -> int:
        return int(self._train_batch_size * self.args.world_size)


class _CollateWithIds:
    """Collates as Trainer would, and adds the ids of the samples."""

    def __init__(self, collator: Callable[..., Any]) -> None:
        self._collator = collator

    def __call__(self, items: Sequence[tuple[Any, int]]) -> Any:
        batch = self._collator([item for item, _ in items])
        batch[IDS] = np.array([id for _, id in items])  # not a tensor: it is not needed on a device
        return batch


class _CollateWithBounds:
    """Collates as Trainer would; says where samples begin that the collator laid end to end, without padding."""

    def __init__(self, collator: Callable[..., Any]) -> None:
        self._collator = collator

    def __call__(self, items: Sequence[Any]) -> Any:
        lengths = [len(item["input_ids"]) if isinstance(item, Mapping) and "input_ids" in item else 0 for item in items]
        batch = self._collator(items)
        row = batch.get("input_ids")
        if len(items) == 1 or not isinstance(row, torch.Tensor) or row.dim() != 2 or len(row) != 1:
            return batch
        if 0 in lengths or sum(lengths) > row.numel():
            raise InvalidArgument(f"PruningMixin: the collator made one row of {row.numel()} tokens of {len(items)} "
                                  f"samples with {sum(lengths)}, so that it is not clear where each begins; cut "
                                  "samples to their length before the collator, and leave out empty ones")
        bounds = np.cumsum([0, *lengths])
        bounds[-1] = row.numel()  # padding at the end counts as part of the last one, and is masked
        batch[BOUNDS] = bounds
        return batch


# ---- what the loss of a model is

def _network(model: Any) -> Any:
    """The model of transformers, also inside an adapter of peft."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _without_labels(inputs: dict[str, Any], network: Any) -> dict[str, Any]:
    """The inputs, so that the model does not compute its own loss; a decoder's are made of the labels."""
    rest = {name: value for name, value in inputs.items() if name != "labels"}
    if hasattr(network, "prepare_decoder_input_ids_from_labels") and "decoder_input_ids" not in rest:
        rest["decoder_input_ids"] = network.prepare_decoder_input_ids_from_labels(labels=inputs["labels"])
    return rest


_NEXT = {*_models.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values(),
         *_models.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()}
_SAME = {*_models.MODEL_FOR_MASKED_LM_MAPPING_NAMES.values(),
         *_models.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES.values()}


def _predicts_the_next_token(network: Any) -> bool:
    """Whether the logits of a token are for the one after it. Those of a decoder are for its own: its inputs lag."""
    if getattr(getattr(network, "config", None), "is_encoder_decoder", False):
        return False
    names = {kind.__name__ for kind in type(network).__mro__}
    is_next, is_same = bool(names & _NEXT), bool(names & _SAME)
    if is_next == is_same:
        raise InvalidArgument(f"PruningMixin: {type(network).__name__} is not known as a causal or as a masked model, "
                              "so it is not clear which token its logits are for; give sample_losses, with "
                              "rcap.torch.sequence_losses(..., shift=True) or shift=False")
    return is_next


def _fuses_the_head(trainer: Any) -> bool:
    """Whether it computes the log probabilities of tokens without the logits, as SFTTrainer of TRL does."""
    modules = [sys.modules.get(kind.__module__) for kind in type(trainer).__mro__ if kind.__module__.startswith("trl.")]
    return any(hasattr(module, "add_fused_lm_head") for module in modules)


def _losses_of_log_probs(outputs: Any, bounds: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean loss of each sequence and its count of tokens, from what a fused head has of each next token."""
    by_token, counts = F.pad(-outputs.log_probs, (0, 1)), F.pad(outputs.label_mask, (0, 1))
    sequence, count = sequence_of_each_token(counts, bounds, None)
    tokens = torch.zeros(count, dtype=torch.int64, device=counts.device)
    tokens.index_add_(0, sequence, counts.reshape(-1).long())
    return mean_of_each(by_token.reshape(-1), tokens, sequence), tokens


def _losses_of_heads(network: Any, logits: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
    """One loss for each sample, of the kind that `config.problem_type` says or, without it, models conclude."""
    config = getattr(network, "config", None)
    kind = getattr(config, "problem_type", None)
    if kind is None and config is not None and logits.dim() == 2:
        several = "multi_label_classification" if labels.is_floating_point() else None
        kind = "regression" if logits.shape[1] == 1 else several
    if kind == "regression" and logits.numel() == labels.numel():
        errors = F.mse_loss(logits.float(), labels.reshape(logits.shape).float(), reduction="none")
        return errors.reshape(len(labels), -1).mean(1)
    if kind == "multi_label_classification" and logits.dim() == 2 and logits.shape == labels.shape:
        return F.binary_cross_entropy_with_logits(logits.float(), labels.float(), reduction="none").mean(1)
    if kind not in (None, "single_label_classification") or logits.dim() != 2 or labels.dim() != 1:
        raise InvalidArgument(f"PruningMixin: with logits of shape {tuple(logits.shape)}, labels of shape "
                              f"{tuple(labels.shape)} and the problem_type {kind}, it is not clear what the loss of a "
                              "sample is; give sample_losses, or set config.problem_type")
    return F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
