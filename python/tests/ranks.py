"""What the jobs of several ranks share."""

import atexit
import os
import time

import torch.distributed as dist

import rcap
from training import EPOCHS

# A collective returns before Gloo's threads have let go of its tensors. A worker that Python 3.11 forks in that moment
# hangs for ever (docs/python.md), and frameworks fork right after collectives of their own.
# An interpreter that ends in that moment aborts.
os.register_at_fork(before=lambda: time.sleep(0.05))
atexit.register(time.sleep, 0.05)


def of_all_ranks(value):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def check_two_parts(recorder, pruner):
    """Both ranks trained equally many samples, together those of the selection, one twice where need be."""
    for epoch in range(EPOCHS):
        parts = of_all_ranks(recorder.ids(epoch))
        together = parts[0] + parts[1]
        selected = pruner.planned_batches(epoch + 1, 1) - pruner.planned_batches(epoch, 1)
        assert len(parts[0]) == len(parts[1]), epoch
        assert len(set(together)) == selected, (pruner.method, epoch, len(set(together)))
        assert len(together) - selected == selected % 2, epoch


def held_state(pruner):
    """The state of a pruner, on the rank that holds it."""
    return pruner.state() if isinstance(pruner, rcap.Pruner) else None


def check_same_state(pruner):
    states = of_all_ranks(held_state(pruner))
    assert states[1] in (states[0], None)
