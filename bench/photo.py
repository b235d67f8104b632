#!/usr/bin/env python3
"""Measures training steps of the photo networks: part of `make bench`.

 - seconds per step of `rcap train` against plain PyTorch (photo_step.py): resnet50 and efficientnet-b3, batch 16,
   224 x 224, ours and PyTorch in turn, with ratios within a round. PyTorch uses the memory format that is faster for it
   here;
 - overhead: selecting, observing and waiting for data as a fraction of the training time, efficientnet-b3 at 90 % from
   a packed file, with crop, flip and TrivialAugment.

The images are random: the time of a step does not depend on what they show. Writes bench/results-photo.json and .md.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 16


def run(command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed")
    return result.stdout


def write_photos(folder, count):
    """Random photographs of 320 x 256 in two classes, and four to evaluate on."""
    random = np.random.default_rng(0)
    for split, number in (("train", count), ("val", 4)):
        for i in range(number):
            path = folder / split / "ab"[i % 2] / f"{i}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            coarse = random.integers(0, 256, (16, 20, 3), np.uint8)
            Image.fromarray(coarse).resize((320, 256), Image.Resampling.BICUBIC).save(path, quality=90)


def train(options, folder, name, model, *words):
    """A run from the packed file: its summary, and the seconds per step without the first epoch."""
    out = folder / name
    summary = json.loads(run([options.rcap, "train", "--preset", "waterbirds", "--dataset", "image-folder", "--data",
                              folder / "photos.pack", "--model", model, "--batch-size", BATCH, "--threads",
                              options.threads, "--evaluate-every", 1000, "--out", out, "--quiet", "--json", *words]))
    epochs = [json.loads(line) for line in (out / "epochs.jsonl").read_text().splitlines()][1:]
    steps = sum(-(-epoch["selected"] // BATCH) for epoch in epochs)
    return summary, sum(epoch["seconds"]["train"] for epoch in epochs) / steps


def pytorch(options, model, steps, channels_last):
    words = ["--channels-last"] if channels_last else []
    return json.loads(run([sys.executable, ROOT / "bench" / "photo_step.py", "--model", model, "--batch-size", BATCH,
                           "--steps", steps, "--threads", options.threads, *words]))["seconds_per_step"]


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def measure_steps(options, folder, model):
    ours, theirs, ratios = [], [], []
    for round_ in range(options.rounds):
        _, seconds = train(options, folder, f"{model}{round_}", model, "--method", "random", "--pruning-rate", 0.8,
                           "--epochs", 1 + options.steps // 2)
        layouts = [pytorch(options, model, options.steps, last) for last in (False, True)]
        ours.append(seconds)
        theirs.append(min(layouts))
        ratios.append(theirs[-1] / seconds)
        print(f"{model}, round {round_ + 1} of {options.rounds}: {seconds:.2f} s a step, PyTorch {layouts[0]:.2f} s, "
              f"channels last {layouts[1]:.2f} s", file=sys.stderr)
    return {"seconds_per_step": spread(ours), "pytorch_seconds_per_step": spread(theirs), "ratio": spread(ratios)}


def measure_overhead(options, folder):
    summary, _ = train(options, folder, "overhead", "efficientnet-b3", "--method", "rcap", "--initial-loss", "log-c",
                       "--pruning-rate", 0.9, "--epochs", 4)
    seconds = summary["seconds"]
    extra = seconds["select"] + seconds["observe"] + seconds["data_wait"]
    return extra / (extra + seconds["train"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rcap", type=pathlib.Path, default=ROOT / "build" / "rcap")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="timed steps per round")
    options = parser.parse_args()

    results = {"threads": options.threads, "machine": platform.processor() or platform.machine()}
    with tempfile.TemporaryDirectory(prefix="rcap-bench-") as name:
        folder = pathlib.Path(name)
        write_photos(folder / "photos", 160)
        run([options.rcap, "data", "pack", "--dataset", "image-folder", "--data", folder / "photos", "--resize", 256,
             "--out", folder / "photos.pack", "--quiet"])
        for model in ("resnet50", "efficientnet-b3"):
            results[model] = measure_steps(options, folder, model)
        results["overhead"] = measure_overhead(options, folder)

    def show(value):
        return f"{value['median']:.2f} ({value['min']:.2f}-{value['max']:.2f})"

    lines = ["| network | `rcap train`, s a step | PyTorch, s a step | times as fast |", "| --- | --- | --- | --- |"]
    lines += [f"| {model} | {show(results[model]['seconds_per_step'])} | "
              f"{show(results[model]['pytorch_seconds_per_step'])} | {show(results[model]['ratio'])} |"
              for model in ("resnet50", "efficientnet-b3")]
    lines += ["", f"Batch {BATCH}, 224 x 224, AdamW, {options.threads} threads, medians of {options.rounds} rounds "
              f"(lowest-highest). Selecting, observing and waiting for packed data take "
              f"{100 * results['overhead']:.2f} % of the training time of efficientnet-b3 at 90 %."]
    table = "\n".join(lines) + "\n"
    (ROOT / "bench" / "results-photo.json").write_text(json.dumps(results, indent=2) + "\n")
    (ROOT / "bench" / "results-photo.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
