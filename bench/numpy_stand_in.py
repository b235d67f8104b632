#!/usr/bin/env python3
"""The best that careful NumPy code can do for one RCAP selection: what `make bench` compares with.

Samples are sorted by class (once, outside the timed part). An epoch then runs the exponential
race for all samples and takes the fastest of each class by a partial sort. The class budget is
given. It observes nothing, keeps no state and draws from NumPy's own generator, so it does less
than `rcap select`. It uses double precision, NumPy's default: in single precision the generator
returns exact zeros, which win every race (`--single` shows what that would save).

Prints JSON: nanoseconds per sample, median and extremes over the repeats.
"""

import argparse
import json
import statistics
import time

import numpy as np


def class_sizes(samples, classes, profile):
    """Equal classes, or sizes that fall exponentially by a factor of 100."""
    steps = np.arange(classes) / max(1, classes - 1)
    parts = np.ones(classes) if profile == "balanced" else 100.0**-steps
    ends = np.round(np.cumsum(parts / parts.sum()) * samples).astype(np.int64)
    return np.diff(ends, prepend=0)


def select(losses, order, ends, counts, beta, rng):
    """The ids of one epoch; `losses` and `order` are sorted by class."""
    keys = rng.standard_exponential(losses.size, dtype=losses.dtype)
    np.log(keys, out=keys)
    keys -= losses / losses.dtype.type(beta)
    chosen = []
    begin = 0
    for end, count in zip(ends, counts, strict=True):
        chosen.append(order[begin:end][np.argpartition(keys[begin:end], count)[:count]])
        begin = end
    return np.concatenate(chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_281_167)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--pruning-rate", type=float, default=0.9)
    parser.add_argument("--profile", choices=["balanced", "long-tailed"], default="balanced")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--single", action="store_true", help="single precision")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    sizes = class_sizes(options.n, options.classes, options.profile)
    ends = np.cumsum(sizes)
    kept = (sizes * (1 - options.pruning_rate)).astype(np.int64)
    counts = np.clip(kept, 1, sizes - 1)
    order = rng.permutation(options.n)
    losses = rng.exponential(1.5, options.n).astype(np.float32 if options.single else np.float64)

    times = []
    for _ in range(options.repeat + 1):
        start = time.perf_counter()
        ids = select(losses, order, ends, counts, 1.0, rng)
        times.append((time.perf_counter() - start) * 1e9 / options.n)
        assert ids.size == counts.sum()
    times = times[1:]  # the first is the warm-up
    print(json.dumps({
        "select_ns_per_sample": statistics.median(times),
        "select_ns_per_sample_min": min(times),
        "select_ns_per_sample_max": max(times),
        "precision": str(losses.dtype),
        "n": options.n,
        "repeat": options.repeat,
        "numpy": np.__version__,
    }))


if __name__ == "__main__":
    main()
