#!/usr/bin/env python3
"""Measures the Python package: what `make bench-python` runs.

- An epoch of selection and bookkeeping at ImageNet's size with PruningBatchSampler and observe, selecting the next
  epoch when it begins or ahead of it (select_ahead), against the same with datacull's RCAP (`pip install datacull`
  first; left out with a note if it is not installed) and with InfoBatch written with NumPy and torch
  (infobatch_stand_in.py). The sampler, batch by batch, and the call that takes the losses are timed, but not what the
  loader and the network do in between.
- observe on a batch, relative to the plain mean of its losses.
- Batches per second of a DataLoader with PruningSampler, against SubsetRandomSampler over as many ids.
- Memory of a process that makes a pruner and a sampler and goes through epochs.

All with one thread, in turn over several rounds; ratios are taken within a round. Prints a table, and writes
bench/results_python.json and bench/results_python.md.
"""

import argparse
import contextlib
import functools
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # read when NumPy and torch are imported

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, SubsetRandomSampler

import rcap
from rcap.torch import Indexed, PruningBatchSampler, PruningSampler

from infobatch_stand_in import InfoBatchSampler

FOLDER = pathlib.Path(__file__).resolve().parent


class Images(Dataset):
    """Images of CIFAR's size in memory, the same few again and again, and their labels."""

    def __init__(self, labels):
        self.targets = labels
        self._images = torch.zeros(4096, 3, 32, 32, dtype=torch.uint8)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return self._images[index % 4096], int(self.targets[index])


def make_labels(options):
    return np.random.default_rng(0).permutation(np.arange(options.n) % options.classes)


def make_losses(options, epoch):
    """A loss for every sample, different in each epoch."""
    return torch.empty(options.n).exponential_(generator=torch.Generator().manual_seed(epoch))


def make_sampler(options, labels, losses):
    """RCAP's sampler after the pass before training."""
    sampler = PruningSampler(rcap.RCAP(labels, pruning_rate=options.pruning_rate))
    for first in range(0, options.n, options.batch_size):
        last = min(first + options.batch_size, options.n)
        sampler.observe(torch.arange(first, last), losses[first:last])
    return sampler


# --- one epoch of selection and bookkeeping ---------------------------------------------------------------------------

class Side:
    """A package that selects batches and takes losses."""

    def end(self):
        """What the loop does after the last batch of an epoch."""

    def meanwhile(self):
        """While the loop evaluates or saves, which is not timed."""


class Rcap(Side):
    def __init__(self, options, labels):
        self._sampler = make_sampler(options, labels, make_losses(options, 0))
        self._batches = PruningBatchSampler(self._sampler, options.batch_size)

    def begin(self, epoch):
        self._sampler.set_epoch(epoch)
        return iter(self._batches)

    def observe(self, epoch, ids, losses):
        self._sampler.observe(ids, losses)


class RcapAhead(Rcap):
    """The next selection is made in a thread, while the loop evaluates."""

    def end(self):
        self._sampler.select_ahead()

    def meanwhile(self):
        self._sampler._ahead.result()


class DataCull(Side):
    """RCAP of datacull; its `pruning_rate` is the fraction kept."""

    def __init__(self, options, labels, folder):
        from datacull import DCDataset, DCLogger
        from datacull.methods.RCAP import RCAPDataLoader, RCAPImportance
        np.random.seed(0)
        dataset = DCDataset(Images(labels))
        self._logger = DCLogger(trajectory_dir=f"{folder}/")
        self._importance = RCAPImportance(dataset, self._logger, beta=1.0)
        self._loader = RCAPDataLoader(dataset, 1 - options.pruning_rate, batch_size=options.batch_size)

    def begin(self, epoch):
        self._loader.resample(self._importance.compute_importance())
        return iter(self._loader.batch_sampler)

    def observe(self, epoch, ids, losses):
        self._logger.log_metric(epoch, ids, losses)


class InfoBatch(Side):
    def __init__(self, options, form):
        self._sampler = InfoBatchSampler(options.n, form)
        self._batches = BatchSampler(self._sampler, options.batch_size, drop_last=False)

    def begin(self, epoch):
        return iter(self._batches)

    def observe(self, epoch, ids, losses):
        self._sampler.update(ids, losses)


def time_epoch(side, epoch, losses, equal_batches):
    """Seconds in the sampler and in the call that takes losses, over the epoch and over its first `equal_batches`."""
    sampling = observing = 0.0
    at_equal, count = None, 0
    start = time.perf_counter()
    batches = side.begin(epoch)
    ids = next(batches, None)
    sampling += time.perf_counter() - start
    while ids is not None:
        ids = torch.as_tensor(ids)
        batch_losses = losses[ids]
        start = time.perf_counter()
        side.observe(epoch, ids, batch_losses)
        middle = time.perf_counter()
        ids = next(batches, None)
        sampling += time.perf_counter() - middle
        observing += middle - start
        count += 1
        if count == equal_batches:
            at_equal = sampling + observing
    start = time.perf_counter()
    side.end()
    sampling += time.perf_counter() - start
    side.meanwhile()
    total = sampling + observing
    return {"seconds": total, "sampling": sampling, "observing": observing, "batches": count,
            "equal_seconds": total if at_equal is None else at_equal}


