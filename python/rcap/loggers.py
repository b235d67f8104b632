"""Reports of a sampler in TensorBoard and in Weights & Biases.

    sampler = PruningSampler(pruner, watch=True, class_names=dataset.classes)
    logger = TensorBoardLogger(SummaryWriter("runs/first"))     # or WandbLogger(wandb.init(project="mine"))
    for epoch in range(epochs):
        ...
        logger.log(sampler.report())

With several ranks log on one of them: the report is the same on all. For Lightning's loggers use
`rcap.lightning.PruningCallback(..., log_report=True)`.
"""

import importlib
from typing import TYPE_CHECKING, Any, Literal

from . import InvalidArgument

if TYPE_CHECKING:
    from ._report import Report

__all__ = ["TensorBoardLogger", "WandbLogger"]

Classes = Literal["summary", "all"]


class TensorBoardLogger:
    """Writes reports as scalars.

    Args:
        writer: A SummaryWriter of torch.utils.tensorboard or of tensorboardX: anything that has `add_scalar`.
        classes: "all" for a scalar of every class, in addition to the lowest, the median and the highest.

    Raises:
        InvalidArgument: If the writer has no `add_scalar`.
    """

    def __init__(self, writer: Any, *, classes: Classes = "summary") -> None:
        if not hasattr(writer, "add_scalar"):
            raise InvalidArgument(f"TensorBoardLogger: the writer is a {type(writer).__name__}, which has no "
                                  "add_scalar; give a SummaryWriter")
        self._writer = writer
        self._classes: Classes = classes

    def log(self, report: "Report", step: int | None = None) -> None:
        """Writes a report; by default the step is its epoch."""
        for name, value in report.scalars(self._classes).items():
            self._writer.add_scalar(name, value, report.epoch if step is None else step)


class WandbLogger:
    """Sends reports to a run of Weights & Biases, which draws them over the epoch ("rcap/epoch").

    The steps of the run stay as your loop counts them.

    Args:
        run: What `wandb.init` returned; by default the current run.
        classes: "all" for a number of every class, in addition to the lowest, the median and the highest.

    Raises:
        InvalidArgument: If there is no current run.
        ModuleNotFoundError: If no run is given, and the package wandb is not installed.
    """

    def __init__(self, run: Any = None, *, classes: Classes = "summary") -> None:
        self._run = _run_under_way() if run is None else run
        self._classes: Classes = classes
        self._run.define_metric("rcap/epoch", hidden=True)
        for names in ("rcap/*", "rcap_*"):
            self._run.define_metric(names, step_metric="rcap/epoch")

    def log(self, report: "Report") -> None:
        """Sends a report, as a step of the run."""
        self._run.log(report.scalars(self._classes))


def _run_under_way() -> Any:
    try:
        wandb = importlib.import_module("wandb")
    except ModuleNotFoundError as missing:
        if missing.name != "wandb":
            raise
        raise ModuleNotFoundError("WandbLogger needs the package wandb: pip install wandb", name="wandb") from missing
    if wandb.run is None:
        raise InvalidArgument("WandbLogger: there is no current run; call wandb.init first, or give what it returns")
    return wandb.run
