"""Decoding and resizing against Pillow, byte for byte; what Pillow refuses, we refuse."""

import io
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zlib

import numpy as np
from PIL import Image, ImageOps

PROGRAM = pathlib.Path(os.environ["RCAP_DATA_DUMP"])


def photograph(height, width, seed=0):
    """Smooth areas, edges and noise, as photographs have them."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    waves = [np.sin(7 * x + channel) + np.cos(11 * y * (channel + 1)) for channel in range(3)]
    image = 128 + 50 * np.stack(waves, axis=-1) + random.normal(0, 12, (height, width, 3))
    image[height // 3:height // 2, width // 4:width // 2] = random.integers(0, 256, 3)
    return np.clip(image, 0, 255).astype(np.uint8)


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_file(width, height, depth, color_type, rows, *, palette=b""):
    """A PNG of a kind that Pillow reads but does not write; `rows` without filter bytes."""
    chunks = [png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 0))]
    if palette:
        chunks.append(png_chunk(b"PLTE", palette))
    chunks.append(png_chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + png_chunk(b"IEND", b"")


class PillowTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_pillow_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "image"

    def dump(self, contents, *action):
        self.path.write_bytes(contents)
        result = subprocess.run([PROGRAM, self.path, *map(str, action)], capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        height, width = map(int, result.stderr.split())
        return np.frombuffer(result.stdout, np.uint8).reshape(height, width, 3)

    def check_decode(self, contents):
        wanted = np.asarray(Image.open(io.BytesIO(contents)).convert("RGB"))
        np.testing.assert_array_equal(self.dump(contents), wanted)

    def encoded(self, image, kind, **options):
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        return buffer.getvalue()


class Jpeg(PillowTest):
    def test_colour_in_every_subsampling_and_mode(self):
        image = Image.fromarray(photograph(67, 91))
        for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
            for progressive in (False, True):
                for quality in (30, 95):
                    with self.subTest(subsampling=subsampling, progressive=progressive, quality=quality):
                        self.check_decode(self.encoded(image, "JPEG", subsampling=subsampling,
                                                       progressive=progressive, quality=quality))

    def test_small_sizes(self):
        for height, width in [(1, 1), (1, 17), (9, 1), (8, 8), (15, 33)]:
            with self.subTest(height=height, width=width):
                self.check_decode(self.encoded(Image.fromarray(photograph(height, width)), "JPEG"))

    def test_grey(self):
        self.check_decode(self.encoded(Image.fromarray(photograph(40, 50)).convert("L"), "JPEG"))

    def test_cmyk_as_adobe_stores_it(self):
        random = np.random.default_rng(1)
        inks = random.integers(0, 256, (40, 50, 4), dtype=np.uint8)
        inks[:20] = 200
        contents = self.encoded(Image.fromarray(inks, "CMYK"), "JPEG", quality=95)
        self.assertEqual(Image.open(io.BytesIO(contents)).mode, "CMYK")
        self.check_decode(contents)

    def test_ycck(self):
        # Pillow writes plain CMYK; with 2 in the last byte of Adobe's marker it is read as YCCK.
        contents = self.encoded(Image.fromarray(np.dstack([photograph(40, 50), photograph(40, 50, 1)[..., :1]]),
                                                "CMYK"), "JPEG", quality=95)
        marker = contents.index(b"Adobe")
        contents = contents[:marker + 11] + b"\x02" + contents[marker + 12:]
        self.check_decode(contents)

    def test_orientation_is_not_applied(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        contents = self.encoded(Image.fromarray(photograph(20, 30)), "JPEG", exif=exif)
        self.assertEqual(self.dump(contents).shape, (20, 30, 3))
        self.check_decode(contents)

    def test_bytes_too_many_between_markers_do_no_harm(self):
        contents = self.encoded(Image.fromarray(photograph(20, 30)), "JPEG")
        frame = contents.index(b"\xff\xc0")
        self.check_decode(contents[:frame] + b"\x00\x01" + contents[frame:])


class Png(PillowTest):
    def test_colour_alpha_and_grey(self):
        colour = photograph(33, 47)
        alpha = photograph(33, 47, 1)[..., :1]
        grey = colour[..., 0]
        for name, image in [("RGB", Image.fromarray(colour)),
                            ("RGBA", Image.fromarray(np.dstack([colour, alpha]))),
                            ("L", Image.fromarray(grey)),
                            ("LA", Image.fromarray(np.dstack([grey, alpha]), "LA")),
                            ("1", Image.fromarray(grey > 128)),
                            ("P", Image.fromarray(colour).quantize(200)),
                            ("P of 4 bits", Image.fromarray(colour).quantize(13)),
                            ("P of 1 bit", Image.fromarray(colour).quantize(2))]:
            with self.subTest(name):
                self.check_decode(self.encoded(image, "PNG"))

    def test_transparency_beside_palette_and_colour_is_dropped(self):
        colour = Image.fromarray(photograph(20, 20))
        self.check_decode(self.encoded(colour.quantize(16), "PNG", transparency=3))
        self.check_decode(self.encoded(colour, "PNG", transparency=(1, 2, 3)))
        self.check_decode(self.encoded(colour.convert("L"), "PNG", transparency=7))

    def test_sixteen_bits(self):
        random = np.random.default_rng(2)
        for color_type, channels in [(0, 1), (2, 3), (4, 2), (6, 4)]:
            with self.subTest(color_type=color_type):
                rows = [random.integers(0, 65536, 12 * channels).astype(">u2").tobytes() for _ in range(9)]
                self.check_decode(png_file(12, 9, 16, color_type, rows))
        low = [np.arange(250, 262).astype(">u2").tobytes()]  # grey stops at 255
        self.check_decode(png_file(12, 1, 16, 0, low))

    def test_grey_of_two_and_four_bits(self):
        for depth in (1, 2, 4):
            with self.subTest(depth=depth):
                self.check_decode(png_file(16, 1, depth, 0, [bytes(range(0x12, 0x12 + 2 * depth))]))

    def test_palette_index_behind_the_palette(self):
        self.check_decode(png_file(4, 1, 8, 3, [bytes([0, 1, 2, 200])], palette=bytes(range(6))))

    def test_interlaced(self):
        # Adam7 by hand, one pixel: it is all in the first pass.
        header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 1)
        contents = (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) +
                    png_chunk(b"IDAT", zlib.compress(b"\0\x0a\x14\x1e")) + png_chunk(b"IEND", b""))
        self.check_decode(contents)
        self.check_decode(self.interlace(photograph(13, 22)))

    def interlace(self, image):
        """Adam7: seven passes over ever finer grids."""
        height, width, _ = image.shape
        data = b""
        for top, left, down, right in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2),
                                       (0, 1, 2, 2), (1, 0, 2, 1)]:
            part = image[top::down, left::right]
            if part.size:
                data += b"".join(b"\0" + row.tobytes() for row in part)
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
        return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(data)) +
                png_chunk(b"IEND", b""))


FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


class Resize(PillowTest):
    def check_resize(self, image, *action):
        """Returns height and width of the result, which both must agree on."""
        contents = self.encoded(Image.fromarray(image), "PNG", compress_level=1)
        for name, resampling in FILTERS.items():
            with self.subTest(source=image.shape, action=action, filter=name):
                found = self.dump(contents, *action, name)
                height, width = found.shape[:2]
                wanted = Image.fromarray(image).resize((width, height), resampling)
                np.testing.assert_array_equal(found, np.asarray(wanted))
        return height, width

    def check_size(self, image, height, width):
        self.assertEqual(self.check_resize(image, "resize", height, width), (height, width))

    def test_equals_pillow_up_and_down(self):
        for height, width in [(224, 224), (37, 91), (1, 1), (300, 17), (480, 640), (97, 640), (480, 33), (900, 1000)]:
            self.check_size(photograph(480, 640), height, width)

    def test_equals_pillow_on_extreme_pixels(self):
        random = np.random.default_rng(3)
        image = 255 * random.integers(0, 2, (101, 67, 3), dtype=np.uint8)
        for height, width in [(50, 33), (7, 200), (203, 5), (100, 66), (102, 68)]:
            self.check_size(image, height, width)

    def test_equals_pillow_at_random_sizes(self):
        random = np.random.default_rng(4)
        for _ in range(30):
            sizes = [int(size) for size in random.integers(1, 120, 4)]
            self.check_size(photograph(*sizes[:2]), *sizes[2:])

    def test_shorter_side_as_torchvision_has_it(self):
        for height, width in [(480, 640), (375, 500), (333, 499), (64, 63), (31, 200)]:
            short, long = sorted((height, width))
            longer = int(48 * long / short)
            wanted = (48, longer) if height <= width else (longer, 48)
            self.assertEqual(self.check_resize(photograph(height, width), "shorter_side", 48), wanted)


class Evaluation(PillowTest):
    def center_crop(self, image, side):
        """Zeros around what is too small, the odd one behind; then halves, rounded to even."""
        too_small = [max(side - size, 0) for size in image.size]
        if any(too_small):
            left, top = (missing // 2 for missing in too_small)
            right, bottom = ((missing + 1) // 2 for missing in too_small)
            image = ImageOps.expand(image, (left, top, right, bottom), fill=0)
        left, top = (round((size - side) / 2) for size in image.size)
        return image.crop((left, top, left + side, top + side))

    def resize(self, image, side, resampling):
        width, height = image.size
        short, long = sorted(image.size)
        longer = int(side * long / short)
        return image.resize((side, longer) if width <= height else (longer, side), resampling)

    def test_crops_and_resizes_as_torchvision_does(self):
        for shape, center, side, crop in [((218, 178), 178, 224, 0), ((375, 500), 0, 256, 224),
                                          ((500, 333), 0, 320, 300), ((301, 400), 0, 256, 224), ((40, 31), 33, 64, 0),
                                          ((31, 40), 50, 0, 0), ((30, 41), 0, 24, 40), ((60, 81), 0, 0, 44)]:
            image = Image.fromarray(photograph(*shape))
            contents = self.encoded(image, "PNG", compress_level=1)
            for name, resampling in FILTERS.items():
                with self.subTest(shape=shape, center=center, side=side, crop=crop, filter=name):
                    wanted = self.center_crop(image, center) if center else image
                    wanted = self.resize(wanted, side, resampling) if side else wanted
                    wanted = self.center_crop(wanted, crop) if crop else wanted
                    found = self.dump(contents, "evaluate", center, side, crop, name)
                    np.testing.assert_array_equal(found, np.asarray(wanted))


if __name__ == "__main__":
    unittest.main()
