#!/usr/bin/env python3
"""What filtering a stream costs: per sample of the stream, and of a filter per data set.

    python bench/streams.py [--samples 1000000] [--repeat 7] [--sizes 100000000]

Times are of the processor, so that a busy machine disturbs them less; each is the median of the repeats, with their
range. The stream is a generator, next to which the filter shows; readers of shards take tens of times as long.
"""

import argparse
import pathlib
import pickle
import statistics
import tempfile
import time

import numpy as np

import rcap
from rcap.torch import Filtered, FilterStage

RATE = 0.9


def stream(count):
    return ((id, id) for id in range(count))


def consume(samples):
    for _ in samples:
        pass


def measure(ways, repeat):
    """The processor's seconds of each way, the ways in turn."""
    seconds = {name: [] for name in ways}
    for turn in range(repeat + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if turn > 0:  # the first one warms up
                seconds[name].append(time.process_time() - start)
    return seconds


def tell(name, times, factor, unit):
    middle, low, high = (factor * pick(times) for pick in (statistics.median, min, max))
    print(f"{name:<40} {middle:10.1f} {unit:<14} ({low:.1f} to {high:.1f})", flush=True)


def per_sample(count, repeat):
    filter = rcap.RS2(np.arange(count) % 10, pruning_rate=RATE).filter(0)
    ids = np.arange(count)
    batches = np.array_split(ids, count // 1000)
    ways = {
        "the stream alone": lambda: consume(stream(count)),
        "a condition in Python": lambda: consume(pair for pair in stream(count) if pair[1] % 10 == 0),
        "FilterStage": lambda: consume(FilterStage(filter, ids=1)(stream(count))),
        "Filtered": lambda: consume(Filtered(stream(count), filter)),
        "filter.keep of arrays of 1,000 ids": lambda: consume(map(filter.keep, batches)),
        "filter.weights of arrays of 1,000 ids": lambda: consume(map(filter.weights, batches))}
    print(f"\n{count:,} samples, a tenth is kept; of each sample of the stream:")
    for name, times in measure(ways, repeat).items():
        tell(name, times, 1e9 / count, "ns")


def per_data_set(size, repeat, folder):
    kept = np.flatnonzero(np.random.default_rng(0).random(size, np.float32) < 1 - RATE)
    path = pathlib.Path(folder) / "epoch.filter"
    filter = rcap.Filter(0, size, kept)
    filter.save(path)
    loaded = rcap.Filter.load(path)
    ways = {
        "make from ids": lambda: rcap.Filter(0, size, kept),
        "save": lambda: filter.save(path),
        "load, which checks it": lambda: rcap.Filter.load(path),
        "pickle and back": lambda: pickle.loads(pickle.dumps(loaded))}
    print(f"\n{size:,} samples, {len(kept):,} kept: {path.stat().st_size / 1e6:.1f} MB, "
          f"pickled {len(pickle.dumps(loaded))} bytes")
    for name, times in measure(ways, repeat).items():
        tell(name, times, 1e3, "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000_000, 100_000_000])
    parser.add_argument("--folder", help="where files are written; by default the folder for temporary files")
    chosen = parser.parse_args()
    per_sample(chosen.samples, chosen.repeat)
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            per_data_set(size, chosen.repeat, folder)


if __name__ == "__main__":
    main()
