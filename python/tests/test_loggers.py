"""Reports in the real TensorBoard and the real Weights & Biases, which stays offline."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import rcap
from rcap.loggers import TensorBoardLogger, WandbLogger
from rcap.torch import PruningSampler

EPOCHS = 2


def reports():
    """One for each epoch: half of ten samples, then the other half."""
    sampler = PruningSampler(rcap.RS2([0] * 6 + [1] * 4, pruning_rate=0.5, seed=1), watch=True,
                             class_names=["cat", "dog"])
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        ids = np.array(list(sampler))
        sampler.observe(ids, torch.full((len(ids),), float(epoch + 1)))
        yield sampler.report()


def scalars_of(folder):
    """{tag: [(step, value), ...]}, as TensorBoard reads them."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(each.step, each.value) for each in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


@pytest.fixture
def write(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")

    def write_all(step=None, **options):
        with tensorboard.SummaryWriter(tmp_path) as writer:
            logger = TensorBoardLogger(writer, **options)
            for report in reports():
                logger.log(report, step)
        return scalars_of(tmp_path)

    return write_all


def test_tensorboard_has_a_point_for_every_epoch(write):
    scalars = write()
    assert scalars["rcap/coverage"] == [(0, 0.5), (1, 1.0)]
    assert scalars["rcap/class_loss/highest"] == [(0, 1.0), (1, 2.0)]
    assert not any("cat" in tag for tag in scalars)


def test_tensorboard_has_every_class_if_asked(write):
    assert write(classes="all")["rcap_class_loss/cat"] == [(0, 1.0), (1, 2.0)]


def test_the_loop_may_count_steps_itself(write):
    assert [step for step, _ in write(step=70)["rcap/selected"]] == [70, 70]


def test_a_writer_is_needed():
    with pytest.raises(rcap.InvalidArgument, match="the writer is a str, which has no add_scalar"):
        TensorBoardLogger("runs")


@pytest.fixture
def wandb(tmp_path, monkeypatch):
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name, value in {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}.items():
        monkeypatch.setenv(name, value)
    module = pytest.importorskip("wandb")
    yield module
    module.teardown()


@pytest.mark.parametrize("given", [True, False])
def test_weights_and_biases_has_the_report_beside_what_the_loop_logs(wandb, given, tmp_path):
    run = wandb.init(project="rcap", dir=tmp_path)
    logger = WandbLogger(run if given else None, classes="all")
    for report in reports():
        run.log({"batch": 1})
        logger.log(report)
    summary = dict(run.summary)
    assert run.step == 2 * EPOCHS
    run.finish()
    assert {name: summary[name] for name in ("rcap/epoch", "rcap/coverage", "rcap_class_loss/cat", "batch")} == {
        "rcap/epoch": 1, "rcap/coverage": 1, "rcap_class_loss/cat": 2, "batch": 1}
    assert list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))


def test_reports_are_drawn_over_the_epoch(wandb, tmp_path):
    axes = {}
    run = wandb.init(project="rcap", dir=tmp_path)
    define_metric = run.define_metric

    def watched(name, **options):
        axes[name] = options.get("step_metric")
        return define_metric(name, **options)

    run.define_metric = watched
    WandbLogger(run)
    run.finish()
    assert axes == {"rcap/epoch": None, "rcap/*": "rcap/epoch", "rcap_*": "rcap/epoch"}


def test_weights_and_biases_needs_a_run(wandb):
    with pytest.raises(rcap.InvalidArgument, match="there is no current run; call wandb.init first"):
        WandbLogger()


def test_without_the_package_it_is_said_what_is_missing():
    code = "import sys; sys.modules['wandb'] = None; import rcap.loggers; rcap.loggers.WandbLogger()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: WandbLogger needs the package wandb: pip install wandb" in found.stderr


def test_neither_torch_nor_a_logger_is_imported():
    code = "import sys, rcap.loggers; sys.exit(any(name in sys.modules for name in ('torch', 'wandb', 'tensorboard')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
