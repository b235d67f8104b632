#!/usr/bin/env python3
"""Measures training: what `make bench` runs after selection.

 - speed-up of RCAP at 90 % over training on everything, the same 60 epochs, without evaluation;
 - overhead: selecting, observing and waiting for data as a fraction of the training time;
 - samples per second of `rcap train` over those of a plain PyTorch loop (pytorch_loop.py), with crop and flip on both
   sides;
 - peak memory of both with resnet18-cifar.

Ours and the loop run in turn, and ratios are taken within a round. CIFAR-10 is replaced by random images in its layout:
the time of a step does not depend on what they show. Writes bench/results-train.json and .md and prints the table.
"""

import argparse
import gzip
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def run(command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False, **options)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed")
    return result.stdout


def train(options, folder, name, *words):
    """A run of `rcap train`: its summary, with the peak memory of the process."""
    command = [options.rcap, "train", "--threads", options.threads, "--out", folder / name, "--quiet", "--json", *words]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed")
    return json.loads(output) | {"peak_bytes": usage.ru_maxrss * 1024}


def pytorch_loop(options, data, model, steps, batch, lr, padding):
    return json.loads(run([sys.executable, ROOT / "bench" / "pytorch_loop.py", "--images", data / "images.npy",
                           "--labels", data / "labels.npy", "--model", model, "--batch-size", batch, "--lr", lr,
                           "--padding", padding, "--threads", options.threads, "--steps", steps]))


def write_fashion_arrays(folder):
    """The training images as the loop reads them."""
    folder.mkdir()
    images = gzip.decompress((FASHION / "train-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((FASHION / "train-labels-idx1-ubyte.gz").read_bytes())[8:]
    np.save(folder / "images.npy", np.frombuffer(images, np.uint8).reshape(-1, 1, 28, 28))
    np.save(folder / "labels.npy", np.frombuffer(labels, np.uint8).astype(np.int64))


def write_random_cifar(folder):
    """Random images in the layout of CIFAR-10, binary and as arrays."""
    folder.mkdir()
    random = np.random.default_rng(0)
    records = random.integers(0, 256, (50_000, 3073), np.uint8)
    records[:, 0] %= 10
    for part in range(5):
        records[10_000 * part:10_000 * (part + 1)].tofile(folder / f"data_batch_{part + 1}.bin")
    records[:500].tofile(folder / "test_batch.bin")  # evaluation is not what is measured
    np.save(folder / "images.npy", records[:, 1:].reshape(-1, 3, 32, 32))
    np.save(folder / "labels.npy", records[:, 0].astype(np.int64))


def working_seconds(summary):
    seconds = summary["seconds"]
    return seconds["train"] + seconds["data_wait"] + seconds["select"] + seconds["observe"]


def samples_per_second(summary):
    return summary["samples_seen"] / working_seconds(summary)


def overhead(summary):
    return 1 - summary["seconds"]["train"] / working_seconds(summary)


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def measure_speed_up(options, folder):
    """Full training against RCAP, without opening the data and evaluating, which are the same for both."""
    def cost(summary):
        return summary["seconds"]["total"] - summary["seconds"]["setup"] - summary["seconds"]["evaluate"]

    ratios, overheads = [], []
    for round_ in range(options.speed_up_rounds):
        common = ["--preset", "fashion-mnist-lt", "--epochs", options.epochs, "--evaluate-every", options.epochs]
        pruned = train(options, folder, f"rcap{round_}", "--method", "rcap", *common)
        full = train(options, folder, f"full{round_}", "--method", "full", *common)
        ratios.append(cost(full) / cost(pruned))
        overheads.append(overhead(pruned))
    return spread(ratios), spread(overheads)


def measure_against_pytorch(options, folder, model, data, words, steps, batch, lr, padding, rounds):
    ratios, overheads, memory = [], [], []
    for round_ in range(rounds):
        ours = train(options, folder, f"{model}{round_}", "--model", model, "--method", "rcap",
                     "--initial-loss", "log-c", "--batch-size", batch, "--lr", lr, "--crop-padding", padding,
                     "--flip", "on", "--evaluate-every", 1000, *words)
        loop = pytorch_loop(options, data, model, steps, batch, lr, padding)
        ratios.append(samples_per_second(ours) / loop["samples_per_second"])
        overheads.append(overhead(ours))
        memory.append(ours["peak_bytes"] / loop["peak_bytes"])
        print(f"{model}, round {round_ + 1} of {rounds}: {samples_per_second(ours):.0f} samples/s, "
              f"PyTorch {loop['samples_per_second']:.0f}", file=sys.stderr)
    return spread(ratios), spread(overheads), spread(memory)


def show(value, factor=1.0, digits=2):
    low, middle, high = (f"{value[key] * factor:.{digits}f}" for key in ("min", "median", "max"))
    return f"{middle} ({low}-{high}, n = {value['n']})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rcap", type=pathlib.Path, default=ROOT / "build" / "rcap")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--epochs", type=int, default=60, help="epochs of the speed-up runs [60]")
    parser.add_argument("--speed-up-rounds", type=int, default=3, help="rounds of these runs, which take minutes [3]")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of small-cnn against PyTorch [7]")
    parser.add_argument("--resnet-rounds", type=int, default=3, help="rounds of resnet18-cifar against PyTorch [3]")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="rcap-bench-") as name:
        folder = pathlib.Path(name)
        write_fashion_arrays(folder / "fashion")
        write_random_cifar(folder / "cifar")
        results = {}
        small = measure_against_pytorch(options, folder, "small-cnn", folder / "fashion",
                                        ["--preset", "fashion-mnist-lt", "--imbalance", 1, "--epochs", 3], 280, 64,
                                        0.05, 2, options.rounds)
        large = measure_against_pytorch(options, folder, "resnet18-cifar", folder / "cifar",
                                        ["--preset", "cifar10", "--data", folder / "cifar", "--epochs", 1,
                                         "--pruning-rate", 0.97], 12, 128, 0.1, 4, options.resnet_rounds)
        speed_up, small_overhead = measure_speed_up(options, folder)
        results = {"speed_up": speed_up, "overhead_small_cnn": small_overhead, "overhead_resnet18": large[1],
                   "against_pytorch_small_cnn": small[0], "against_pytorch_resnet18": large[0],
                   "memory_resnet18": large[2]}
    lines = ["| what | measured | bar |", "| --- | --- | --- |",
             f"| full training over RCAP at 90 %, small-cnn, {options.epochs} epochs "
             f"| {show(speed_up, digits=1)} times | 9.0 |",
             f"| selecting, observing, waiting for data; small-cnn | {show(small_overhead, 100)} % | at most 5 % |",
             f"| the same; resnet18-cifar | {show(large[1], 100)} % | at most 2 % |",
             f"| samples a second over PyTorch's, small-cnn | {show(small[0])} | 1.2 |",
             f"| samples a second over PyTorch's, resnet18-cifar | {show(large[0])} | 1.0 |",
             f"| peak memory over PyTorch's, resnet18-cifar, batch 128 | {show(large[2])} | at most 1.2 |"]
    doctor = json.loads(run([options.rcap, "doctor", "--json"]))
    note = (f"`make bench`, medians (lowest-highest); {doctor['cpu']['model']}, {options.threads} threads; rcap "
            f"{doctor['version']}, torch 2.13.0, Python {platform.python_version()}.")
    text = "\n".join(lines) + "\n\n" + note + "\n"
    (ROOT / "bench" / "results-train.json").write_text(json.dumps(results, indent=1) + "\n")
    (ROOT / "bench" / "results-train.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
