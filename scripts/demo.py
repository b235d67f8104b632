#!/usr/bin/env python3
"""Trains a small network on long-tailed Fashion-MNIST, whole and pruned, and compares.

The network is written in NumPy; the samples of every epoch come from `rcap select`, called as from any framework:
arrays in, ids out. Writes table.md, results.json and class_counts.svg into --out.
"""

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# The matrices are small: a second BLAS thread gains little and makes the seconds uneven.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

from demo_figure import draw_class_counts  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RCAP = ROOT / "build" / "rcap"
DATA = "/usr/share/datasets/fashion-mnist"  # where the Debian package dataset-fashion-mnist puts it
CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
METHODS = {  # name in the table -> options of `rcap select`
    "full": ["--method", "full"],
    "rs2": ["--method", "rs2"],
    "rcap, paper": ["--method", "rcap", "--class-share", "paper"],
    "rcap, mass": ["--method", "rcap", "--class-share", "mass"],
    "rcap, group": ["--method", "rcap", "--class-share", "group"],
    "balanced": ["--method", "balanced"],
}
IMBALANCE, BATCH, HIDDEN, LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 100, 64, 128, 0.1, 0.9, 5e-4


def stop(message):
    """Ends with what the user has to put right."""
    print(f"demo: {message}", file=sys.stderr)
    sys.exit(2)


# ---- Data


@dataclass
class Data:
    images: np.ndarray  # float32, one row a sample
    labels: np.ndarray


def read_idx(path):
    """An array from a gzipped IDX file: two zero bytes, type 8 (bytes), dimensions, sizes, values."""
    content = gzip.decompress(path.read_bytes())
    dimensions = content[3]
    sizes = np.frombuffer(content, ">u4", dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(sizes)


def load(folder, part):
    files = [folder / f"{part}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")]
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        stop(f"no {missing[0]}; run scripts/setup, or name the folder of Fashion-MNIST with --data")
    images, labels = map(read_idx, files)
    # Mean and deviation of the grey values of the training set.
    rows = (images.reshape(len(images), -1).astype(np.float32) / 255 - 0.286) / 0.353
    return Data(rows.astype(np.float32), labels)


def make_long_tailed(data, rng):
    """Keeps n_j = n_0 / 100^(j / 9) random samples of class j: 6000 of class 0 down to 60 of class 9."""
    kept = []
    for j in range(len(CLASSES)):
        members = np.flatnonzero(data.labels == j)
        kept.append(rng.permutation(members)[: int(len(members) * IMBALANCE ** (-j / (len(CLASSES) - 1)))])
    ids = np.sort(np.concatenate(kept))
    return Data(data.images[ids], data.labels[ids])


# ---- Network: 784 - 128 - 10, ReLU, SGD with momentum


def init_network(rng, kind):
    """Weights and biases of both layers. Uniform within 1 / sqrt(inputs), losses start near ln 10; with He's
    initialisation, normal of variance 2 / inputs and no biases, they start higher."""
    network = []
    for inputs, outputs in ((784, HIDDEN), (HIDDEN, len(CLASSES))):
        if kind == "he":
            layer = [rng.normal(0, np.sqrt(2 / inputs), (inputs, outputs)), np.zeros(outputs)]
        else:
            layer = [rng.uniform(-1, 1, shape) / np.sqrt(inputs) for shape in ((inputs, outputs), (outputs,))]
        network += [array.astype(np.float32) for array in layer]
    return network


def forward(network, images):
    hidden = np.maximum(images @ network[0] + network[1], 0)
    return hidden, hidden @ network[2] + network[3]


