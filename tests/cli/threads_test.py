"""A system that has no more threads to give: the work is done by those that there are, with the same result."""

import os
import subprocess
import unittest

import numpy as np

from cli_case import PROGRAM, CliTest

LIBRARY = os.environ["RCAP_FEW_THREADS"]
COUNT = 200_000


class FewThreads(CliTest):
    def with_threads(self, most, *words):
        result = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                                timeout=60, check=False,
                                env={**os.environ, "LD_PRELOAD": LIBRARY, "RCAP_TEST_THREADS": str(most)})
        self.assertEqual((result.returncode, result.stderr), (0, ""), most)

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


if __name__ == "__main__":
    unittest.main()
