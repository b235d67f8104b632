"""rcap figure as a user meets it: the files, the printed correlations, refusals."""

import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM = pathlib.Path(os.environ.get("RCAP_PROGRAM", "build/rcap")).resolve()


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) + 1) / 2
    product = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=False))
    return product / (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5


class FigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_figure_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_rcap(self, *words, code=0):
        result = subprocess.run([PROGRAM, "figure", *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def draw(self, out, *words):
        return self.run_rcap("loss-vs-gradient", "--out", out, "--epochs", 12, *words)

    def test_the_csv_holds_ten_examples_at_every_moment_and_the_correlations_follow_from_it(self):
        found = json.loads(self.draw("a", "--json").stdout)["examples"]
        with open(self.folder / "a" / "loss_vs_gradient.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(found), 10)
        self.assertEqual(len(rows), 10 * 13)  # before training and after each of 12 epochs
        for example in found:
            own = [row for row in rows if int(row["example"]) == example["example"]]
            self.assertEqual([int(row["epoch"]) for row in own], list(range(13)))
            losses = [float(row["loss"]) for row in own]
            norms = [float(row["gradient_norm"]) for row in own]
            self.assertTrue(all(value > 0 for value in losses + norms))
            self.assertAlmostEqual(example["spearman"], spearman(losses, norms), places=12)
        ElementTree.parse(self.folder / "a" / "loss_vs_gradient.svg")

    def test_a_network_learns_and_its_seed_decides_everything(self):
        for out, seed in (("a", 3), ("b", 3), ("c", 4)):
            lines = self.draw(out, "--seed", seed).stdout.splitlines()
        self.assertEqual(lines[0].split(), ["example", "class", "Spearman"])
        self.assertEqual(len([line for line in lines[1:11] if len(line.split()) == 3]), 10)
        self.assertIn("c/loss_vs_gradient.svg", lines)
        for name in ("loss_vs_gradient.csv", "loss_vs_gradient.svg"):
            a, b, c = ((self.folder / out / name).read_bytes() for out in "abc")
            self.assertEqual(a, b)
            self.assertNotEqual(a, c)
        with open(self.folder / "a" / "loss_vs_gradient.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        mean = {epoch: sum(float(row["loss"]) for row in rows if row["epoch"] == epoch) / 10 for epoch in ("0", "12")}
        self.assertLess(mean["12"], mean["0"] / 2)

    def test_help_teaches(self):
        self.assertIn("loss-vs-gradient", self.run_rcap("--help").stdout)
        text = self.run_rcap("loss-vs-gradient", "--help").stdout
        for word in ("--out", "--epochs", "--seed", "Spearman", "Example:"):
            self.assertIn(word, text)

    def test_mistakes_are_named(self):
        (self.folder / "file").write_text("")
        for words, message in (((), "a figure is missing"), (("loss",), 'there is no figure "loss"'),
                               (("loss-vs-gradient",), "--out"),
                               (("loss-vs-gradient", "--out", "x", "--epochs", "0"), "--epochs is 0"),
                               (("loss-vs-gradient", "--out", "file"), "file: the folder cannot be created"),
                               (("loss-vs-gradient", "--oot", "x"), "--out")):
            self.assertIn(message, self.run_rcap(*words, code=2).stderr)
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