def cross_entropy(logits, labels):
    """The loss of every sample, and the probabilities."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    totals = exponentials.sum(axis=1)
    return np.log(totals) - shifted[np.arange(len(labels)), labels], exponentials / totals[:, None]


def gradients(network, images, labels):
    """Gradients of the mean loss, and the loss of every sample before the step."""
    hidden, logits = forward(network, images)
    losses, probabilities = cross_entropy(logits, labels)
    at_logits = probabilities
    at_logits[np.arange(len(labels)), labels] -= 1
    at_logits /= len(labels)
    at_hidden = (at_logits @ network[2].T) * (hidden > 0)
    return [images.T @ at_hidden, at_hidden.sum(0), hidden.T @ at_logits, at_logits.sum(0)], losses


def class_accuracies(network, data):
    correct = forward(network, data.images)[1].argmax(axis=1) == data.labels
    return [float(correct[data.labels == j].mean()) for j in range(len(CLASSES))]


# ---- Selection and training


class Selector:
    """Asks `rcap select` for the samples of each epoch, through files in a folder of its own."""

    def __init__(self, folder, labels, options, rate, seed):
        self.folder = folder
        np.save(folder / "labels.npy", labels)
        self.command = [RCAP, "select", *options, "--labels", "labels.npy", "--pruning-rate", str(rate)]
        self.command += ["--seed", str(seed), "--state", "state.rcap", "--out", "ids.npy", "--quiet"]
        self.takes_initial_losses = "rcap" in options

    def select(self, epoch, losses=None):
        """The ids of `epoch`. `losses` are those of the last ids, or before the first epoch of all samples."""
        command = [*self.command, "--epoch", str(epoch)]
        if losses is not None:
            np.save(self.folder / "losses.npy", losses)
            command += ["--losses", "losses.npy", *(["--ids", "ids.npy"] if epoch > 0 else [])]
        code = subprocess.run(command, cwd=self.folder).returncode
        if code != 0:
            sys.exit(code)  # rcap has said why
        return np.load(self.folder / "ids.npy")


def train_epoch(network, velocity, data, ids, rate_of_batch):
    """One pass over `ids`, in their order; returns their losses."""
    losses = []
    for batch, first in enumerate(range(0, len(ids), BATCH)):
        chosen = ids[first : first + BATCH]
        steps, batch_losses = gradients(network, data.images[chosen], data.labels[chosen])
        losses.append(batch_losses)
        for weights, moving, step in zip(network, velocity, steps):
            moving *= MOMENTUM
            moving += step + WEIGHT_DECAY * weights
            weights -= rate_of_batch(batch) * moving
    return np.concatenate(losses)


def train(data, selector, arguments, seed, show):
    """Trains from scratch; returns the network, the class counts of the last epoch, and the seconds."""
    epochs = arguments.epochs
    network = init_network(np.random.default_rng([seed, 1]), arguments.init)
    velocity = [np.zeros_like(weights) for weights in network]
    start, selecting, losses = time.perf_counter(), 0.0, None
    if selector.takes_initial_losses:
        losses = cross_entropy(forward(network, data.images)[1], data.labels)[0]
    for epoch in range(epochs):
        asked = time.perf_counter()
        ids = selector.select(epoch, losses)
        selecting += time.perf_counter() - asked
        batches = -(-len(ids) // BATCH)  # the same in every epoch, so the cosine ends with the run

        def rate_of_batch(batch):
            return LEARNING_RATE / 2 * (1 + np.cos(np.pi * (epoch * batches + batch) / (epochs * batches)))

        losses = train_epoch(network, velocity, data, ids, rate_of_batch)
        show(f"epoch {epoch + 1} of {epochs}, mean loss {losses.mean():.3f}")
    seconds = {"total": time.perf_counter() - start, "select": selecting}
    return network, np.bincount(data.labels[ids], minlength=len(CLASSES)).tolist(), seconds


def run(method, data, test, arguments, seed):
    """One training run as a record for results.json."""

    def show(text):
        if sys.stdout.isatty():
            print(f"\r{method}, seed {seed}: {text}\033[K", end="", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        selector = Selector(Path(folder), data.labels, METHODS[method], arguments.pruning_rate, seed)
        network, counts, seconds = train(data, selector, arguments, seed, show)
    accuracies = class_accuracies(network, test)
    record = {"method": method, "seed": seed, "options": METHODS[method], "class_counts": counts, "seconds": seconds}
    record |= {"worst": min(accuracies), "average": float(np.mean(accuracies)), "class_accuracy": accuracies}
    show("")
    print(f"\r{method:<12} seed {seed}: {sum(counts):>5} samples an epoch, worst class {record['worst']:6.1%}, "
          f"average {record['average']:6.1%}, {seconds['total']:5.1f} s", flush=True)
    return record


# ---- Results


def rcap_says(*words):
    return subprocess.run([RCAP, *words], check=True, capture_output=True, text=True).stdout.strip()


def describe(arguments, sample_count):
    """What was measured, on what, with what: a number without it is no result."""
    processor = next(line[3:].strip() for line in rcap_says("doctor").splitlines() if line.startswith("cpu"))
    return (f"Fashion-MNIST made long-tailed (imbalance {IMBALANCE}), n = {sample_count}; pruning rate "
            f"{arguments.pruning_rate:g}; {arguments.epochs} epochs; seeds {' '.join(map(str, arguments.seeds))}; "
            f"network 784-{HIDDEN}-10 in NumPy; balanced test set of 10,000; {processor}, 1 thread of "
            f"{len(os.sched_getaffinity(0))}; {rcap_says('--version')}, NumPy {np.__version__}, "
            f"Python {platform.python_version()}")


def table(records, description):
    """Markdown. The deviation over seeds stands beside the mean where there are several."""

    def cell(runs, value, digits, factor=1.0):
        values = np.array([value(r) for r in runs]) * factor
        deviation = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
        return f"{values.mean():.{digits}f}{deviation}"

    by_method = {method: [r for r in records if r["method"] == method] for method in METHODS}
    full_seconds = np.mean([r["seconds"]["total"] for r in by_method["full"]])
    heads = ["method", "samples an epoch", "worst class, %", "average class, %", "training, s", "of it selecting, s"]
    lines = [f"| {' | '.join(heads)} | speed-up |", "| --- |" + " ---: |" * len(heads)]
    for method, runs in by_method.items():
        cells = [method, str(sum(runs[0]["class_counts"])), cell(runs, lambda r: r["worst"], 1, 100),
                 cell(runs, lambda r: r["average"], 1, 100), cell(runs, lambda r: r["seconds"]["total"], 1),
                 cell(runs, lambda r: r["seconds"]["select"], 1)]
        speed_up = full_seconds / np.mean([r["seconds"]["total"] for r in runs])
        lines.append(f"| {' | '.join(cells)} | {speed_up:.1f} |")
    notes = [f"{description}. Training seconds hold the initial pass and the selection, not the evaluation."]
    if len(by_method["full"]) == 1:
        notes.append("One seed of a small network: a few points may be chance (--seeds 0 1 2 tells more).")
    return "\n\n".join(["\n".join(lines), *notes])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of Fashion-MNIST [{DATA}]")
    parser.add_argument("--out", type=Path, default="demo-out", help="folder of the results [demo-out]")
    parser.add_argument("--pruning-rate", type=float, default=0.9, help="fraction removed [0.9]")
    parser.add_argument("--epochs", type=int, default=30, help="of every run [30]")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run of each method a seed [0]")
    parser.add_argument("--init", choices=["uniform", "he"], default="uniform", help="of the network [uniform]")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not RCAP.is_file():
        stop("build/rcap is not there; run make build first")
    if arguments.epochs < 1:
        stop(f"--epochs is {arguments.epochs}; it must be at least 1")
    if not 0 <= arguments.pruning_rate < 1:
        stop(f"--pruning-rate is {arguments.pruning_rate}; it is the fraction removed, 0 <= rate < 1")
    whole, test = load(arguments.data, "train"), load(arguments.data, "t10k")
    records = []
    for seed in arguments.seeds:
        data = make_long_tailed(whole, np.random.default_rng([seed, 0]))
        records += [run(method, data, test, arguments, seed) for method in METHODS]
    description = describe(arguments, len(data.labels))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "table.md").write_text(table(records, description) + "\n")
    (arguments.out / "results.json").write_text(json.dumps({"setup": description, "runs": records}, indent=1) + "\n")
    counts = {r["method"]: r["class_counts"] for r in records if r["seed"] == arguments.seeds[0]}
    counts.pop("balanced")  # flat by its nature; a sixth curve would hide the others
    subtitle = (f"Fashion-MNIST, imbalance {IMBALANCE}; {arguments.pruning_rate:.0%} pruned; the last of "
                f"{arguments.epochs} epochs, seed {arguments.seeds[0]}; logarithmic scale")
    (arguments.out / "class_counts.svg").write_text(draw_class_counts(CLASSES, counts, subtitle))
    print(f"\n{table(records, description)}\n\nWrote {arguments.out}/table.md, results.json and class_counts.svg")


if __name__ == "__main__":
    main()
