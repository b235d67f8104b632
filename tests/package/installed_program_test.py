"""The program as `cmake --install` leaves it."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["RCAP_PROGRAM"])


def run(*words):
    # From a folder and with a PATH in which nothing of rcap can be found by accident.
    return subprocess.run([PROGRAM, *words], cwd="/", env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                          check=False)


class InstalledProgram(unittest.TestCase):
    def test_trains(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("train", "--dataset", "synthetic", "--train-samples", "200", "--epochs", "1", "--quiet",
                         "--json", "--out", f"{folder}/run")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["n_train"], 200)

    def test_lists_the_networks(self):
        result = run("model", "list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("small-cnn", result.stdout)

    def test_knows_the_figure(self):
        result = run("figure", "--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("loss-vs-gradient", result.stdout)


if __name__ == "__main__":
    unittest.main()
