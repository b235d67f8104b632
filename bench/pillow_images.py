#!/usr/bin/env python3
"""What Pillow does for the same images: decode, resize, crop, flip, to a normalised float array.

One thread, image by image, like a worker of a data loader. Prints one JSON object.
"""

import argparse
import json
import pathlib
import platform
import statistics
import time

import numpy as np
import PIL
from PIL import Image, features

MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)


def read(path, resize, crop, random):
    """One image as torchvision would make it: Resize, RandomCrop, flip, ToTensor, Normalize."""
    with Image.open(path) as file:
        image = file.convert("RGB")
    width, height = image.size
    short, long = min(width, height), max(width, height)
    longer = int(resize * long / short)
    image = image.resize((longer, resize) if width >= height else (resize, longer), Image.Resampling.BILINEAR)
    top = int(random.integers(0, image.height - crop + 1))
    left = int(random.integers(0, image.width - crop + 1))
    image = image.crop((left, top, left + crop, top + crop))
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    numbers = np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1)).astype(np.float32)
    numbers /= 255
    numbers -= MEAN
    numbers /= DEVIATION
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="a folder with train/CLASS/*.jpg")
    parser.add_argument("--resize", type=int, default=256)
    parser.add_argument("--crop", type=int, default=224)
    parser.add_argument("--repeat", type=int, default=1, help="timed passes")
    options = parser.parse_args()

    paths = sorted((options.data / "train").glob("*/*.jpg"))
    random = np.random.default_rng(0)
    rates = []
    for number in range(options.repeat + 1):  # the first pass warms up
        start = time.perf_counter()
        for place in random.permutation(len(paths)):
            read(paths[place], options.resize, options.crop, random)
        if number > 0:
            rates.append(len(paths) / (time.perf_counter() - start))
    print(json.dumps({
        "samples_per_second": statistics.median(rates),
        "samples": len(paths),
        "pillow": PIL.__version__,
        "libjpeg_turbo": features.version("libjpeg_turbo"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }))


if __name__ == "__main__":
    main()
