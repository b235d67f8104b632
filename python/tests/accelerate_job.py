"""What both ranks of test_accelerate.py run, under torchrun."""

import pathlib
import sys

import torch.distributed as dist

from small_network import same_weights
from test_accelerate import Run
from training import EPOCHS


def of_all_ranks(value):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def check(method, folder):
    whole = Run(method, workers=2, persistent=True)
    save = whole.save_into(folder)
    whole.train(save=lambda epoch, done: save(epoch, done) if (epoch, done) in ((0, 2), (1, 1)) else None)
    pruner = whole.sampler.pruner
    for epoch in range(EPOCHS):
        parts = of_all_ranks(whole.recorder.ids(epoch))
        together = parts[0] + parts[1]
        selected = pruner.planned_batches(epoch + 1, 1) - pruner.planned_batches(epoch, 1)
        assert len(parts[0]) == len(parts[1])
        assert len(set(together)) == selected
        assert len(together) - selected == selected % 2
    states = of_all_ranks(pruner.state())
    assert states[0] == states[1]
    for point in ("0-2", "1-1"):
        rest = Run(method, workers=2).train(checkpoint=folder / point)
        assert rest.recorder.batches(2) == whole.recorder.batches(2), (method, point)
        assert rest.sampler.pruner.state() == pruner.state(), (method, point)
        assert same_weights(rest.model, whole.model), (method, point)


if __name__ == "__main__":
    for name in ("rcap", "ucb"):
        check(name, pathlib.Path(sys.argv[1]) / name)
    dist.destroy_process_group()
