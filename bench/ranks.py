#!/usr/bin/env python3
"""Memory and time of selection and bookkeeping over several ranks, without a network:

    torchrun --standalone --nproc-per-node 4 bench/ranks.py each    # a pruner for each rank
    torchrun --standalone --nproc-per-node 4 bench/ranks.py host    # one for all of them
    torchrun --standalone --nproc-per-node 2 bench/ranks.py shards  # a part of one on each

It prints what the ranks of this host hold together above what they hold without a pruner (PSS: a page that several
processes share counts in parts), and the seconds to select an epoch and to exchange its losses. One way for each start:
memory that the first one leaves behind in its processes would be at hand for the second.
"""

import argparse
import functools
import gc
import pathlib
import time

import numpy as np
import torch
import torch.distributed as dist

import rcap
from rcap.torch import PruningSampler, ShardedSampler

CLASSES, EPOCHS = 1000, 3


def labels_of(first, count):
    return ((np.arange(first, first + count) * 40503) % CLASSES).astype(np.int16)


def make_pruner(options):
    return rcap.RCAP(labels_of(0, options.samples), pruning_rate=options.pruning_rate)


def make_own(options):
    return PruningSampler(make_pruner(options))


def make_shared(options):
    return PruningSampler(functools.partial(make_pruner, options))


def make_sharded(options):
    return ShardedSampler("rcap", labels_of, total=options.samples, pruning_rate=options.pruning_rate)


WAYS = {"each": make_own, "host": make_shared, "shards": make_sharded}


def memory_of_host():
    gc.collect()
    dist.barrier()
    lines = pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines()
    total = torch.tensor(sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024)
    dist.all_reduce(total)
    return float(total)


def timed(action):
    dist.barrier()
    began = time.perf_counter()
    result = action()
    dist.barrier()
    return result, time.perf_counter() - began


def measure(make, options):
    before = memory_of_host()
    sampler = make(options)
    memory, selecting, exchanging = [], [], []
    for epoch in range(EPOCHS):
        _, seconds = timed(functools.partial(sampler.set_epoch, epoch))
        selecting.append(seconds)
        for ids in sampler._make_pass().batches(8192, False):  # without a loader, which would be most of the time
            sampler.observe(ids, torch.ones(len(ids)))
        memory.append(memory_of_host() - before)
        _, seconds = timed(sampler.synchronize)
        exchanging.append(seconds)
        memory.append(memory_of_host() - before)
    return max(memory), min(selecting[1:]), min(exchanging[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--samples", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--pruning-rate", type=float, default=0.9)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    measure(make_own, argparse.Namespace(samples=20_000, pruning_rate=0.9))  # loads what a first sampler needs
    memory, selecting, exchanging = measure(WAYS[options.way], options)
    if dist.get_rank() == 0:
        print(f"{options.way}: {dist.get_world_size()} ranks, {options.samples:,} samples, {CLASSES} classes, "
              f"{options.pruning_rate:.0%} pruned: {memory:.0f} MiB on the host, select {selecting:.3f} s, "
              f"exchange {exchanging:.3f} s")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