def measure_epochs(options, labels):
    with contextlib.ExitStack() as stack:
        sides = {"rcap": Rcap(options, labels), "rcap ahead": RcapAhead(options, labels),
                 "infobatch lists": InfoBatch(options, "lists"), "infobatch arrays": InfoBatch(options, "arrays")}
        if version_of("datacull"):
            sides["datacull"] = DataCull(options, labels, stack.enter_context(tempfile.TemporaryDirectory()))
        equal_batches = -(-int(options.n * (1 - options.pruning_rate) + 1e-6) // options.batch_size)
        rounds = []
        for epoch in range(options.rounds + 1):
            losses = make_losses(options, 1 + epoch)
            rounds.append({name: time_epoch(side, epoch, losses, equal_batches) for name, side in sides.items()})
            say(f"epoch {epoch} of {options.rounds}: " + ", ".join(
                f"{name} {taken['seconds']:.3f} s" for name, taken in rounds[-1].items()))
        return rounds[1:]  # the first is the warm-up


# --- a single call of observe, and a loader ---------------------------------------------------------------------------

def time_call(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def make_long_tailed_labels(options):
    """Classes of falling sizes, for which samples have weights."""
    classes = np.random.default_rng(1).geometric(10 / options.classes, options.n) - 1
    return np.minimum(classes, options.classes - 1)


def measure_observe(options, labels):
    """Microseconds of observe and of the plain mean, medians over the batches of an epoch, for each round."""
    sampler = make_sampler(options, labels, make_losses(options, 0))
    parameter = torch.ones(1, requires_grad=True)
    rounds = []
    for epoch in range(options.rounds + 1):
        sampler.set_epoch(epoch)
        losses, observe, mean = make_losses(options, 100 + epoch), [], []
        for ids in PruningBatchSampler(sampler, options.batch_size):
            ids = torch.from_numpy(ids)
            batch = losses[ids] * parameter  # as in training, with a graph to differentiate
            mean.append(time_call(batch.mean))
            observe.append(time_call(functools.partial(sampler.observe, ids, batch)))
        rounds.append({"observe": 1e6 * statistics.median(observe), "mean": 1e6 * statistics.median(mean)})
    return rounds[1:]


def batches_a_second(loader):
    start = time.perf_counter()
    count = sum(1 for _ in loader)
    return count / (time.perf_counter() - start)


def measure_loaders(options, labels, workers):
    sampler = make_sampler(options, labels, make_losses(options, 0))
    dataset = Indexed(Images(labels))
    ids = np.random.default_rng(0).choice(options.n, sampler.pruner.keep_count, replace=False).tolist()
    common = {"batch_size": options.batch_size, "num_workers": workers}
    pruning = DataLoader(dataset, sampler=sampler, **common)
    subset = DataLoader(dataset, sampler=SubsetRandomSampler(ids), **common)
    rounds = []
    warnings.simplefilter("ignore")  # about losses that are not observed: only the loaders are measured here
    for epoch in range(options.rounds + 1):
        sampler.set_epoch(epoch)
        sides = {"pruning": pruning, "subset": subset}
        order = list(sides) if epoch % 2 else list(sides)[::-1]
        rounds.append({name: batches_a_second(sides[name]) for name in order})
        say(f"loaders, {workers} workers, round {epoch} of {options.rounds}: " + ", ".join(
            f"{name} {rounds[-1][name]:.1f} batches a second" for name in sides))
    return rounds[1:]


# --- memory -----------------------------------------------------------------------------------------------------------

def highest_memory():
    """Of this process so far, in bytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def go_through_epochs(options, labels, losses, epochs=3):
    sampler = make_sampler(options, labels, losses)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for ids in BatchSampler(sampler, options.batch_size, drop_last=False):
            sampler.observe(torch.tensor(ids), torch.ones(len(ids)))


def print_memory(options):
    """For a separate process: bytes per sample that pruner, sampler and three epochs add to the process at most."""
    small = argparse.Namespace(**{**vars(options), "n": 10 * options.classes})
    go_through_epochs(small, make_labels(small), make_losses(small, 0))  # loads the code
    labels, losses = make_labels(options), make_losses(options, 0)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = highest_memory()
    go_through_epochs(options, labels, losses)
    print(json.dumps({"bytes_per_sample": (highest_memory() - before) / options.n}))


def measure_memory(options):
    command = [sys.executable, __file__, "--memory", "--n", options.n, "--classes", options.classes,
               "--pruning-rate", options.pruning_rate, "--batch-size", options.batch_size]
    return [json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
            ["bytes_per_sample"] for _ in range(options.rounds)]


# --- the record -------------------------------------------------------------------------------------------------------

def say(text):
    print(text, file=sys.stderr, flush=True)


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor():
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo") as lines:
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return platform.processor() or platform.machine()


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarise(measured):
    """(what, numbers, bar): a bar is (">=" or "<=", number), or None if there is none."""
    epochs = measured["epochs"]

    def over_the_mean(which):
        return spread([taken["observe"] - taken["mean"] for taken in measured[which]])

    def faster_than(side, field="seconds", ours="rcap"):
        return spread([taken[side][field] / taken[ours]["seconds"] for taken in epochs])

    rows = [(f"an epoch, {side}, s", spread([taken[side]["seconds"] for taken in epochs]), None) for side in epochs[0]]
    if "datacull" in epochs[0]:
        rows += [("times faster than datacull", faster_than("datacull"), (">=", 180)),
                 ("the same, selected ahead", faster_than("datacull", ours="rcap ahead"), (">=", 300))]
    rows += [
        ("times faster than InfoBatch with lists", faster_than("infobatch lists"), (">=", 22)),
        ("the same, selected ahead", faster_than("infobatch lists", ours="rcap ahead"), (">=", 40)),
        ("InfoBatch with lists, as many batches as RCAP", faster_than("infobatch lists", "equal_seconds"), None),
        ("times faster than InfoBatch with arrays", faster_than("infobatch arrays"), None),
        ("InfoBatch with arrays, as many batches as RCAP", faster_than("infobatch arrays", "equal_seconds"), None),
        ("observe over losses.mean(), us", over_the_mean("observe"), ("<=", 3)),
        ("the same, long-tailed classes", over_the_mean("observe, weighted"), ("<=", 3))]
    rows += [(f"batches a second over SubsetRandomSampler's, {workers} workers",
              spread([taken["pruning"] / taken["subset"] for taken in rounds]), (">=", 0.98))
             for workers, rounds in measured["loaders"].items()]
    return rows + [("memory, bytes a sample", spread(measured["memory"]), ("<=", 24))]


def verdict(value, bar):
    if bar is None:
        return ""
    sign, limit = bar
    met = value >= limit if sign == ">=" else value <= limit
    return f"{sign} {limit:g}: {'met' if met else 'MISSED'}"


def table(rows, about):
    lines = ["| what | median (lowest-highest) | bar |", "| --- | --- | --- |"]
    for what, value, bar in rows:
        digits = 3 if value["median"] < 10 else 1
        cell = f"{value['median']:.{digits}f} ({value['min']:.{digits}f}-{value['max']:.{digits}f})"
        lines.append(f"| {what} | {cell} | {verdict(value['median'], bar)} |")
    return "\n".join([*lines, "", *about])


def describe(options, versions, machine):
    about = [f"`make bench-python`: n = {options.n:,} samples, {options.classes:,} classes, {options.pruning_rate:.0%} "
             f"pruned, batch {options.batch_size}, one thread, {options.rounds} rounds after a warm-up; {machine}; "
             + ", ".join(f"{name} {version}" for name, version in versions.items() if version) + "."]
    if not versions["datacull"]:
        about.append("datacull is not installed and was left out: `pip install orjsonl`, `pip install --no-deps "
                     "datacull`.")
    return about


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_281_167)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--pruning-rate", type=float, default=0.9)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7, help="timed rounds, after an untimed one [7]")
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.memory:
        return print_memory(options)

    versions = {name: version_of(name) for name in ("rcap-pruning", "torch", "numpy", "datacull")}
    versions["Python"] = platform.python_version()
    machine = f"{processor()}, {os.cpu_count()} processors"
    load_before = os.getloadavg()[0]
    labels = make_labels(options)
    measured = {
        "epochs": measure_epochs(options, labels),
        "observe": measure_observe(options, labels),
        "observe, weighted": measure_observe(options, make_long_tailed_labels(options)),
        "loaders": {workers: measure_loaders(options, labels, workers) for workers in (0, 2)},
        "memory": measure_memory(options)}
    rows, about = summarise(measured), describe(options, versions, machine)
    text = table(rows, about)
    print(text)
    record = {"options": vars(options), "versions": versions, "machine": machine, "threads": 1,
              "load_average": [load_before, os.getloadavg()[0]], "measured": measured,
              "results": [{"what": what, **value, "bar": bar} for what, value, bar in rows]}
    (FOLDER / "results_python.json").write_text(json.dumps(record, indent=1) + "\n")
    (FOLDER / "results_python.md").write_text(text + "\n")
    return None


if __name__ == "__main__":
    main()
