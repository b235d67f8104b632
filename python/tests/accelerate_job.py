"""What both ranks of test_accelerate.py run, under torchrun."""

import functools
import pathlib
import sys

import torch.distributed as dist

from ranks import check_same_state, check_two_parts, held_state
from small_network import make_pruner, same_weights
from test_accelerate import Run


def check(method, folder):
    make = functools.partial(make_pruner, method)  # the ranks share the pruner of rcap, and have each their own of ucb
    whole = Run(method, workers=2, persistent=True, pruner=make if method == "rcap" else make())
    save = whole.save_into(folder)
    whole.train(save=lambda epoch, done: save(epoch, done) if (epoch, done) in ((0, 2), (1, 1)) else None)
    pruner = whole.sampler.pruner
    check_two_parts(whole.recorder, pruner)
    check_same_state(pruner)
    for point in ("0-2", "1-1"):
        rest = Run(method, workers=2, pruner=make if method == "rcap" else make()).train(checkpoint=folder / point)
        assert rest.recorder.batches(2) == whole.recorder.batches(2), (method, point)
        assert held_state(rest.sampler.pruner) == held_state(pruner), (method, point)
        assert same_weights(rest.model, whole.model), (method, point)


if __name__ == "__main__":
    for name in ("rcap", "ucb"):
        check(name, pathlib.Path(sys.argv[1]) / name)
    dist.destroy_process_group()
