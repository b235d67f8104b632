"""A system that has no more threads to give: the work is done by those that there are, with the same result."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_case import PROGRAM, CliTest

LIBRARY = os.environ["RCAP_FAULTS"]
COUNT = 200_000


class FewThreads(CliTest):
    def run_with_threads(self, most, *words):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              timeout=60, check=False,
                              env={**os.environ, "LD_PRELOAD": LIBRARY, "RCAP_FAULT": f"EAGAIN:{most + 1}+",
                                   "RCAP_FAULT_CALLS": "pthread_create"})

    def with_threads(self, most, *words):
        result = self.run_with_threads(most, *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""), most)
        return result.stdout

    def test_select_gives_the_same_ids(self):
        self.put("labels.npy", np.arange(COUNT) % 10)
        self.put("initial.npy", np.random.default_rng(1).exponential(1, COUNT).astype(np.float32))
        expected = self.select("--losses", "initial.npy")
        for most in range(9):
            with self.subTest(threads=most):
                self.with_threads(most, "select", "--labels", "labels.npy", "--losses", "initial.npy", "--threads", 8,
                                  "--out", "few.npy", "--quiet")
                np.testing.assert_array_equal(self.get("few.npy"), expected)

    def test_bench_select_ends(self):
        for most in range(0, 9, 4):
            self.with_threads(most, "bench", "select", "--n", COUNT, "--classes", 10, "--repeat", 1, "--threads", 8,
                              "--quiet")

    def test_packing_makes_the_same_file(self):
        from PIL import Image
        pixels = np.random.default_rng(0)
        for label in ("cat", "dog"):
            (self.folder / "photos" / label).mkdir(parents=True)
            for i in range(20):
                image = Image.fromarray(pixels.integers(0, 255, (12, 10, 3), np.uint8))
                image.save(self.folder / "photos" / label / f"{i}.png")
        pack = ("data", "pack", "--dataset", "image-folder", "--data", "photos", "--threads", 8, "--quiet", "--out")
        self.rcap(*pack, "all.pack")
        for most in range(9):
            with self.subTest(threads=most):
                self.with_threads(most, *pack, f"{most}.pack")
                self.assertEqual((self.folder / f"{most}.pack").read_bytes(), (self.folder / "all.pack").read_bytes())

    @unittest.skipUnless(os.environ.get("RCAP_TRAINS"), "built without LibTorch")
    def test_training_goes_on_or_names_the_option(self):
        train = ("train", "--dataset", "synthetic", "--train-samples", 600, "--method", "rs2", "--epochs", 1, "--json",
                 "--quiet", "--threads")
        ended = set()
        for threads in (1, 4):
            for most in range(9):
                with self.subTest(threads=threads, most=most):
                    out = f"run-{threads}-{most}"
                    result = self.run_with_threads(most, *train, threads, "--out", out)
                    ended.add(result.returncode)
                    if result.returncode == 0:
                        self.assertEqual(json.loads(result.stdout)["epochs"], 1)
                        continue
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertRegex(result.stderr, r"\nrcap: .*; choose fewer with --threads\n\Z")
        self.assertEqual(ended, {0, 2})


if __name__ == "__main__":
    unittest.main()
