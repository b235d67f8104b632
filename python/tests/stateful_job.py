"""What both ranks of test_stateful_loader.py run, under torchrun. Each keeps the state of its own loader."""

import signal

import torch.distributed as dist

from ranks import check_same_state, of_all_ranks
from test_stateful_loader import Run, check_together, written


def check(workers):
    whole = Run(workers=workers, by_batch=True).train()
    parts = [set(ids) for ids in of_all_ranks(whole.ids(1))]
    assert len(parts[0] | parts[1]) == whole.sampler.pruner.keep_count
    whole.sampler.synchronize()
    first = Run(workers=workers, by_batch=True).train(stop=lambda *now: now == (1, 3))
    state = written({"loader": first.loader.state_dict()})
    rest = Run(workers=workers, by_batch=True).load(state).train(1)
    rest.sampler.synchronize()
    check_together(first, rest, whole)
    check_same_state(rest.sampler.pruner)


if __name__ == "__main__":
    signal.alarm(120)  # a rank that waits for one that has failed ends then, too
    dist.init_process_group("gloo")
    for number in (0, 2):
        check(number)
    dist.destroy_process_group()
