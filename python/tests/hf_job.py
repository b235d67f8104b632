"""What both ranks of test_hf.py run, under torchrun."""

import pathlib
import sys

import torch.distributed as dist

from small_network import same_weights
from test_hf import train
from training import EPOCHS

OPTIONS = {"ddp_backend": "gloo", "dataloader_num_workers": 2, "dataloader_persistent_workers": True}


def of_all_ranks(value):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def check(method, folder):
    whole = train(method, folder, save_strategy="steps", save_steps=1, **OPTIONS)
    pruner = whole.sampler.pruner
    assert whole.sampler.rank_count == 2
    for epoch in range(EPOCHS):
        parts = of_all_ranks(whole.recorder.ids(epoch))
        together = parts[0] + parts[1]
        selected = pruner.planned_batches(epoch + 1, 1) - pruner.planned_batches(epoch, 1)
        assert len(parts[0]) == len(parts[1])
        assert len(set(together)) == selected
        assert len(together) - selected == selected % 2
    # Losses of the last epoch are exchanged only when somebody asks for them.
    whole.sampler.synchronize()
    states = of_all_ranks(pruner.state())
    assert states[0] == states[1]
    first = len(whole.recorder.batches(0))
    for step in (2, first, first + 2):
        rest = train(method, folder, checkpoint=folder / f"checkpoint-{step}", **OPTIONS)
        for epoch in (1, 2):
            expected, found = whole.recorder.batches(epoch), rest.recorder.batches(epoch)
            assert found == expected[len(expected) - len(found):], (method, step, epoch)
        rest.sampler.synchronize()
        assert rest.sampler.pruner.state() == pruner.state(), (method, step)
        assert same_weights(rest.model, whole.model), (method, step)


if __name__ == "__main__":
    for name in ("rcap", "ucb"):
        check(name, pathlib.Path(sys.argv[1]) / name)
