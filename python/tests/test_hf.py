"""rcap.hf with the real Trainer of transformers."""

import pathlib
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import rcap

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from transformers import PrinterCallback, Trainer, TrainingArguments

from rcap.hf import STATE_FILE, TESTED, PruningMixin, _check_hooks
from small_network import (
    METHODS, Recorder, check_rest, check_selections, make_layer, make_points, make_pruner, same_weights)
from training import BATCH, EPOCHS, LABELS

pytestmark = pytest.mark.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = make_layer()

    def forward(self, x, labels=None):
        logits = self.layer(x)
        return {"logits": logits} if labels is None else {"loss": F.cross_entropy(logits, labels), "logits": logits}


class Rows(torch.utils.data.Dataset):
    """Its rows have a column that the model does not take, of which no tensor can be made."""

    def __init__(self, count=None):
        self.x, self.y = torch.from_numpy(make_points()), torch.from_numpy(LABELS)
        self.count = count or len(LABELS)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.y[index], "name": f"sample {index}"}


class PruningTrainer(PruningMixin, Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.recorder = Recorder(self.sampler)
        self.remove_callback(PrinterCallback)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        plain, self.sampler = self.sampler, self.recorder
        try:
            return super().compute_loss(model, inputs, return_outputs, **kwargs)
        finally:
            self.sampler = plain


def make_trainer(method, folder, pruner=None, dataset=None, kind=PruningTrainer, watch=False, **options):
    settings = dict(
        num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, learning_rate=0.1, optim="sgd", seed=1,
        report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True, use_cpu=True)
    arguments = TrainingArguments(str(folder), **{**settings, **options})
    return kind(model=Network(), args=arguments, train_dataset=dataset or Rows(), eval_dataset=Rows(20),
                pruner=pruner or make_pruner(method), watch=watch)


@pytest.mark.parametrize("bf16", [False, True])
def test_the_pass_before_training_computes_as_training_does(bf16, tmp_path):
    kinds = []

    class Watching(PruningTrainer):
        def sample_losses(self, model, inputs):
            losses, outputs = super().sample_losses(model, inputs)
            kinds.append((model.training, outputs["logits"].dtype, torch.is_autocast_enabled("cpu")))
            return losses, outputs

    pruner = rcap.RCAP(LABELS, pruning_rate=0.6, initial_loss="forward")
    make_trainer("rcap", tmp_path, pruner=pruner, kind=Watching, bf16=bf16, num_train_epochs=1).train()
    before = {dtype for training, dtype, _ in kinds if not training}
    assert before == {torch.bfloat16 if bf16 else torch.float32}


def test_samples_that_are_left_out_get_a_forward_pass_after_each_epoch_but_the_last(tmp_path):
    passes = []

    class Watching(PruningTrainer):
        def _refresh(self):
            before = self.sampler.refresh_ids
            super()._refresh()
            passes.append((self.sampler.epoch, len(before), len(self.sampler.refresh_ids)))

    pruner = rcap.Kakurenbo(LABELS, epochs=EPOCHS, hidden=0.5, confidence=0.4)
    with pytest.warns(RuntimeWarning, match="kakurenbo raises the learning rate"):
        trainer = make_trainer("rcap", tmp_path, pruner=pruner, kind=Watching)
    trainer.train()
    assert [epoch for epoch, _, _ in passes] == list(range(EPOCHS - 1))
    assert all(left == 0 for _, _, left in passes)
    assert passes[-1][1] > 0


def train(method, folder, checkpoint=None, **options):
    trainer = make_trainer(method, folder, **options)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    return trainer


@pytest.mark.parametrize("method", METHODS)
def test_trains_every_selected_sample_once_and_shows_its_loss(method, tmp_path):
    pruner = make_pruner("rcap", initial_loss="log-c") if method == "rcap" else None
    check_selections(train(method, tmp_path, pruner=pruner).recorder, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_change_nothing(method, persistent, tmp_path):
    alone = train(method, tmp_path)
    helped = train(method, tmp_path, dataloader_num_workers=2, dataloader_persistent_workers=persistent)
    assert [helped.recorder.batches(epoch) for epoch in range(EPOCHS)] == [
        alone.recorder.batches(epoch) for epoch in range(EPOCHS)]
    assert same_weights(helped.model, alone.model)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_run_ends_as_if_never_stopped(method, workers, tmp_path):
    options = {"dataloader_num_workers": workers, "gradient_accumulation_steps": 2}
    whole = train(method, tmp_path, save_strategy="steps", save_steps=1, **options)
    steps = [-(-len(whole.recorder.batches(epoch)) // 2) for epoch in range(EPOCHS)]
    for step in (2, steps[0], steps[0] + 1, steps[0] + 3, steps[0] + steps[1]):
        rest = train(method, tmp_path, checkpoint=tmp_path / f"checkpoint-{step}", **options)
        check_rest(rest.recorder, whole.recorder)
        assert rest.state.global_step == whole.state.global_step == sum(steps)
        assert sum(-(-len(rest.recorder.batches(epoch)) // 2) for epoch in range(EPOCHS)) == sum(steps) - step
        assert same_weights(rest.model, whole.model), step
        assert rest.sampler.pruner.state() == whole.sampler.pruner.state(), step


def test_the_sampler_reports_also_after_a_resume(tmp_path):
    trainer = make_trainer("rs2", tmp_path, watch=True, save_strategy="epoch")
    trainer.train()
    resumed = make_trainer("rs2", tmp_path, watch=True)
    resumed.train(resume_from_checkpoint=sorted(map(str, tmp_path.glob("checkpoint-*")), key=len)[0])
    for each in (trainer, resumed):
        report = each.sampler.report()
        assert (report.epoch, report.observed, report.seen, report.watched_since) == (EPOCHS - 1, 92, 205, 0)


def test_the_learning_rate_falls_over_the_true_number_of_steps(tmp_path):
    for method in ("rcap", "ucb"):
        trainer = train(method, tmp_path, lr_scheduler_type="linear")
        batches = sum(len(trainer.recorder.batches(epoch)) for epoch in range(EPOCHS))
        assert trainer.state.max_steps == trainer.state.global_step == batches
        assert set(trainer.lr_scheduler.get_last_lr()) == {0.0}


@pytest.mark.parametrize("own_losses", [False, True])
def test_accumulated_gradients_are_those_of_a_large_batch(own_losses, tmp_path):
    """Without batch norm, two batches of 4 make the step of one of 8."""
    def weights(**options):
        trainer = make_trainer("rs2", tmp_path, num_train_epochs=1, max_grad_norm=0.0, **options)
        trainer.model.layer[0] = nn.Identity()
        if own_losses:
            trainer.compute_loss_func = lambda outputs, labels, **_: F.cross_entropy(
                outputs["logits"], labels, reduction="none")
        trainer.train()
        return trainer.model.layer[1].weight.detach()

    # 92 samples are kept: the last step has 4, so that 4 and 8 make the same steps.
    assert make_pruner("rs2").keep_count == 92
    once = weights()
    assert torch.allclose(weights(per_device_train_batch_size=4, gradient_accumulation_steps=2), once, atol=1e-5)
    assert not torch.allclose(weights(per_device_train_batch_size=4), once, atol=1e-3)


def test_the_pass_before_training_leaves_the_network_as_it_was(tmp_path):
    trainer = make_trainer("rcap", tmp_path)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.get_train_dataloader()
    assert trainer.sampler.pruner.pending_count == 0
    assert all(torch.equal(value, before[name]) for name, value in trainer.model.state_dict().items())


def test_an_evaluation_is_not_observed(tmp_path):
    trainer = make_trainer("rs2", tmp_path, eval_strategy="epoch", logging_strategy="epoch")
    trainer.train()
    assert sorted(trainer.recorder.seen) == list(range(EPOCHS))
    assert sum("eval_loss" in entry for entry in trainer.state.log_history) == EPOCHS


class TestSaysWhatIsWrong:
    def test_another_data_set(self, tmp_path):
        with pytest.raises(rcap.InvalidArgument, match="has 200 samples, but there are 205 labels"):
            make_trainer("rs2", tmp_path, dataset=Rows(200))

    @pytest.mark.parametrize("option", ["auto_find_batch_size", "ignore_data_skip"])
    def test_options_that_cannot_work(self, option, tmp_path):
        with pytest.raises(rcap.InvalidArgument, match=option):
            make_trainer("rs2", tmp_path, **{option: True})

    def test_a_loss_that_is_not_of_single_samples(self, tmp_path):
        trainer = make_trainer("rs2", tmp_path)
        trainer.compute_loss_func = lambda outputs, labels, **_: F.cross_entropy(outputs["logits"], labels)
        with pytest.raises(rcap.InvalidArgument, match='with reduction="none"'):
            trainer.train()

    def test_a_checkpoint_without_a_sampler(self, tmp_path):
        train("rs2", tmp_path, save_strategy="steps", save_steps=5)
        (tmp_path / "checkpoint-5" / STATE_FILE).unlink()
        with pytest.raises(rcap.StateMismatch, match="written with PruningMixin"):
            train("rs2", tmp_path, checkpoint=tmp_path / "checkpoint-5")

    def test_another_batch_size_in_mid_epoch(self, tmp_path):
        train("rs2", tmp_path, save_strategy="steps", save_steps=5)
        with pytest.raises(rcap.StateMismatch, match="with 8 samples in the batches of all ranks, but now there are 4"):
            train("rs2", tmp_path, checkpoint=tmp_path / "checkpoint-5", per_device_train_batch_size=4)

    @pytest.mark.parametrize("package", ["transformers", "accelerate"])
    def test_a_missing_package(self, package):
        code = f"import sys; sys.modules['{package}'] = None; import rcap.hf"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert f"rcap.hf needs the package {package}: pip install {package}" in result.stderr

    @pytest.mark.parametrize("run_epoch, complaint", [
        (None, "Trainer has no _run_epoch"),
        (lambda self, epoch: None, "Trainer._run_epoch has no parameter train_dataloader")])
    def test_a_trainer_that_it_does_not_know(self, run_epoch, complaint):
        other = type("Trainer", (Trainer,), {"_run_epoch": run_epoch})
        version = f"in transformers {transformers.__version__} {complaint}; it is tested with {TESTED}"
        with pytest.raises(ImportError, match=version):
            _check_hooks(other)

    def test_a_transformers_without_a_part(self):
        code = "from transformers import trainer_utils; del trainer_utils.seed_worker; import rcap.hf"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "one is missing: cannot import name 'seed_worker'" in result.stderr
        assert f"it is tested with {TESTED}: pip install 'rcap-pruning[hf]'" in result.stderr


def test_two_processes_share_the_selection_and_resume(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
               str(HERE / "hf_job.py"), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
