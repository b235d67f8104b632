"""What both ranks of test_lightning.py run, under torchrun. The sampler is made before Lightning starts the group."""

import csv
import functools
import pathlib
import sys
import warnings

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger

import rcap
from rcap.lightning import PruningCallback, PruningSampler
from ranks import check_same_state, check_two_parts, held_state, of_all_ranks
from small_network import make_pruner, same_weights
from test_lightning import Network, checkpoints, make_callback, make_loader, make_trainer

DDP = {"devices": 2, "strategy": "ddp"}


def fit(method, folder, callbacks=(), checkpoint=None, **options):
    # The ranks share the pruner of rcap, and have each their own of ucb.
    make = functools.partial(make_pruner, method)
    sampler = PruningSampler(make if method == "rcap" else make())
    network = Network(sampler)
    trainer = make_trainer(folder, [make_callback(sampler), *callbacks], method, **{**DDP, **options})
    trainer.fit(network, make_loader(sampler, workers=2, persistent=True), ckpt_path=checkpoint)
    return network


def train(folder):
    for method in ("rcap", "ucb"):
        place = folder / method
        whole = fit(method, place, checkpoints(place))
        sampler = whole.recorder.sampler
        assert sampler.rank_count == 2
        check_two_parts(whole.recorder, sampler.pruner)
        check_same_state(sampler.pruner)
        first = len(whole.recorder.batches(0))
        for point in (f"batch-step={first + 2}", "end-epoch=0"):
            rest = fit(method, folder, checkpoint=place / f"{point}.ckpt")
            for epoch in (1, 2):
                expected = whole.recorder.batches(epoch)
                found = rest.recorder.batches(epoch)
                assert found == expected[len(expected) - len(found):], (method, point, epoch)
            assert held_state(rest.recorder.sampler.pruner) == held_state(sampler.pruner), (method, point)
            assert same_weights(rest, whole), (method, point)


class CheckRanks(Callback):
    """Looks at the copies of the sampler, in the processes that have them."""

    def __init__(self, folder):
        self.folder = folder

    def on_train_end(self, trainer, module):
        sampler = module.recorder.sampler
        assert sampler.rank_count == 2
        check_two_parts(module.recorder, sampler.pruner)
        check_same_state(sampler.pruner)
        (self.folder / f"rank-{trainer.global_rank}").touch()


def spawned(folder):
    network = fit("rcap", folder, [CheckRanks(folder)], strategy="ddp_spawn")
    assert network.recorder.sampler.pruner.epoch == -1  # the one of this process is where it was


def wrapped(folder):
    try:
        fit("rs2", folder, use_distributed_sampler=True)
    except rcap.InvalidArgument as error:
        assert "use_distributed_sampler=False" in str(error), error
    else:
        raise AssertionError("nobody noticed")


def log(folder):
    """Both processes know the report of all samples, which Lightning writes once."""
    sampler = PruningSampler(make_pruner("rs2"), watch=True)
    logger = CSVLogger(folder, name="log")
    trainer = make_trainer(folder, [PruningCallback(sampler, log_report=True)], **DDP, logger=logger)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*sync_dist")
        trainer.fit(Network(sampler), make_loader(sampler))
    assert of_all_ranks(trainer.callback_metrics["rcap/observed"].item()) == [92, 92]
    if trainer.is_global_zero:
        rows = list(csv.DictReader((pathlib.Path(logger.log_dir) / "metrics.csv").open()))
        assert [float(row["rcap/seen"]) for row in rows] == [92, 184, 205], rows


if __name__ == "__main__":
    jobs = {"train": train, "spawned": spawned, "wrapped": wrapped, "log": log}
    jobs[sys.argv[1]](pathlib.Path(sys.argv[2]))
