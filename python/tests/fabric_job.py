"""What both ranks of test_fabric.py run. Fabric starts the second one."""

import pathlib
import signal
import sys

from lightning.fabric import Fabric

import rcap
from ranks import check_same_state, check_two_parts, of_all_ranks
from small_network import same_weights
from test_fabric import Run


def train(fabric, folder):
    for method in ("rcap", "ucb"):
        whole = Run(fabric, method, workers=2)
        save = whole.save_into(folder / method)
        whole.train(save=lambda epoch, done, save=save: save(epoch, done) if (epoch, done) == (1, 1) else None)
        pruner = whole.sampler.pruner
        check_two_parts(whole.recorder, pruner)
        check_same_state(pruner)
        rest = Run(fabric, method).train(checkpoint=folder / method / "1-1.ckpt")
        assert rest.recorder.batches(2) == whole.recorder.batches(2), method
        assert rest.sampler.pruner.state() == pruner.state(), method
        assert same_weights(rest.model, whole.model), method
        set_up = Run(fabric, method, set_up={"use_distributed_sampler": False}).train()
        assert set_up.batches() == whole.batches(), method


def twice(fabric):
    """By default Fabric puts a DistributedSampler around the sampler. Its first batch is part[rank::ranks][:size]."""
    run = Run(fabric, "rs2", set_up={})
    try:
        run.train()
    except rcap.InvalidArgument as error:
        assert "sharded twice" in str(error), error
        assert "use_distributed_sampler=False" in str(error), error
        assert len(run.recorder.batches(0)) == 1  # the first batch
    else:
        trained = {id for ids in of_all_ranks(run.recorder.ids(0)) for id in ids}
        raise AssertionError(f"nobody noticed that {len(trained)} of {run.sampler.pruner.keep_count} are trained")


if __name__ == "__main__":
    signal.alarm(120)  # a rank that waits for one that has failed ends then, too
    process = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    process.launch()
    train(process, pathlib.Path(sys.argv[1]))
    twice(process)
