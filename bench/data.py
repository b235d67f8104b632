#!/usr/bin/env python3
"""Measures how fast images get from files to tensors: what `make bench` runs after training.

Photo-like JPEGs of about 500 x 375 (quality 90, 4:2:0) become normalised float tensors of 224 x 224: shorter side to
256, random crop, flip. It times Pillow in Python (pillow_images.py) and `rcap bench data` from the JPEGs, exactly and
with fast decoding, and from a packed file, with one worker and with two, in turn over several rounds; ratios are taken
within a round. Writes bench/results-data.json and .md and prints the table.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESIZE, CROP = 256, 224


def run(*command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed")
    return result.stdout


def photograph(random, height, width):
    """Detail at all scales, falling with the frequency as in photographs, a few hard edges, sensor noise."""
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    fall = 1 / np.maximum(np.hypot(rows, columns), 1 / max(height, width))
    brightness = np.fft.irfft2(fall * np.fft.rfft2(random.normal(size=(height, width))), (height, width))
    colour = [np.fft.irfft2(fall ** 1.5 * np.fft.rfft2(random.normal(size=(height, width))), (height, width))
              for _ in range(3)]
    image = np.stack([brightness / brightness.std() + 0.5 * channel / channel.std() for channel in colour], axis=-1)
    for _ in range(4):
        top, left = random.integers(0, height - 40), random.integers(0, width - 40)
        bottom, right = top + random.integers(20, height // 2), left + random.integers(20, width // 2)
        image[top:bottom, left:right] = 0.4 * image[top:bottom, left:right] + random.normal(0, 0.8, 3)
    image = 120 + 45 * image + random.normal(0, 2, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def write_photographs(folder, count, short=375, long=500):
    """In the layout of an image folder; returns their mean size in bytes."""
    random = np.random.default_rng(0)
    total = 0
    for number in range(count):
        sizes = [short + int(random.integers(-12, 13)), long + int(random.integers(-16, 17))]
        height, width = sizes if number % 4 else reversed(sizes)  # a quarter are in portrait format
        for split in ("train", "val") if number < 4 else ("train",):
            path = folder / split / f"class{number % 2}" / f"{number:04}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(photograph(random, height, width)).save(path, quality=90, subsampling="4:2:0")
            total += path.stat().st_size if split == "train" else 0
    return total / count


def rcap(options, data, workers, *words):
    # A pass over the packed file is short, so there are more of them.
    repeat = 7 * options.repeat if pathlib.Path(data).is_file() else options.repeat
    return json.loads(run(options.rcap, "bench", "data", "--dataset", "image-folder", "--data", data,
                          "--resize", RESIZE, "--crop", CROP, "--flip", "--workers", workers, "--repeat", repeat,
                          "--quiet", "--json", *words))


def measure_round(options, photos, large, pack):
    """Images a second."""
    pillow = json.loads(run(sys.executable, ROOT / "bench" / "pillow_images.py", "--data", photos, "--resize", RESIZE,
                            "--crop", CROP, "--repeat", options.repeat))
    return {"pillow": pillow, "exact": rcap(options, photos, 1), "exact_2": rcap(options, photos, 2),
            "fast": rcap(options, photos, 1, "--fast-decode", "on"), "packed": rcap(options, pack, 1),
            "packed_2": rcap(options, pack, 2), "large": rcap(options, large, 1),
            "large_fast": rcap(options, large, 1, "--fast-decode", "on")}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def show(value, digits=2):
    low, middle, high = (f"{value[key]:.{digits}f}" for key in ("min", "median", "max"))
    return f"{middle} ({low}-{high})"


def summarise(rounds):
    def rates(side):
        return [sides[side]["samples_per_second"] for sides in rounds]

    def ratios(side, other):
        return spread([a / b for a, b in zip(rates(side), rates(other), strict=True)])

    return {
        "images_per_second": {side: spread(rates(side)) for side in rounds[0]},
        "exact_over_pillow": ratios("exact", "pillow"),
        "fast_over_pillow": ratios("fast", "pillow"),
        "packed_over_pillow": ratios("packed", "pillow"),
        "large_fast_over_exact": ratios("large_fast", "large"),
        "two_workers_exact": ratios("exact_2", "exact"),
        "two_workers_packed": ratios("packed_2", "packed"),
    }


def table(results, about):
    rates = results["images_per_second"]
    rows = [("Pillow in Python, one thread", "pillow", None, None, None),
            ("JPEGs, one worker", "exact", "exact_over_pillow", "2", "two_workers_exact"),
            ("JPEGs with `--fast-decode`, one worker", "fast", "fast_over_pillow", "", None),
            ("packed file, one worker", "packed", "packed_over_pillow", "10", "two_workers_packed")]
    lines = ["| images from | images a second | times Pillow | bar | two workers over one | bar |",
             "| --- | --- | --- | --- | --- | --- |"]
    for name, side, ratio, bar, two in rows:
        lines.append(f"| {name} | {show(rates[side], 0)} | {show(results[ratio]) if ratio else '1'} | {bar or ''} | "
                     f"{show(results[two]) if two else ''} | {'1.8' if two else ''} |")
    large = ("`--fast-decode` takes effect where the shorter side is at least twice as long as it will be: of JPEGs "
             f"of about 1000 x 750 it makes {show(rates['large_fast'], 0)} a second instead of "
             f"{show(rates['large'], 0)}, {show(results['large_fast_over_exact'])} times as many.")
    return "\n".join([*lines, "", large, "", about])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rcap", type=pathlib.Path, default=ROOT / "build" / "rcap")
    parser.add_argument("--images", type=int, default=300, help="number of photographs [300]")
    parser.add_argument("--rounds", type=int, default=9, help="number of rounds [9]")
    parser.add_argument("--repeat", type=int, default=1, help="timed passes per round [1]")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench", help="where the results go [bench]")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="rcap-bench-") as name:
        photos, pack = pathlib.Path(name) / "photos", pathlib.Path(name) / "photos.pack"
        large = pathlib.Path(name) / "large"
        mean_bytes = write_photographs(photos, options.images)
        write_photographs(large, options.images // 6, 750, 1000)
        run(options.rcap, "data", "pack", "--dataset", "image-folder", "--data", photos, "--resize", RESIZE,
            "--out", pack, "--quiet")
        rounds, load = [], []
        for number in range(options.rounds):
            rounds.append(measure_round(options, photos, large, pack))
            load.append(os.getloadavg()[0])
            rates = ", ".join(f"{side} {result['samples_per_second']:.0f}" for side, result in rounds[-1].items())
            print(f"round {number + 1} of {options.rounds}: {rates}", file=sys.stderr)
    ours, pillow = rounds[0]["exact"], rounds[0]["pillow"]
    about = (f"`make bench`: {options.images} generated photographs of about 500 x 375 (JPEG, quality 90, 4:2:0, "
             f"{mean_bytes / 1000:.0f} kB each) to normalised crops of {CROP} x {CROP} out of a shorter side of "
             f"{RESIZE}, flipped at random; medians of {options.rounds} rounds (lowest-highest), ratios inside a "
             f"round, load average {min(load):.1f}-{max(load):.1f} on {os.cpu_count()} processors; "
             f"{ours['cpu']}, {ours['compiler']}, rcap {ours['version']}, Pillow {pillow['pillow']} with libjpeg-turbo "
             f"{pillow['libjpeg_turbo']}, NumPy {pillow['numpy']}, Python {pillow['python']}.")
    results = summarise(rounds)
    text = table(results, about)
    print(text)
    (options.out / "results-data.md").write_text(text + "\n")
    (options.out / "results-data.json").write_text(
        json.dumps({"about": about, "results": results, "rounds": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
