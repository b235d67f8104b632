"""`python -m rcap bench select`: what selecting and observing cost through Python, on made-up data."""

import json
import statistics
import time

import numpy as np

from . import RCAP, InvalidArgument, __version__

EPILOG = """\
select   one selection, per sample of the data set
order    putting it in the order of training, per selected sample
observe  the losses of an epoch in batches, per observed sample

What the loop around it costs (a DataLoader, PruningSampler) is not in it; the program's
`rcap bench select` measures the same without Python.
"""


def add_options(parser):
    parser.add_argument("--n", type=int, default=1_281_167, metavar="N", help="samples [1281167]")
    parser.add_argument("--classes", type=int, default=1000, metavar="C", help="[1000]")
    parser.add_argument("--pruning-rate", type=float, default=0.9, metavar="R", help="fraction removed [0.9]")
    parser.add_argument("--beta", type=float, default=1.0, metavar="B", help="temperature [1]")
    parser.add_argument("--batch", type=int, default=256, metavar="B", help="samples of a call of observe [256]")
    parser.add_argument("--repeat", type=int, default=7, metavar="K", help="epochs measured, after a first one [7]")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="[1]")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="[0]")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments):
    for name in ("n", "classes", "batch", "repeat"):
        if getattr(arguments, name) < 1:
            raise InvalidArgument(f"--{name} is {getattr(arguments, name)}; it must be at least 1")
    rng = np.random.default_rng(arguments.seed)
    labels = rng.permutation(np.arange(arguments.n) % arguments.classes)
    pruner = RCAP(labels, pruning_rate=arguments.pruning_rate, beta=arguments.beta, seed=arguments.seed,
                  threads=arguments.threads)
    pruner.observe(np.arange(arguments.n), make_losses(rng, arguments.n))
    rounds = [measure_epoch(pruner, epoch, rng, arguments.batch) for epoch in range(arguments.repeat + 1)][1:]
    results = {name: [taken[name] for taken in rounds] for name in rounds[0]}
    (print_json if arguments.json else print_table)(arguments, pruner, results)


def make_losses(rng, count):
    return rng.exponential(size=count).astype(np.float32)


def measure_epoch(pruner, epoch, rng, batch):
    """Nanoseconds each."""
    start = time.perf_counter_ns()
    pruner.select(epoch)
    selected = time.perf_counter_ns()
    ids = pruner.select_in_order(epoch).ids
    ordered = time.perf_counter_ns()
    batches = [(ids[first:first + batch], make_losses(rng, len(ids[first:first + batch])))
               for first in range(0, len(ids), batch)]
    begun = time.perf_counter_ns()
    for some, losses in batches:
        pruner.observe(some, losses)
    observed = time.perf_counter_ns()
    return {"select_ns_per_sample": (selected - start) / pruner.sample_count,
            "order_ns_per_selected": (ordered - selected) / len(ids),
            "observe_ns_per_sample": (observed - begun) / len(ids)}


def print_json(arguments, pruner, results):
    found = {"n": arguments.n, "classes": arguments.classes, "pruning_rate": arguments.pruning_rate,
             "keep_count": pruner.keep_count, "beta": arguments.beta, "batch": arguments.batch, "repeat": arguments.repeat,
             "threads": arguments.threads, "seed": arguments.seed, "version": __version__}
    for name, values in results.items():
        found |= {name: statistics.median(values), f"{name}_min": min(values), f"{name}_max": max(values)}
    print(json.dumps(found))


def print_table(arguments, pruner, results):
    print(f"{arguments.n} samples, {arguments.classes} classes, pruning rate {arguments.pruning_rate}: {pruner.keep_count} "
          f"kept; {arguments.threads} thread(s), {arguments.repeat} repeats\n")
    print(f"{'ns each':<10}{'median':>9}{'min':>9}{'max':>9}")
    for name, values in results.items():
        print(f"{name.partition('_')[0]:<10}{statistics.median(values):9.2f}{min(values):9.2f}{max(values):9.2f}")
