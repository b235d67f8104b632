"""rcap data pack and packed files as a user meets them: kills, stops, refusals, verifying."""

import io
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np
from PIL import Image

PROGRAM = pathlib.Path(os.environ.get("RCAP_PROGRAM", "build/rcap")).resolve()
KILLS = int(os.environ.get("RCAP_TEST_KILLS", "20"))
TRAIN, VAL = 240, 20
RESIZE = ("--resize", 64)


def photograph(seed, height, width):
    numbers = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / 40
    waves = [np.sin(x * numbers.uniform(0.5, 2) + channel) + np.cos(y * numbers.uniform(0.5, 2))
             for channel in range(3)]
    image = 128 + 50 * np.stack(waves, axis=-1) + numbers.normal(0, 10, (height, width, 3))
    return np.clip(image, 0, 255).astype(np.uint8)


class PackTest(unittest.TestCase):
    """All tests share one folder of photographs; each has a fresh folder for what it writes."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rcap_photos_")
        cls.addClassCleanup(folder.cleanup)
        cls.photos = pathlib.Path(folder.name)
        # A few photographs under many names, so that making them takes no time.
        contents = []
        for seed in range(8):
            buffer = io.BytesIO()
            Image.fromarray(photograph(seed, 300 + 9 * seed, 420 - 7 * seed)).save(buffer, "JPEG", quality=90)
            contents.append(buffer.getvalue())
        for split, count in (("train", TRAIN), ("val", VAL)):
            for number in range(count):
                path = cls.photos / split / ("cat", "dog")[number % 2] / f"{number:03}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(contents[number % len(contents)])

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_pack_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, out, *words):
        return [PROGRAM, "data", "pack", "--dataset", "image-folder", "--data", self.photos, "--out", out, "--quiet",
                "--threads", "2", *map(str, words)]

    def run_rcap(self, *words, **options):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              check=False, **options)

    def pack(self, out, *words):
        result = subprocess.run(self.command(out, "--json", *words), cwd=self.folder, capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def refused(self, *words, naming, **options):
        result = self.run_rcap(*words, **options)
        self.assertEqual(result.returncode, 2, f"{words}: {result.stdout}{result.stderr}")
        line = result.stderr.strip().splitlines()[-1]
        self.assertTrue(line.startswith("rcap: "), line)
        for text in [naming] if isinstance(naming, str) else naming:
            self.assertIn(text, line)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


class Packing(PackTest):
    def test_a_killed_pack_ends_as_if_never_stopped(self):
        seconds = time.monotonic()
        self.pack("whole", *RESIZE)
        seconds = time.monotonic() - seconds
        whole = (self.folder / "whole").read_bytes()
        moments = random.Random(1)
        killed = rounds = 0
        while killed < KILLS:
            rounds += 1
            out = self.folder / f"pack{rounds}"
            while not out.exists():
                process = subprocess.Popen(self.command(out, "--json", *RESIZE), stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True)
                try:
                    _, errors = process.communicate(timeout=moments.uniform(0.01, 1.1 * seconds))
                    self.assertEqual((process.returncode, errors), (0, ""))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    killed += 1
            self.assertEqual(self.pack(out, *RESIZE)["done_before"], TRAIN + VAL)
            self.assertTrue(out.read_bytes() == whole)
            self.assertFalse([name for name in self.names() if "partial" in name])

    def test_images_that_change_meanwhile_are_noticed(self):
        photos = self.folder / "photos"
        shutil.copytree(self.photos, photos)
        pack = ("data", "pack", "--dataset", "image-folder", "--data", photos, "--threads", 2, "--quiet", *RESIZE,
                "--out", "pack")
        process = subprocess.Popen([PROGRAM, *map(str, pack)], cwd=self.folder)
        while not (self.folder / "pack.partial.log").exists():
            time.sleep(0.001)
        process.kill()
        process.wait()
        first = photos / "train/cat/000.jpg"
        content = first.read_bytes()
        first.write_bytes((photos / "train/dog/001.jpg").read_bytes())
        self.refused(*pack, naming=["was begun with train", "sizes and times of files", "start over with restart"])
        finished = self.run_rcap(*pack, "--restart")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        changed = (self.folder / "pack").read_bytes()
        first.write_bytes(content)
        self.refused(*pack, naming="is not a pack of these images (names, sizes and times of their files)")
        self.assertEqual(self.run_rcap(*pack, "--restart").returncode, 0)
        self.assertNotEqual((self.folder / "pack").read_bytes(), changed)

    @unittest.skipUnless((PROGRAM.parent / "rcap-train").exists(), "built without LibTorch")
    def test_a_pack_cut_off_while_it_is_trained_on_ends_the_training_in_words(self):
        self.pack("pack", *RESIZE)
        train = subprocess.Popen([PROGRAM, "train", "--dataset", "image-folder", "--data", "pack", "--image-size", "16",
                                  "--resize", "16", "--method", "full", "--epochs", "1000", "--checkpoint-seconds", "0",
                                  "--threads", "1", "--out", "run", "--quiet"],
                                 cwd=self.folder, stderr=subprocess.PIPE, text=True)
        while not list((self.folder / "run").glob("checkpoint/epoch-*")):
            time.sleep(0.01)
        os.truncate(self.folder / "pack", 1000)
        _, errors = train.communicate(timeout=60)
        self.assertEqual(train.returncode, 2, errors)
        self.assertIn("pack: was written to or truncated while its images were read", errors)
        self.assertTrue(list((self.folder / "run").glob("checkpoint/epoch-*")))

    def test_ctrl_c_and_a_polite_kill_lose_nothing(self):
        self.pack("whole", *RESIZE)
        for kind in (signal.SIGINT, signal.SIGTERM):
            out, log = self.folder / kind.name, self.folder / f"{kind.name}.partial.log"
            process = subprocess.Popen(self.command(out, *RESIZE), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True)
            while not log.exists():
                time.sleep(0.001)
            process.send_signal(kind)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, errors)
            self.assertIn(f"the same command continues {out}.partial", errors)
            self.assertFalse(out.exists())
            self.pack(out, *RESIZE)
            self.assertTrue(out.read_bytes() == (self.folder / "whole").read_bytes())

    def test_a_full_disk_is_told_and_nothing_is_lost(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))

        self.pack("whole", *RESIZE)
        self.refused(*self.command("pack", *RESIZE)[1:], preexec_fn=limit,
                     naming=["pack.partial: cannot be written", "free some space", "the same command"])
        self.assertEqual(self.names(), ["pack.partial", "pack.partial.log", "whole"])
        self.assertGreater(self.pack("pack", *RESIZE)["done_before"], 0)
        self.assertTrue((self.folder / "pack").read_bytes() == (self.folder / "whole").read_bytes())

    def test_pixels_are_those_of_pillow(self):
        self.pack("pack", *RESIZE)
        data = (self.folder / "pack").read_bytes()
        path = self.photos / "train/cat/002.jpg"  # the second of the first class
        sizes = []
        for name in ("000.jpg", "002.jpg"):
            image = Image.open(self.photos / "train/cat" / name).convert("RGB")
            short = min(image.size)
            sizes.append((int(64 * image.width / short), int(64 * image.height / short)))
        offset = 88 + sizes[0][0] * sizes[0][1] * 3
        wanted = Image.open(path).convert("RGB").resize(sizes[1], Image.Resampling.BILINEAR).tobytes()
        self.assertEqual(data[offset:offset + len(wanted)], wanted)

    def test_progress_and_the_space_needed_are_told(self):
        result = self.run_rcap("data", "pack", "--dataset", "image-folder", "--data", self.photos, "--out", "pack",
                               *RESIZE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"260 images will take about 3\.\d MB, [\d.]+ [GM]B are free")
        self.assertRegex(result.stdout, r"pack: 240 training and 20 test images, 3\.\d MB")

    def test_mistakes_are_named(self):
        pack = ["data", "pack", "--dataset", "image-folder", "--data", self.photos]
        self.refused(*pack, naming="--out")
        self.refused("data", "pack", "--out", "pack", naming="--dataset is missing")
        self.refused(*pack, "--out", "pack", "--resize", -1, naming="resize is -1")
        self.refused(*pack, "--out", "pack", "--fast-decode", "on", naming="fast decoding")
        self.refused(*pack, "--out", "no/pack", naming="there is no folder")
        self.refused(*pack, "--out", ".", naming=".")
        self.refused("data", "pack", "--dataset", "image-folder", "--data", "none", "--out", "pack", naming="none")
        self.assertEqual(self.names(), [])

    def test_other_options_are_refused_until_restarted(self):
        process = subprocess.Popen(self.command("pack", *RESIZE), cwd=self.folder)
        while not (self.folder / "pack.partial.log").exists():
            time.sleep(0.001)
        process.kill()
        process.wait()
        self.refused(*self.command("pack", "--resize", 32)[1:],
                     naming=["begun with resize = 64, now resize = 32", "start over with restart"])
        self.pack("pack", "--resize", 32, "--restart")
        self.refused(*self.command("pack", *RESIZE)[1:], naming=["is not a pack of these images", "with restart"])

    def test_bad_images_are_named_or_left_out(self):
        bad = self.photos / "train/cat/bad.jpg"
        empty = self.photos / "val/dog/empty.jpg"
        self.addCleanup(bad.unlink)
        bad.write_bytes((self.photos / "train/cat/000.jpg").read_bytes()[:5000])
        self.refused(*self.command("pack", *RESIZE)[1:], naming=["bad.jpg", "with skip-bad"])
        summary = self.pack("pack", *RESIZE, "--skip-bad", "on")
        self.assertEqual((summary["train_images"], summary["test_images"]), (TRAIN, VAL))
        self.assertEqual(len(summary["left_out"]), 1)
        self.assertIn("bad.jpg", summary["left_out"][0])
        empty.write_bytes(b"")
        self.addCleanup(empty.unlink)
        summary = self.pack("other", *RESIZE, "--skip-bad", "on")
        self.assertEqual((summary["train_images"], summary["test_images"]), (TRAIN, VAL))


class PackedFiles(PackTest):
    def setUp(self):
        super().setUp()
        self.pack("pack", *RESIZE)

    def test_verify_finds_the_damaged_image(self):
        self.assertIn("good", self.run_rcap("data", "verify", "pack").stdout)
        with open(self.folder / "pack", "r+b") as file:
            file.seek(1_000_000)
            byte = file.read(1)
            file.seek(1_000_000)
            file.write(bytes([byte[0] ^ 1]))
        result = self.run_rcap("data", "verify", "pack")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stdout, r"pack: byte \d+: image \d+ of train \(train/\w+/\d+\.jpg\): the pixels have")
        self.assertIn("1 of 260 images in pack", result.stderr)
        (self.folder / "text").write_text("no pack, but long enough for a head: " + 100 * "x")
        self.refused("data", "verify", "text", naming="text")

    def test_the_file_stands_for_the_folder(self):
        words = ["bench", "data", "--dataset", "image-folder", "--resize", 64, "--crop", 56, "--flip", "--repeat", 1,
                 "--batch-size", 50, "--quiet", "--json"]
        results = []
        for data in (self.photos, "pack"):
            for workers in (1, 2):
                result = self.run_rcap(*words, "--data", data, "--workers", workers)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                results.append(json.loads(result.stdout))
        self.assertEqual([result["samples"] for result in results], [TRAIN] * 4)
        # The same numbers from the same ids, random crops and flips.
        self.assertEqual(len({result["first_numbers"] for result in results}), 1)
        self.refused("bench", "data", "--dataset", "mnist", "--data", "pack",
                     naming="pack: holds the data set image-folder, not mnist")


if __name__ == "__main__":
    unittest.main()
