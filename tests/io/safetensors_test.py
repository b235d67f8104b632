"""Safetensors files both ways, with the format's own Python package as the judge."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np
from safetensors import TensorSpec, deserialize, safe_open, serialize
from safetensors.numpy import load_file, save_file

PROGRAM = pathlib.Path(os.environ["RCAP_REWRITE_SAFETENSORS"]).resolve()
NUMPY_TYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


class SafetensorsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_safetensors_")
        self.addCleanup(folder.cleanup)
        self.theirs = pathlib.Path(folder.name) / "theirs.safetensors"
        self.ours = pathlib.Path(folder.name) / "ours.safetensors"

    def rewrite(self):
        return subprocess.run([PROGRAM, self.theirs, self.ours], capture_output=True, text=True, timeout=60,
                              check=False)

    def rewrite_well(self):
        result = self.rewrite()
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_numpy_type_goes_through(self):
        random = np.random.default_rng(0)
        # Odd lengths and mixed widths: each type twice, so that alignment is put to the test.
        tensors = {f"{name}.{size}": (random.normal(size=size) * 50).astype(name)
                   for name in NUMPY_TYPES for size in (3, 5)}
        save_file(tensors, self.theirs)
        self.rewrite_well()
        read = load_file(self.ours)
        self.assertEqual(read.keys(), tensors.keys())
        for name, tensor in tensors.items():
            self.assertEqual(read[name].dtype, tensor.dtype, name)
            np.testing.assert_array_equal(read[name], tensor, name)

    def test_shapes_names_and_metadata_go_through(self):
        tensors = {
            "scalar": np.array(2.5, np.float32),
            "empty": np.zeros((3, 0, 2), np.float32),
            "four.dimensions": np.arange(24, dtype=np.int64).reshape(1, 2, 3, 4),
            'grüße "quoted" \\ \n \u0000 \U0001f600': np.ones(1, np.uint8),
        }
        metadata = {"format": "pt", "": "an empty key", "ü\t": "\U0001f600"}
        save_file(tensors, self.theirs, metadata)
        self.rewrite_well()
        with safe_open(self.ours, "np") as file:
            self.assertEqual(file.metadata(), metadata)
            self.assertEqual(set(file.keys()), set(tensors))
            for name, tensor in tensors.items():
                self.assertEqual(file.get_tensor(name).shape, tensor.shape)
                np.testing.assert_array_equal(file.get_tensor(name), tensor)

    def test_bfloat16_goes_through_bit_for_bit(self):
        bits = np.array([0x3F80, 0xC000, 0x7FC0], np.uint16)
        spec = TensorSpec(dtype="bfloat16", shape=[3], data_ptr=bits.ctypes.data, data_len=bits.nbytes)
        self.theirs.write_bytes(serialize({"w": spec}))
        self.rewrite_well()
        (name, tensor), = deserialize(self.ours.read_bytes())
        self.assertEqual((name, tensor["dtype"], list(tensor["shape"])), ("w", "BF16", [3]))
        self.assertEqual(bytes(tensor["data"]), bits.tobytes())

    def test_files_without_tensors_go_through(self):
        save_file({}, self.theirs)
        self.rewrite_well()
        self.assertEqual(load_file(self.ours), {})

    def test_our_bytes_are_a_fixed_point(self):
        save_file({"a": np.ones(3, np.float32), "b": np.ones(3, np.uint8)}, self.theirs, {"k": "v"})
        self.rewrite_well()
        first = self.ours.read_bytes()
        self.theirs.write_bytes(first)
        self.rewrite_well()
        self.assertEqual(self.ours.read_bytes(), first)

    def test_both_refuse_the_same_files(self):
        """A sound file with one thing wrong at a time; the reference must refuse what we refuse."""
        sound = {"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                 "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}

        def changed(name, field, value):
            return json.dumps({**sound, name: {**sound[name], field: value}})

        headers = {
            "hole": changed("a", "data_offsets", [0, 3]),
            "wrong shape": changed("b", "shape", [3]),
            "product overflows": changed("b", "shape", [2**32, 2**32]),
            "past the end": changed("b", "data_offsets", [4, 16]),
            "reversed": changed("b", "data_offsets", [12, 4]),
            "negative": changed("b", "shape", [-2]),
            "fraction": changed("b", "shape", [2.0]),
            "unknown type": changed("b", "dtype", "X99"),
            "metadata not strings": json.dumps({**sound, "__metadata__": {"k": 1}}),
            "not JSON": json.dumps(sound)[:-1],
            "not an object": "[]",
        }
        for what, header in {"sound": json.dumps(sound), **headers}.items():
            with self.subTest(what):
                self.theirs.write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(12))
                result = self.rewrite()
                try:
                    deserialize(self.theirs.read_bytes())
                    refused = False
                except Exception:  # the package's own type for bad files
                    refused = True
                self.assertEqual(refused, what != "sound")
                self.assertEqual(result.returncode, int(refused), result.stderr)
                self.assertTrue(result.stderr.startswith("SafetensorsFile ") == refused, result.stderr)


if __name__ == "__main__":
    unittest.main()
