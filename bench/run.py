#!/usr/bin/env python3
"""Measures selection and bookkeeping: what `make bench` runs.

Every line is a ratio within this run: `rcap bench select` with one thread and with two, and
the NumPy stand-in, in turn over several rounds, so that a slow minute of the machine affects
all of them. Writes bench/results.json and bench/results.md and prints the table.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = [(profile, rate) for rate in (0.9, 0.5) for profile in ("balanced", "long-tailed")]


def run_json(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed: {result.stderr.strip()}")
    return json.loads(result.stdout)


def measure_once(options, profile, rate):
    """One round of one case: ours with one thread, without weights and with two threads, and NumPy."""
    size = ["--n", options.n, "--classes", options.classes, "--pruning-rate", rate,
            "--profile", profile, "--repeat", options.repeat]
    size = [str(word) for word in size]
    ours = [str(options.rcap), "bench", "select", "--json", *size, "--threads"]
    return {
        "one": run_json([*ours, "1"]),
        "paper": run_json([*ours, "1", "--beside", "paper"]),
        "two": run_json([*ours, "2", "--beside", "one-thread"]),
        "numpy": run_json([sys.executable, str(ROOT / "bench" / "numpy_stand_in.py"), *size]),
    }


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarise(profile, rate, rounds):
    """Medians over the rounds; ratios are first taken within a round."""
    def of(side, name):
        return [round_[side][name] for round_ in rounds]

    select, floor = of("one", "select_ns_per_sample"), of("one", "floor_ns_per_sample")
    numpy = of("numpy", "select_ns_per_sample")
    return {
        "profile": profile,
        "pruning_rate": rate,
        "select_ns_per_sample": spread(select),
        "floor_ns_per_sample": spread(floor),
        "select_over_floor": spread([a / b for a, b in zip(select, floor, strict=True)]),
        "over_paper": spread(of("paper", "dearer")),
        "two_threads_speed_up": spread(of("two", "faster")),
        "two_threads_quickest": spread([a / b for a, b in zip(
            of("two", "beside_ns_per_sample_min"), of("two", "select_ns_per_sample_min"), strict=True)]),
        "two_threads_floor": spread([a / b for a, b in zip(floor, of("two", "floor_ns_per_sample"), strict=True)]),
        "numpy_ns_per_sample": spread(numpy),
        "faster_than_numpy": spread([b / a for a, b in zip(select, numpy, strict=True)]),
        "observe_ns_per_sample": spread(of("one", "observe_ns_per_sample")),
        "order_ns_per_selected": spread(of("one", "order_ns_per_selected")),
        "peak_bytes_per_sample": spread(of("one", "peak_bytes_per_sample")),
    }


def table(results, about):
    def cell(result, name, digits=1):
        value = result[name]
        return f"{value['median']:.{digits}f} ({value['min']:.{digits}f}-{value['max']:.{digits}f})"

    lines = [
        "| classes | pruned | select, ns a sample | over the floor | over `paper` | two threads"
        " | two threads, quickest epochs | NumPy, ns a sample | faster than NumPy | observe, ns | bytes a sample |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        lines.append("| " + " | ".join([
            result["profile"], f"{result['pruning_rate']:.0%}",
            cell(result, "select_ns_per_sample"), cell(result, "select_over_floor", 2),
            cell(result, "over_paper", 2),
            cell(result, "two_threads_speed_up", 2), cell(result, "two_threads_quickest", 2),
            cell(result, "numpy_ns_per_sample"),
            cell(result, "faster_than_numpy"), cell(result, "observe_ns_per_sample"),
            f"{result['peak_bytes_per_sample']['median']:.1f}",
        ]) + " |")
    lines += ["", about]
    return "\n".join(lines)


def method_table(options):
    """One selection of every dynamic method beside rcap's."""
    found = run_json([str(options.rcap), "bench", "methods", "--json", "--quiet", "--n", str(options.n), "--classes",
                      str(options.classes), "--repeat", str(options.repeat)])
    lines = ["| method | select, ns a sample | over `rcap` |", "| --- | --- | --- |"]
    for row in found["methods"]:
        select, over = ("{:.2f} ({:.2f}-{:.2f})".format(*(row[name + end] for end in ("", "_min", "_max")))
                        for name in ("select_ns_per_sample", "over_rcap"))
        lines.append(f"| `{row['method']}` | {select} | {over} |")
    return found, "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rcap", type=pathlib.Path, default=ROOT / "build" / "rcap")
    parser.add_argument("--n", type=int, default=1_281_167)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=15, help="epochs per round (default 15)")
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds (default 15)")
    options = parser.parse_args()

    rounds = {case: [] for case in CASES}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        for case in CASES:
            rounds[case].append(measure_once(options, *case))

    first = rounds[CASES[0]][0]
    about = (
        f"`make bench`: n = {options.n:,} samples, {options.classes:,} classes, medians of "
        f"{options.rounds} rounds of {options.repeat} epochs (lowest-highest), one thread unless "
        "said. Over `paper`: beside the rule without weights. It and two threads are compared epoch by epoch, made in "
        "turn, two threads also by the quickest epochs "
        f"of a round, which others on the machine disturbed least. {first['one']['cpu']}, {first['one']['compiler']}, "
        f"rcap {first['one']['version']}, "
        f"NumPy {first['numpy']['numpy']}, Python {platform.python_version()}."
    )
    results = [summarise(*case, rounds[case]) for case in CASES]
    methods, text_of_methods = method_table(options)
    text = f"{table(results, about)}\n\n{text_of_methods}"
    print(text)
    (ROOT / "bench" / "results.md").write_text(text + "\n")
    (ROOT / "bench" / "results.json").write_text(
        json.dumps({"about": about, "results": results, "methods": methods, "rounds": [
            {"profile": p, "pruning_rate": r, "rounds": rounds[(p, r)]} for p, r in CASES]},
            indent=1) + "\n")


if __name__ == "__main__":
    main()
