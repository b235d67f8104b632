"""rcap.lightning with the real Lightning."""

import csv
import logging
import pathlib
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

import rcap

L = pytest.importorskip("lightning")

from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from rcap.lightning import PruningCallback, PruningSampler
from rcap.torch import Indexed, total_steps
from rcap.torch import PruningSampler as PlainSampler
from small_network import (
    METHODS, Recorder, check_rest, check_selections, make_dataset, make_layer, make_pruner, same_weights)
from test_loggers import scalars_of
from training import BATCH, EPOCHS, LABELS

pytestmark = pytest.mark.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Network(L.LightningModule):
    def __init__(self, sampler):
        super().__init__()
        self.layer = make_layer()
        self.recorder = Recorder(sampler)
        self.validated = []

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        (x, y), ids = batch
        return self.recorder.observe(ids, F.cross_entropy(self(x), y, reduction="none"))

    def validation_step(self, batch, batch_idx):
        self.validated.append(self.current_epoch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


class Silent(Network):
    def training_step(self, batch, batch_idx):
        (x, y), _ = batch
        return F.cross_entropy(self(x), y)


def make_loader(sampler, workers=0, persistent=False, batch=BATCH):
    return DataLoader(Indexed(make_dataset()), sampler=sampler, batch_size=batch, num_workers=workers,
                      persistent_workers=persistent)


def make_callback(sampler):
    return PruningCallback(sampler, initial_loader=DataLoader(Indexed(make_dataset()), batch_size=64))


def make_trainer(folder, callbacks, method="rs2", **options):
    reload = 0 if method in ("rcap", "rs2") else 1
    settings = dict(
        max_epochs=EPOCHS, accelerator="cpu", devices=1, use_distributed_sampler=False, logger=False,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=any(
            isinstance(callback, ModelCheckpoint) for callback in callbacks), default_root_dir=folder,
        reload_dataloaders_every_n_epochs=reload, num_sanity_val_steps=0)
    return L.Trainer(callbacks=callbacks, **{**settings, **options})


def fit(method, folder, workers=0, persistent=False, callbacks=(), checkpoint=None, validate=False, pruner=None,
        loader=make_loader, **options):
    sampler = PruningSampler(pruner or make_pruner(method))
    network = Network(sampler)
    trainer = make_trainer(folder, [make_callback(sampler), *callbacks], method, **options)
    validation = DataLoader(make_dataset(), batch_size=128) if validate else None
    trainer.fit(network, loader(sampler, workers, persistent), validation, ckpt_path=checkpoint)
    return network


@pytest.mark.parametrize("method", METHODS)
def test_trains_every_selected_sample_once_and_shows_its_loss(method, tmp_path):
    pruner = make_pruner("rcap", initial_loss="log-c") if method == "rcap" else None
    check_selections(fit(method, tmp_path, pruner=pruner).recorder, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_change_nothing(method, persistent, tmp_path):
    alone = fit(method, tmp_path)
    helped = fit(method, tmp_path, workers=2, persistent=persistent)
    assert [helped.recorder.batches(epoch) for epoch in range(EPOCHS)] == [
        alone.recorder.batches(epoch) for epoch in range(EPOCHS)]
    assert same_weights(helped, alone)


def own_loader(sampler, workers=0, persistent=False):
    """The sampler's own, which gives ids as arrays."""
    return sampler.loader(make_dataset(), batch_size=BATCH, num_workers=workers, persistent_workers=persistent)


@pytest.mark.parametrize(("method", "workers"), [("rcap", 2), ("infobatch", 0)])
def test_the_loader_of_the_sampler_trains_the_same(method, workers, tmp_path):
    whole = fit(method, tmp_path / "whole")
    own = fit(method, tmp_path / "own", workers, loader=own_loader, callbacks=checkpoints(tmp_path / "own"))
    assert [own.recorder.batches(epoch) for epoch in range(EPOCHS)] == [
        whole.recorder.batches(epoch) for epoch in range(EPOCHS)]
    assert same_weights(own, whole)
    checkpoint = tmp_path / "own" / f"batch-step={len(whole.recorder.batches(0)) + 2}.ckpt"
    rest = fit(method, tmp_path / "rest", workers, loader=own_loader, checkpoint=checkpoint)
    check_rest(rest.recorder, whole.recorder)
    assert rest.recorder.seen and same_weights(rest, whole)


def test_the_pass_before_training_leaves_the_network_as_it_was(tmp_path):
    sampler = PruningSampler(make_pruner("rcap"))
    network = Network(sampler)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = {}

    class Look(L.Callback):
        def on_train_start(self, trainer, module):
            found.update({name: value.clone() for name, value in module.state_dict().items()})

    make_trainer(tmp_path, [make_callback(sampler), Look()]).fit(network, make_loader(sampler))
    assert sampler.pruner.epoch >= EPOCHS - 1
    assert before.keys() == found.keys()
    assert all(torch.equal(before[name], found[name]) for name in before)


def test_every_epoch_is_validated_also_where_epochs_differ_in_length(tmp_path):
    for method in METHODS:
        validated = fit(method, tmp_path, validate=True).validated
        assert sorted(set(validated)) == list(range(EPOCHS)), method


def logged(folder, logger, log_report, checkpoint=None):
    """Fits with a callback that logs; the report that an observer of the same run makes."""
    sampler = PruningSampler(make_pruner("rs2"), watch=True, class_names=["a", "b", "c"])
    callback = PruningCallback(sampler, log_report=log_report)
    trainer = make_trainer(folder, [callback, *checkpoints(folder)], logger=logger)
    trainer.fit(Network(sampler), make_loader(sampler), ckpt_path=checkpoint)
    return trainer


def expected_coverage():
    """RS2 goes through all 205 samples before any repeat, 92 an epoch."""
    return [92 / 205, 184 / 205, 1.0]


def test_the_report_is_logged_at_the_end_of_every_epoch(tmp_path):
    logger = TensorBoardLogger(tmp_path, name=None, version="")
    trainer = logged(tmp_path, logger, log_report=True)
    logger.finalize("success")
    scalars = scalars_of(tmp_path)
    assert [value for _, value in scalars["rcap/coverage"]] == pytest.approx(expected_coverage())
    assert [value for _, value in scalars["rcap/observed"]] == [92, 92, 92]
    assert [value for _, value in scalars["rcap/epoch"]] == [0, 1, 2]
    assert not any(name.startswith("rcap_class") for name in scalars)
    assert trainer.callback_metrics["rcap/coverage"] == 1  # for other callbacks to look at


def test_every_class_is_logged_if_asked_also_after_a_resume(tmp_path):
    logged(tmp_path, False, log_report=True)
    logger = CSVLogger(tmp_path, name="resumed")
    logged(tmp_path, logger, log_report="all", checkpoint=tmp_path / "end-epoch=0.ckpt")
    rows = list(csv.DictReader((pathlib.Path(logger.log_dir) / "metrics.csv").open()))
    assert [float(row["rcap/coverage"]) for row in rows] == pytest.approx(expected_coverage()[1:])
    assert float(rows[-1]["rcap_class_coverage/c"]) == 1
    assert float(rows[-1]["rcap_class_loss/a"]) > 0


class Checkpoint(ModelCheckpoint):
    """Several that differ in nothing but the moment have the same key; Lightning wants one for each."""

    @property
    def state_key(self):
        return f"checkpoint {self.filename}"


def checkpoints(folder):
    """After every batch, at the end of every validation, and at the end of every epoch."""
    return [Checkpoint(folder, "batch-{step}", every_n_train_steps=1, save_top_k=-1),
            Checkpoint(folder, "validation-{epoch}", every_n_epochs=1, save_top_k=-1, save_on_train_epoch_end=False),
            Checkpoint(folder, "end-{epoch}", every_n_epochs=1, save_top_k=-1, save_on_train_epoch_end=True)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_ends_as_if_never_stopped(method, workers, tmp_path):
    whole = fit(method, tmp_path, workers, callbacks=checkpoints(tmp_path), validate=True)
    lengths = [len(whole.recorder.batches(epoch)) for epoch in range(EPOCHS)]
    first, second = lengths[0], lengths[0] + lengths[1]
    points = ["end-epoch=0", "end-epoch=1", "validation-epoch=0", f"batch-step={first + 1}", f"batch-step={first + 4}",
              f"batch-step={second - 1}", "batch-step=2"]
    for point in points:
        rest = fit(method, tmp_path, workers, checkpoint=tmp_path / f"{point}.ckpt", validate=True)
        check_rest(rest.recorder, whole.recorder)
        trained = sum(len(rest.recorder.batches(epoch)) for epoch in range(EPOCHS))
        done = {"end-epoch=0": first, "end-epoch=1": second, "validation-epoch=0": first}
        assert trained == sum(lengths) - done.get(point, int(point.split("=")[1])), point
        assert same_weights(rest, whole), point
        assert rest.recorder.sampler.pruner.state() == whole.recorder.sampler.pruner.state(), point


@pytest.mark.parametrize("workers", [0, 2])
def test_a_checkpoint_of_the_last_batch_goes_on_with_the_next_epoch(workers, tmp_path):
    whole = fit("rcap", tmp_path, workers, callbacks=checkpoints(tmp_path))
    batches = len(whole.recorder.batches(0))
    rest = fit("rcap", tmp_path, workers, checkpoint=tmp_path / f"batch-step={batches}.ckpt")
    assert [rest.recorder.batches(epoch) for epoch in range(EPOCHS)] == [
        [], whole.recorder.batches(1), whole.recorder.batches(2)]
    assert same_weights(rest, whole)


def test_a_second_stop_in_one_epoch_changes_nothing(tmp_path):
    whole = fit("rcap", tmp_path / "a", callbacks=checkpoints(tmp_path / "a"))
    step = len(whole.recorder.batches(0)) + 2
    fit("rcap", tmp_path / "b", callbacks=checkpoints(tmp_path / "b"),
        checkpoint=tmp_path / "a" / f"batch-step={step}.ckpt")
    rest = fit("rcap", tmp_path, checkpoint=tmp_path / "b" / f"batch-step={step + 3}.ckpt")
    check_rest(rest.recorder, whole.recorder)
    assert same_weights(rest, whole)


@pytest.mark.parametrize("method, lightning_knows", [("rcap", True), ("rs2", True), ("ucb", False)])
def test_the_steps_of_a_run_are_known_before_it(method, lightning_knows, tmp_path):
    class Scheduled(Network):
        def configure_optimizers(self):
            self.estimated = self.trainer.estimated_stepping_batches
            return super().configure_optimizers()

    sampler = PruningSampler(make_pruner(method))
    network = Scheduled(sampler)
    trainer = make_trainer(tmp_path, [make_callback(sampler)], method)
    trainer.fit(network, make_loader(sampler))
    assert trainer.global_step == total_steps(sampler, EPOCHS, BATCH)
    assert (network.estimated == trainer.global_step) == lightning_knows


def test_testing_a_checkpoint_leaves_the_sampler_alone(tmp_path):
    class Tested(Network):
        def test_step(self, batch, batch_idx):
            pass

    sampler = PruningSampler(make_pruner("rs2"))
    network = Tested(sampler)
    trainer = make_trainer(tmp_path, [make_callback(sampler), *checkpoints(tmp_path)])
    trainer.fit(network, make_loader(sampler))
    state = sampler.pruner.state()
    trainer.test(network, DataLoader(make_dataset(), batch_size=64), ckpt_path=tmp_path / "end-epoch=0.ckpt",
                 verbose=False)
    assert sampler.pruner.state() == state


class TestSaysWhatIsWrong:
    def refused(self, expected, method, tmp_path, sampler=None, loader=None, callback=None, network=None, kind=None,
                **options):
        sampler = sampler or PruningSampler(make_pruner(method))
        trainer = make_trainer(tmp_path, [callback or make_callback(sampler)], **options)
        with pytest.raises(kind or rcap.InvalidArgument, match=expected):
            trainer.fit(network or Network(sampler), loader or make_loader(sampler))

    def test_another_sampler(self):
        with pytest.raises(rcap.InvalidArgument, match="make it with rcap.lightning.PruningSampler"):
            PruningCallback(PlainSampler(make_pruner("rs2")))

    def test_a_loader_without_the_sampler(self, tmp_path):
        self.refused("no training loader uses the sampler", "rs2", tmp_path,
                     loader=DataLoader(Indexed(make_dataset()), batch_size=8))

    def test_another_data_set(self, tmp_path):
        sampler = PruningSampler(rcap.RS2(LABELS[:-5], pruning_rate=0.5))
        self.refused("the data set has 205 samples, but there are 200 labels", "rs2", tmp_path, sampler=sampler)

    def test_no_initial_loader(self, tmp_path):
        sampler = PruningSampler(make_pruner("rcap"))
        self.refused("needs the loss of every sample before training", "rcap", tmp_path, sampler=sampler,
                     callback=PruningCallback(sampler))

    def test_another_word_for_the_report(self):
        with pytest.raises(rcap.InvalidArgument, match='log_report is "some"; it must be False, True or "all"'):
            PruningCallback(PruningSampler(make_pruner("rs2")), log_report="some")

    def test_lengths_that_change(self, tmp_path):
        self.refused("reload_dataloaders_every_n_epochs=1", "infobatch", tmp_path)

    def test_losses_that_nobody_observes(self, tmp_path):
        sampler = PruningSampler(make_pruner("rs2"))
        self.refused("no loss was observed in epoch 0", "rs2", tmp_path, sampler=sampler, network=Silent(sampler))

    def test_another_batch_size_in_mid_epoch(self, tmp_path):
        fit("rs2", tmp_path, callbacks=checkpoints(tmp_path))
        sampler = PruningSampler(make_pruner("rs2"))
        trainer = make_trainer(tmp_path, [make_callback(sampler)])
        with pytest.raises(rcap.StateMismatch, match="batches of 8, this loader makes batches of 4"):
            trainer.fit(Network(sampler), make_loader(sampler, batch=4), ckpt_path=tmp_path / "batch-step=2.ckpt")

    def test_a_checkpoint_without_the_callback(self, tmp_path):
        sampler = PruningSampler(make_pruner("rs2"))
        network = Network(sampler)
        trainer = make_trainer(tmp_path, [ModelCheckpoint(tmp_path, "plain")])
        trainer.fit(network, make_loader(sampler))
        with pytest.raises(rcap.StateMismatch, match="holds no state of a sampler"):
            fit("rs2", tmp_path, checkpoint=tmp_path / "plain.ckpt")

    def test_a_missing_package(self):
        code = "import sys; sys.modules['lightning'] = None; import rcap.lightning"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "rcap.lightning needs the package lightning: pip install lightning" in result.stderr


def run_job(job, folder, launcher=()):
    command = [sys.executable, *launcher, str(HERE / "lightning_job.py"), job, str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def torchrun(ranks, job, folder):
    run_job(job, folder, ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"])


def test_two_processes_share_the_selection_and_resume(tmp_path):
    torchrun(2, "train", tmp_path)


def test_two_processes_log_one_report(tmp_path):
    torchrun(2, "log", tmp_path)


def test_two_processes_with_a_sampler_around_the_sampler(tmp_path):
    torchrun(2, "wrapped", tmp_path)


def test_processes_that_are_spawned_train_copies(tmp_path):
    run_job("spawned", tmp_path)
    assert sorted(path.name for path in tmp_path.glob("rank-*")) == ["rank-0", "rank-1"]
