"""rcap model as a user meets it: the list, looking into files, one pass against PyTorch itself."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

PROGRAM = pathlib.Path(os.environ.get("RCAP_PROGRAM", "build/rcap")).resolve()


class SmallCnn(nn.Module):
    """small-cnn again, in Python and with the same names."""

    def __init__(self, channels, classes):
        super().__init__()
        for i, (before, after) in enumerate(((channels, 16), (16, 32), (32, 64)), 1):
            setattr(self, f"conv{i}", nn.Conv2d(before, after, 3, padding=1, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(after))
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(self.bn1(self.conv1(x)).relu(), 2)
        x = F.max_pool2d(self.bn2(self.conv2(x)).relu(), 2)
        return self.fc(self.bn3(self.conv3(x)).relu().mean((2, 3)))


class ModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_model_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(0)
        torch.set_num_threads(1)

    def run_rcap(self, *words, code=0):
        result = subprocess.run([PROGRAM, "model", *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_list_names_every_network(self):
        names = json.loads(self.run_rcap("list", "--json").stdout)
        for name in ("small-cnn resnet18-cifar resnet50 efficientnet-b3 efficientformerv2-s0 efficientformerv2-s1 "
                     "efficientformerv2-s2 efficientformerv2-l dinov2-mlp").split():
            self.assertIn(name, names)

    def test_inspect_tells_names_types_and_shapes_of_both_kinds_of_file(self):
        network = SmallCnn(1, 4)
        torch.save(network.state_dict(), self.folder / "w.pth")
        save_file(network.state_dict(), self.folder / "w.safetensors")
        found = [json.loads(self.run_rcap("inspect", "--weights", name, "--json").stdout)
                 for name in ("w.pth", "w.safetensors")]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0]["fc.weight"], {"type": "F32", "shape": [4, 64]})
        self.assertEqual(found[0]["bn1.num_batches_tracked"], {"type": "I64", "shape": []})

    def test_forward_gives_what_pytorch_gives(self):
        network = SmallCnn(3, 5)
        for name, buffer in network.named_buffers():
            if name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
        torch.save({"state_dict": network.state_dict(), "epoch": 3}, self.folder / "w.pth")
        x, y = torch.randn(6, 3, 12, 20), torch.arange(6) % 5
        save_file({"x": x, "y": y}, self.folder / "in.safetensors")
        self.run_rcap("forward", "--model", "small-cnn", "--weights", "w.pth", "--input", "in.safetensors", "--output",
                      "out.safetensors", "--train", "--threads", 1)
        out = load_file(self.folder / "out.safetensors")
        network.eval()
        torch.testing.assert_close(out["logits"], network(x).detach(), rtol=1e-4, atol=1e-5)
        network.train()
        logits = network(x)
        losses = F.cross_entropy(logits, y, reduction="none")
        losses.mean().backward()
        torch.testing.assert_close(out["train_logits"], logits.detach(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(out["train_losses"], losses.detach(), rtol=1e-4, atol=1e-5)
        self.assertAlmostEqual(out["train_loss"].item(), losses.mean().item(), places=5)
        for name, parameter in network.named_parameters():
            torch.testing.assert_close(out["grad." + name], parameter.grad, rtol=1e-3, atol=1e-5)
        for name, buffer in network.named_buffers():
            torch.testing.assert_close(out["buf." + name], buffer, rtol=1e-4, atol=1e-5)

    def test_refusals_name_what_is_wrong(self):
        save_file({"x": torch.zeros(2, 1, 8, 8), "y": torch.tensor([0, 9])}, self.folder / "in.safetensors")
        save_file({"y": torch.zeros(2)}, self.folder / "no_x.safetensors")
        (self.folder / "bad.pth").write_bytes(b"neither")
        forward = ["forward", "--model", "small-cnn", "--output", "out.safetensors", "--input"]
        for words, naming in (
                ([*forward, "no_x.safetensors"], "no_x.safetensors: has no tensor \"x\""),
                ([*forward, "in.safetensors", "--train", "--classes", 4], "a label in y is 9"),
                ([*forward, "in.safetensors", "--weights", "bad.pth"], "bad.pth"),
                ([*forward, "in.safetensors", "--classes", 0], "--classes is 0"),
                (["forward", "--input", "in.safetensors", "--output", "o"], "--model is missing"),
                (["forward", "--model", "resnet51", "--input", "in.safetensors", "--output", "o"], "resnet51"),
                (["inspect", "--weights", "bad.pth"], "bad.pth"),
                (["wander"], "list, inspect, forward")):
            result = self.run_rcap(*words, code=2)
            self.assertIn(naming, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertFalse((self.folder / "out.safetensors").exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
