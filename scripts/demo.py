#!/usr/bin/env python3
"""Trains a small network on long-tailed Fashion-MNIST, whole and on a tenth of it, and compares.

Every line of the table is a run of `rcap train`, whose folder stays in --out: summary.json, epochs.jsonl, event files
for TensorBoard. Runs that are already there are taken over, a stopped one goes on. Writes table.md and
class_counts.svg beside them.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from demo_figure import draw_class_counts

ROOT = Path(__file__).resolve().parent.parent
RCAP = ROOT / "build" / "rcap"
METHODS = {  # name in the table -> options of `rcap train`
    "full": ["--method", "full"],
    "rs2": ["--method", "rs2"],
    "rcap, paper": ["--method", "rcap", "--class-share", "paper"],
    "rcap, mass": ["--method", "rcap", "--class-share", "mass"],
    "rcap, group": ["--method", "rcap", "--class-share", "group"],
    "balanced": ["--method", "balanced"],
}
OTHERS = ["rs2-replace", "random", "infobatch", "ucb", "epsilon-greedy", "ccs", "metriq", "tdds"]  # with --more


def train(method, seed, arguments):
    """One run; returns its summary and its records of epochs."""
    out = arguments.out / f"{method.replace(', ', '-')}-seed{seed}"
    options = [*METHODS.get(method, ["--method", method]), "--pruning-rate", arguments.pruning_rate, "--epochs", arguments.epochs, "--seed", seed,
               "--evaluate-every", arguments.epochs]
    if not sys.stderr.isatty():
        options.append("--quiet")
    print(f"{method}, seed {seed}", flush=True)
    # A folder with a finished run answers at once.
    command = [RCAP, "train", "--preset", "fashion-mnist-lt", *options, "--out", out, "--resume"]
    code = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL).returncode
    if code != 0:
        sys.exit(code)  # rcap has said why
    records = [json.loads(line) for line in (out / "epochs.jsonl").read_text().splitlines()]
    return json.loads((out / "summary.json").read_text()), records


def training_seconds(summary):
    """Everything a method costs; opening the data and evaluating cost the same for all."""
    seconds = summary["seconds"]
    return seconds["total"] - seconds["setup"] - seconds["evaluate"]


def cell(values, digits=1):
    """The mean; over several seeds with its (population) deviation."""
    text = f"{statistics.mean(values):.{digits}f}"
    return text + (f" ± {statistics.pstdev(values):.{digits}f}" if len(values) > 1 else "")


def table(summaries):
    full = statistics.mean(map(training_seconds, summaries["full"]))
    lines = ["| method | samples an epoch | worst class, % | average class, % | training, s | speed-up |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for method, runs in summaries.items():
        seconds = [training_seconds(run) for run in runs]
        lines.append(f"| {method} | {runs[0]['keep_count']:,} | {cell([100 * r['worst_group_accuracy'] for r in runs])} | "
                     f"{cell([100 * r['average_group_accuracy'] for r in runs])} | {cell(seconds)} | "
                     f"{full / statistics.mean(seconds):.1f} |")
    return "\n".join(lines)


def describe(arguments, summary):
    """What was measured, on what, with what: a number without it is no result."""
    doctor = json.loads(subprocess.run([RCAP, "doctor", "--json"], check=True, capture_output=True, text=True).stdout)
    seeds = " ".join(map(str, arguments.seeds))
    return (f"Fashion-MNIST made long-tailed (100), n = {summary['n_train']:,}; {arguments.pruning_rate:.0%} pruned; "
            f"small-cnn, {arguments.epochs} epochs; seeds {seeds}; balanced test set of 10,000; {doctor['cpu']['model']}, "
            f"{doctor['threads']} threads; rcap {doctor['version']}. Training seconds hold RCAP's pass before training and "
            "the selection, not the evaluation.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default="demo-out", help="folder of the results [demo-out]")
    parser.add_argument("--pruning-rate", type=float, default=0.9, help="fraction removed [0.9]")
    parser.add_argument("--epochs", type=int, default=60, help="of every run [60]")
    parser.add_argument("--more", nargs="+", choices=OTHERS, default=[], metavar="METHOD",
                        help=f"methods beside {', '.join(METHODS)}: {' '.join(OTHERS)}")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run of each method a seed [0]")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not RCAP.is_file():
        sys.exit("demo: build/rcap is not there; run make build first")
    summaries, counts = {}, {}
    for method in [*METHODS, *arguments.more]:
        runs = [train(method, seed, arguments) for seed in arguments.seeds]
        summaries[method] = [summary for summary, _ in runs]
        if method in METHODS:
            counts[method] = runs[0][1][-1]["class_counts"]
    first = summaries["full"][0]
    text = f"{table(summaries)}\n\n{describe(arguments, first)}\n"
    (arguments.out / "table.md").write_text(text)
    counts.pop("balanced")  # flat by its nature; a sixth curve would hide the others
    subtitle = (f"Fashion-MNIST, imbalance 100; {arguments.pruning_rate:.0%} pruned; the last of {arguments.epochs} "
                f"epochs, seed {arguments.seeds[0]}; logarithmic scale")
    (arguments.out / "class_counts.svg").write_text(draw_class_counts(first["group_names"], counts, subtitle))
    print(f"\n{text}\nWrote {arguments.out}/table.md, class_counts.svg and a folder for every run")


if __name__ == "__main__":
    main()
