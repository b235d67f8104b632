"""What both ranks of test_hf.py run, under torchrun."""

import functools
import pathlib
import sys

from ranks import check_same_state, check_two_parts, held_state
from small_network import make_pruner, same_weights
from test_hf import train

OPTIONS = {"ddp_backend": "gloo", "dataloader_num_workers": 2, "dataloader_persistent_workers": True}


def check(method, folder):
    make = functools.partial(make_pruner, method)  # the ranks share the pruner of rcap, and have each their own of ucb
    given = {**OPTIONS, "pruner": make if method == "rcap" else make()}
    whole = train(method, folder, save_strategy="steps", save_steps=1, **given)
    pruner = whole.sampler.pruner
    assert whole.sampler.rank_count == 2
    check_two_parts(whole.recorder, pruner)
    # Losses of the last epoch are exchanged only when somebody asks for them.
    whole.sampler.synchronize()
    check_same_state(pruner)
    first = len(whole.recorder.batches(0))
    for step in (2, first, first + 2):
        given["pruner"] = make if method == "rcap" else make()
        rest = train(method, folder, checkpoint=folder / f"checkpoint-{step}", **given)
        for epoch in (1, 2):
            expected, found = whole.recorder.batches(epoch), rest.recorder.batches(epoch)
            assert found == expected[len(expected) - len(found):], (method, step, epoch)
        rest.sampler.synchronize()
        assert held_state(rest.sampler.pruner) == held_state(pruner), (method, step)
        assert same_weights(rest.model, whole.model), (method, step)


if __name__ == "__main__":
    for name in ("rcap", "ucb"):
        check(name, pathlib.Path(sys.argv[1]) / name)
