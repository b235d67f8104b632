"""Files of torch.save, with PyTorch as their writer and as the judge of what is read from them."""

import collections
import io
import os
import pathlib
import pickle
import subprocess
import tarfile
import tempfile
import unittest
import warnings

try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file
except ImportError:  # where LibTorch comes without Python's torch
    torch = None

PROGRAM = pathlib.Path(os.environ["RCAP_REWRITE_WEIGHTS"]).resolve()
FLOATS = ["float64", "float32", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "bool"]


class SystemCall:
    """What a file must not get us to do."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@unittest.skipIf(torch is None, "Python has no torch")
class PthTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_pth_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.theirs = self.folder / "theirs.pth"
        self.ours = self.folder / "ours.safetensors"

    def rewrite(self):
        return subprocess.run([PROGRAM, self.theirs, self.ours], capture_output=True, text=True, timeout=60,
                              check=False)

    def read(self):
        """The tensors by name, and the metadata, as our reader sees the file."""
        result = self.rewrite()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with safe_open(self.ours, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118 (no dict)

    def refusal(self):
        result = self.rewrite()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f'PthFile "{self.theirs}": ', result.stderr)
        self.assertFalse(self.ours.exists())
        return result.stderr

    def assert_reads(self, saved, expected=None, **metadata):
        """Saves in both formats; both must give the tensors, bit for bit."""
        expected = saved if expected is None else expected
        for new_format in (True, False):
            with self.subTest(new_format=new_format):
                torch.save(saved, self.theirs, _use_new_zipfile_serialization=new_format)
                read, ours = self.read()
                self.assertEqual(ours, {"format": "pth", "wrapper": "", "passed_over": "", **metadata})
                self.assertEqual(read.keys(), expected.keys())
                for name, tensor in expected.items():
                    self.assertEqual((read[name].dtype, read[name].shape), (tensor.dtype, tensor.shape), name)
                    bits = [t.detach().contiguous().reshape(-1).view(torch.uint8) for t in (read[name], tensor)]
                    self.assertTrue(torch.equal(*bits), name)

    def test_every_type(self):
        generator = torch.Generator().manual_seed(0)
        # Odd lengths, so that storages of the old format lie askew.
        tensors = {f"{name}.{size}": (torch.randn(size, generator=generator) * 50).to(getattr(torch, name))
                   for size in (3, 5) for name in FLOATS + INTEGERS}
        tensors["special"] = torch.tensor([float("nan"), float("inf"), -0.0])
        self.assert_reads(tensors)

    def test_state_dict_of_a_network(self):
        network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2))
        state = network.state_dict()
        self.assertIsInstance(state, collections.OrderedDict)
        self.assertTrue(state._metadata)
        self.assert_reads(state)

    def test_parameters(self):
        self.assert_reads({"a": torch.nn.Parameter(torch.arange(4.0)),
                           "b": torch.nn.Parameter(torch.arange(3), requires_grad=False)})

    def test_views_come_out_contiguous(self):
        base = torch.arange(120, dtype=torch.float32).reshape(2, 3, 4, 5)
        views = {"base": base, "transposed": base.transpose(1, 3), "every.second": base[:, :, ::2, 1:5:3],
                 "flipped": base.permute(3, 2, 1, 0), "tail": base[1, 2], "one": base[1, 2, 3, 4],
                 "expanded": base[0, 0, 0].expand(6, 5), "single.rows": base[:, 1:2, 3:4].transpose(0, 1)}
        views["channels.last"] = base.clone().contiguous(memory_format=torch.channels_last)
        self.assertFalse(views["channels.last"].is_contiguous())
        for name in ("half", "char", "double"):
            views[name] = getattr(base[0, 0], name)().t()
        self.assert_reads(views)

    def test_scalars_and_empty_tensors(self):
        self.assert_reads({"scalar": torch.tensor(2.5), "count": torch.tensor(7), "empty": torch.zeros(3, 0, 2),
                           "empty.view": torch.arange(5.0)[5:], "nothing": torch.empty(0, dtype=torch.int64)})

    def test_names_of_any_kind(self):
        self.assert_reads({"": torch.ones(1), 'grüße "q" \\ \n \U0001f600': torch.ones(2), "a.b.c": torch.ones(3)})

    def test_many_tensors(self):
        """More than one batch of a pickle's items, and more values than one byte can number."""
        self.assert_reads({f"layer.{i}.weight": torch.full((2,), i) for i in range(2500)})

    def test_what_stands_beside_tensors_is_left_out(self):
        tensors = {"w": torch.ones(2)}
        self.assert_reads({"epoch": 3, "loss": 0.5, "names": ["a", ("b", None)], "big": 2**80, "negative": -2**40,
                           **tensors, "optimizer": {"state": {0: {"step": torch.ones(9)}}}, 7: "seven", "flag": True},
                          tensors)

    def test_wrapped_dictionaries(self):
        tensors = {"w": torch.arange(3.0)}
        other = {"w": torch.zeros(5)}
        self.assert_reads({"state_dict": tensors, "epoch": 1}, tensors, wrapper="state_dict")
        self.assert_reads({"model": {"state_dict": tensors}}, tensors, wrapper="model.state_dict")
        self.assert_reads({"model": other, "model_ema": tensors}, tensors, wrapper="model_ema", passed_over="model")
        self.assert_reads({"student": other, "teacher": tensors}, tensors, wrapper="teacher")
        self.assert_reads({"best": torch.ones(1), "state_dict": tensors}, tensors, wrapper="state_dict")
        self.assert_reads({"model": "resnet50", "w": tensors["w"]}, tensors)

    def test_files_without_weights(self):
        for value, said in ((torch.ones(2), "does not hold a dictionary"), ([torch.ones(2)], "not hold a dictionary"),
                            ({"epoch": 1}, 'its keys are "epoch"'), ({}, "its keys are none")):
            torch.save(value, self.theirs)
            self.assertIn(said, self.refusal())

    def test_nothing_is_executed(self):
        for new_format in (True, False):
            torch.save({"w": torch.ones(1), "x": SystemCall(f"touch {self.folder / 'executed'}")}, self.theirs,
                       _use_new_zipfile_serialization=new_format)
            message = self.refusal()
            self.assertRegex(message, r'GLOBAL at byte \d+ of \S+.* asks for "(posix|nt).system"')
            self.assertEqual([file.name for file in self.folder.iterdir()], ["theirs.pth"])
        # The file is a real one: Python does execute it.
        torch.load(self.theirs, weights_only=False)
        self.assertTrue((self.folder / "executed").exists())

    def test_whole_modules_and_unknown_types_are_refused_by_name(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.save(torch.nn.Linear(2, 2), self.theirs)
        self.assertIn('asks for "torch.nn.modules.linear.Linear"', self.refusal())
        torch.save({"w": torch.ones(2, dtype=torch.complex64)}, self.theirs)
        self.assertIn('asks for "torch.ComplexFloatStorage"', self.refusal())
        torch.save({"w": torch.ones(2, dtype=torch.uint16)}, self.theirs)
        self.assertIn('asks for "torch._utils._rebuild_tensor_v3"', self.refusal())
        torch.save({"w": torch.ones(2)}, self.theirs, pickle_protocol=4)
        self.assertIn("announces pickle protocol 4", self.refusal())

    def test_other_containers_are_refused_with_a_remedy(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)), str(self.theirs))
        self.assertIn("is a TorchScript archive", self.refusal())
        with tarfile.open(self.theirs, "w", format=tarfile.USTAR_FORMAT) as tar:
            tar.addfile(tarfile.TarInfo("sys_info"), io.BytesIO())
        self.assertIn("is a tar archive", self.refusal())
        self.theirs.write_bytes(pickle.dumps({"w": [1, 2]}, protocol=2))
        self.assertIn("is a pickle, but not one that torch.save wrote", self.refusal())
        torch.save({"w": torch.ones(1)}, self.theirs)
        self.theirs.write_bytes(self.theirs.read_bytes().replace(b"little", b"bigbig"))
        self.assertIn("checksum", self.refusal())

    def test_files_without_checksums_are_refused(self):
        """torch.serialization.set_crc32_options(False) writes other numbers in their place."""
        torch.serialization.set_crc32_options(False)
        self.addCleanup(torch.serialization.set_crc32_options, True)
        torch.save({"w": torch.arange(1000.0)}, self.theirs)
        self.assertIn("checksum", self.refusal())

    def test_safetensors_files_are_told_by_their_bytes(self):
        # The header of 640 bytes begins as a pickle of protocol 2 does.
        for length in range(1, 640):
            save_file({"w": torch.arange(3.0)}, self.theirs, {"k": "v" * length})
            if self.theirs.read_bytes()[:2] == b"\x80\x02":
                break
        else:
            self.fail("no header of 640 bytes")
        read, metadata = self.read()
        self.assertEqual(metadata["format"], "safetensors")
        self.assertTrue(torch.equal(read["w"], torch.arange(3.0)))


if __name__ == "__main__":
    unittest.main()
