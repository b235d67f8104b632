"""TrivialAugmentWide against Pillow, byte for byte: all operations, bins and directions.

What torchvision does to a Pillow image is written out here in Pillow's own calls."""

import io
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

PROGRAM = pathlib.Path(os.environ["RCAP_DATA_DUMP"])
BINS = 31


def evenly_spaced(first, last):
    """From both ends to the middle, each rounded once to single precision, as torch.linspace does."""
    step = float((np.float32(last) - np.float32(first)) / np.float32(BINS - 1))
    first, last = float(np.float32(first)), float(np.float32(last))
    return [float(np.float32(first + step * i if i < BINS // 2 else last - step * (BINS - 1 - i)))
            for i in range(BINS)]


def affine(image, *matrix):
    black = 0 if image.mode == "L" else (0, 0, 0)
    return image.transform(image.size, Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST, fillcolor=black)


def shear_angle(slope):
    """Handed over in degrees, so rounded on the way."""
    return math.radians(math.degrees(math.atan(slope)))


def shear_x(image, slope):
    return affine(image, 1.0, math.tan(shear_angle(slope)), 0.0, 0.0, 1.0, 0.0)


def shear_y(image, slope):
    angle = shear_angle(slope)
    return affine(image, 1.0, 0.0, 0.0, math.sin(angle) / math.cos(angle), 1.0, 0.0)


def translate(image, right, down):
    """About the middle, which cancels out."""
    x, y = image.width * 0.5, image.height * 0.5
    return affine(image, 1.0, 0.0, (-x - right) + x, 0.0, 1.0, (-y - down) + y)


def rotate(image, degrees):
    black = 0 if image.mode == "L" else (0, 0, 0)
    return image.rotate(degrees, Image.Resampling.NEAREST, False, None, fillcolor=black)


SLOPES = evenly_spaced(0, 0.99)
SIGNED = [
    ("ShearX", SLOPES, shear_x),
    ("ShearY", SLOPES, shear_y),
    ("TranslateX", evenly_spaced(0, 32), lambda image, m: translate(image, int(m), 0)),
    ("TranslateY", evenly_spaced(0, 32), lambda image, m: translate(image, 0, int(m))),
    ("Rotate", evenly_spaced(0, 135), rotate),
    ("Brightness", SLOPES, lambda image, m: ImageEnhance.Brightness(image).enhance(1.0 + m)),
    ("Color", SLOPES, lambda image, m: ImageEnhance.Color(image).enhance(1.0 + m)),
    ("Contrast", SLOPES, lambda image, m: ImageEnhance.Contrast(image).enhance(1.0 + m)),
    ("Sharpness", SLOPES, lambda image, m: ImageEnhance.Sharpness(image).enhance(1.0 + m)),
]
UNSIGNED = [
    ("Posterize", [8 - round(i / 5) for i in range(BINS)], ImageOps.posterize),
    ("Solarize", evenly_spaced(255, 0), ImageOps.solarize),
]


def all_augmentations(image):
    """Name and result, in the order in which the program prints them."""
    yield "Identity", image
    for name, strengths, change in SIGNED:
        for i, strength in enumerate(strengths):
            yield f"{name} {i}", change(image, strength)
            yield f"{name} -{i}", change(image, -strength)
    for name, strengths, change in UNSIGNED:
        for i, strength in enumerate(strengths):
            yield f"{name} {i}", change(image, strength)
    yield "AutoContrast", ImageOps.autocontrast(image)
    yield "Equalize", ImageOps.equalize(image)


def photograph(height, width):
    random = np.random.default_rng(height * 1000 + width)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    waves = [np.sin(7 * x + channel) + np.cos(11 * y * (channel + 1)) for channel in range(3)]
    return np.clip(128 + 50 * np.stack(waves, axis=-1) + random.normal(0, 25, (height, width, 3)), 0, 255)


def with_few_levels(height, width):
    """Red has one level, green two, blue some in the middle."""
    random = np.random.default_rng(1)
    return np.stack([np.full((height, width), 77), random.choice([10, 11], (height, width)),
                     random.integers(90, 140, (height, width))], axis=-1)


class TrivialAugment(unittest.TestCase):
    def check_all(self, pixels, kind):
        image = Image.fromarray(pixels.astype(np.uint8))
        image = image.convert("L") if kind == "grey" else image
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        with tempfile.TemporaryDirectory(prefix="rcap_augment_") as folder:
            path = pathlib.Path(folder) / "image"
            path.write_bytes(buffer.getvalue())
            result = subprocess.run([PROGRAM, path, "augment", kind], capture_output=True, check=True)
        length = len(image.tobytes())
        different = []
        count = 0
        for name, wanted in all_augmentations(image):
            found = result.stdout[count * length:(count + 1) * length]
            different += [name] if found != wanted.tobytes() else []
            count += 1
        self.assertEqual(different, [])
        self.assertEqual(len(result.stdout), count * length)
        return count

    def test_equals_pillow(self):
        compared = 0
        shapes = [(1, 1), (1, 9), (2, 3), (3, 2), (3, 3), (31, 17), (17, 31), (32, 32), (5, 300), (224, 224)]
        images = [photograph(*shape) for shape in shapes] + [with_few_levels(40, 50), with_few_levels(4, 5),
                                                             np.full((20, 20, 3), 255), np.zeros((20, 20, 3))]
        for pixels in images:
            for kind in ("colour", "grey"):
                with self.subTest(shape=pixels.shape, kind=kind):
                    compared += self.check_all(pixels, kind)
        # 9 operations with 31 bins in 2 directions, 2 with 31 bins, 3 with one; 14 images in 2 kinds.
        self.assertEqual(compared, (9 * 62 + 2 * 31 + 3) * 14 * 2)
        print(f"{compared} comparisons with Pillow")


if __name__ == "__main__":
    unittest.main()
