"""What the tests of rcap's commands share."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np

PROGRAM = pathlib.Path(os.environ.get("RCAP_PROGRAM", "build/rcap")).resolve()
SAMPLE_COUNT = 300
CLASS_COUNT = 5


def methods():
    """All methods as the program itself knows them, by name."""
    told = subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    return {method["name"]: method for method in json.loads(told)["methods"]}


def without_times(value):
    """A result with everything taken out that a clock put in."""
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items()
                if key not in ("seconds", "checksum")}
    return value


def tensors_of(path):
    """The header entries and bytes of all tensors of a safetensors file, without its metadata."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[8 + length:][slice(*entry["data_offsets"])])
            for name, entry in header.items()}


class CliTest(unittest.TestCase):
    """Every test has a fresh folder with labels, initial losses, scores, probabilities and recalls."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_cli_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random = np.random.default_rng(0)
        self.labels = random.integers(0, CLASS_COUNT, SAMPLE_COUNT)
        self.initial = random.exponential(1.0, SAMPLE_COUNT).astype(np.float32)
        self.put("labels.npy", self.labels)
        self.put("initial.npy", self.initial)
        self.put("scores.npy", random.normal(size=SAMPLE_COUNT).astype(np.float32))
        self.put("recalls.npy", random.random(CLASS_COUNT))
        self.put("probabilities.npy", random.random(SAMPLE_COUNT))

    def put(self, name, array):
        np.save(self.folder / name, array)

    def get(self, name):
        return np.load(self.folder / name)

    def run_rcap(self, *words, program=PROGRAM):
        return subprocess.run([program, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              timeout=60, check=False)

    def rcap(self, *words):
        result = self.run_rcap(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return result.stdout

    def select(self, *words, out="ids.npy"):
        """Selects from the folder's labels and gives back the ids."""
        self.rcap("select", "--labels", "labels.npy", "--out", out, "--quiet", *words)
        return self.get(out)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def assert_refused(self, *words, naming):
        """Exit code 2, one line on stderr with everything in `naming`, nothing written."""
        before = self.contents()
        result = self.run_rcap(*words)
        self.assertEqual(result.returncode, 2, f"{words}: {result.stdout}{result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Arcap: [^\n]+\n\Z")
        for text in [naming] if isinstance(naming, str) else naming:
            self.assertIn(text, result.stderr)
        self.assertEqual(self.contents(), before)
        return result.stderr

    def refuse_select(self, *words, naming):
        given = {word.split("=")[0] for word in words if str(word).startswith("--")}
        defaults = {"--labels": "labels.npy", "--losses": "initial.npy", "--out": "ids.npy"}
        added = [word for pair in defaults.items() if pair[0] not in given for word in pair]
        return self.assert_refused("select", *added, *words, naming=naming)
