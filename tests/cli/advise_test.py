"""`rcap advise`: text, JSON and figure; the numbers of its reasons are those of docs/results."""

import csv
import json
import pathlib
import re
import unittest
import xml.etree.ElementTree as xml

import numpy as np

from cli_case import SAMPLE_COUNT, CliTest

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "results"
RULES = ["rs2", "balanced", "rcap", "rcap paper", "rcap mass", "rcap group"]
TAIL_OF_10 = [10000, 5000, 3000, 2000, 2000, 1000, 1000]
TAIL_OF_100 = [10000, 5000, 3000, 1000, 500, 200, 100]
EVEN = [2000] * 10


def measured(folder, measure):
    """The means of a table of results by (data set, rate, method), as the page shows them."""
    with open(RESULTS / folder / f"table_{measure}_group.csv", newline="") as file:
        return {(row["data_set"], float(row["pruning_rate"]), row["method"]): f"{float(row['mean']):.1f}"
                for row in csv.DictReader(file)}


class AdviseTest(CliTest):
    def put_classes(self, sizes):
        self.put("labels.npy", np.repeat(np.arange(len(sizes)), sizes))

    def advise(self, *words):
        return self.rcap("advise", "--labels", "labels.npy", *words)

    def advise_json(self, *words):
        return json.loads(self.advise("--json", *words))

    def reasons(self, *words):
        return self.advise_json(*words)["suggestion"]["reasons"]


class Answers(AdviseTest):
    def test_text_tells_sizes_counts_work_and_a_suggestion(self):
        self.put_classes(TAIL_OF_100)
        text = self.advise("--test-samples", 1000)
        self.assertIn("19,800 samples in 7 classes: class 0 has 10,000, class 6 has 100; imbalance 100.", text)
        self.assertIn("\n90 % pruned: an epoch keeps 1,980\nclass  samples", text)
        self.assertIn("10 evaluations of 1,000 samples", text)
        self.assertIn("Will it help? Likely. Try rcap at 90 %", text)
        self.assertIn("--method rcap --pruning-rate 0.9\n", text)
        self.assertRegex(text, r"\n +6 +100  [#.]{20}  +\d+ %  [#.]{20}  +\d+ %\n")

    def test_json_holds_the_counts_that_select_makes(self):
        told = self.advise_json("--losses", "initial.npy", "--pruning-rate", "0.5,0.9", "--seed", 5)
        self.assertEqual((told["n"], told["class_sizes"]), (SAMPLE_COUNT, np.bincount(self.labels).tolist()))
        self.assertEqual([rate["pruning_rate"] for rate in told["rates"]], [0.5, 0.9])
        for rate in told["rates"]:
            self.assertEqual([rule["rule"] for rule in rate["rules"]], RULES)
            for rule in rate["rules"]:
                method, *share = rule["rule"].split()
                words = ["--method", method, "--pruning-rate", rate["pruning_rate"], "--seed", 5]
                if method == "rcap":
                    words += ["--losses", "initial.npy", "--class-share", *(share or ["robust"])]
                ids = self.select(*words)
                self.assertEqual(rule["class_counts"], np.bincount(self.labels[ids]).tolist(), rule["rule"])
                self.assertEqual(sum(rule["class_counts"]), rate["keep_count"])

    def test_json_tells_work_and_that_it_is_an_estimate(self):
        told = self.advise_json("--epochs", 20, "--test-samples", 100, "--evaluate-every", 20, "--pruning-rate", 0.5)
        self.assertIn("not a measurement", told["work_is"])
        self.assertEqual(told["counts_are"], "first epoch, equal losses")
        self.assertAlmostEqual(told["full_work"]["total"], 3 * SAMPLE_COUNT * 20 + 100)
        paper = told["rates"][0]["rules"][3]
        self.assertAlmostEqual(paper["work"]["first_pass"], SAMPLE_COUNT)
        self.assertAlmostEqual(paper["speed_up"], 18100 / (9000 + 300 + 100))

    def test_labels_of_every_width_and_threads_give_the_same(self):
        told = self.advise("--threads", 1)
        self.put("labels.npy", self.labels.astype(np.uint8))
        self.assertEqual(self.advise("--threads", 2), told)

    def test_options_come_from_a_file_too(self):
        (self.folder / "plan.toml").write_text("epochs = 7\nevaluate-every = 2\npruning-rate = [0.8, 0.25]\n")
        told = self.advise_json("--config", "plan.toml", "--evaluate-every", 3)
        self.assertEqual((told["epochs"], told["evaluate_every"]), (7, 3))
        self.assertEqual([rate["pruning_rate"] for rate in told["rates"]], [0.25, 0.8])
        (self.folder / "plan.toml").write_text("pruning-rate = [[0.5], 0.7]\n")
        self.assert_refused("advise", "--labels", "labels.npy", "--config", "plan.toml",
                            naming=["plan.toml:1", "pruning-rate: a list of strings or numbers is expected"])

    def test_the_figure_has_a_panel_for_each_rate(self):
        self.put_classes(TAIL_OF_100)
        self.assertIn("figure in advice.svg", self.advise("--figure", "advice.svg"))
        texts = [element.text for element in xml.parse(self.folder / "advice.svg").iter() if element.text]
        for text in ["50 % pruned", "70 % pruned", "90 % pruned", "all samples", "class, by size", *RULES]:
            self.assertIn(text, texts)

    def test_help_teaches(self):
        text = self.rcap("advise", "--help")
        for name in ("labels classes losses pruning-rate epochs test-samples evaluate-every seed threads json "
                     "figure").split():
            self.assertIn(f"--{name}", text)
        self.assertIn("[0.5,0.7,0.9]", text)
        self.assertIn("not a measurement of seconds", text)
        self.assertIn("  advise ", self.rcap("--help"))


class Reasons(AdviseTest):
    NUMBERS = r"([\d.]+) % \(full training ([\d.]+), balanced ([\d.]+), rs2 ([\d.]+)\)"
    PATTERN = re.compile(
        rf'"([^"]+)" \(imbalance [\d.,]+\) at (\d+) %: worst class {NUMBERS}, average class {NUMBERS}')

    def test_numbers_of_every_study_are_those_of_its_tables(self):
        seen = set()
        for sizes in (EVEN, TAIL_OF_10, TAIL_OF_100):
            self.put_classes(sizes)
            for rate in (0.5, 0.7, 0.8, 0.9):
                for reason in self.reasons("--pruning-rate", rate):
                    found = self.PATTERN.search(reason["text"])
                    if found is None:
                        continue
                    name, percent, *numbers = found.groups()
                    folder = reason["source"].removeprefix("docs/results/")
                    place = [(name, int(percent) / 100, method) for method in ("rcap", "full", "balanced", "rs2")]
                    tables = measured(folder, "worst"), measured(folder, "average")
                    self.assertEqual(numbers, [table[key] for table in tables for key in place], reason)
                    seen.add((folder, name, int(percent) / 100))
        self.assertEqual(seen, {(folder, *key[:2]) for folder in ("fashion", "tables")
                                for key in measured(folder, "worst")})

    def test_what_is_said_of_wrong_labels_and_scale_is_in_the_tables(self):
        self.put_classes(EVEN)
        self.put("losses.npy", np.full(sum(EVEN), 20.0))
        texts = {reason["source"]: reason["text"] for reason in self.reasons("--losses", "losses.npy")}
        average, worst = measured("noise", "average"), measured("noise", "worst")
        noisy = [("10 % wrong", 0.9, method) for method in ("balanced", "rcap robust")]
        self.assertIn("({} against {} %)".format(*(average[key] for key in noisy)), texts["docs/results/noise"])
        self.assertIn("({} against {} %)".format(*(worst[key] for key in reversed(noisy))), texts["docs/results/noise"])
        scale = measured("scale", "worst")
        for beta in ("1", "auto"):
            self.assertIn(f"{scale['ten times', 0.9, f'beta {beta}']} % at beta {beta}", texts["docs/results/scale"])

    def test_each_says_what_it_rests_on(self):
        self.put_classes(TAIL_OF_100)
        for reason in self.reasons():
            self.assertIn(reason["basis"], ("computed", "study"))
            if reason["basis"] == "study":
                self.assertTrue((RESULTS.parents[1] / reason["source"]).is_dir(), reason)
            else:
                self.assertIn(reason["source"], ("labels", "losses", "arithmetic"))


class Refusals(AdviseTest):
    def refuse(self, *words, naming):
        return self.assert_refused("advise", "--labels", "labels.npy", *words, naming=naming)

    def test_bad_options_are_named(self):
        self.assert_refused("advise", naming=["--labels FILE is missing", "rcap advise --help"])
        self.refuse("--pruning-rate", "1", naming="--pruning-rate is 1; it must be at least 0 and below 1")
        self.refuse("--pruning-rate", "0.5,x", naming='--pruning-rate "x" is not a number')
        self.refuse("--pruning-rate", ",", naming="--pruning-rate")
        self.refuse("--epochs", "0", naming="--epochs is 0")
        self.refuse("--test-samples", "-5", naming="--test-samples is -5")
        self.refuse("--pruning-rates", "0.5", naming="did you mean --pruning-rate?")

    def test_bad_labels_are_named(self):
        self.put("labels.npy", np.array([0, 1, -3]))
        self.refuse(naming="the label of sample 2 is -3")
        self.put("labels.npy", np.array([], dtype=np.int64))
        self.refuse(naming="the data set is empty")
        self.put("labels.npy", np.array([0.5, 1.0]))
        self.refuse(naming="labels.npy")
        (self.folder / "labels.npy").unlink()
        self.refuse(naming="labels.npy")

    def test_bad_losses_are_named(self):
        self.put("losses.npy", np.ones(7))
        self.refuse("--losses", "losses.npy", naming=["losses.npy", "holds 7 losses, 300 are needed"])
        for bad in (np.nan, np.inf, -1.0):
            losses = self.initial.copy()
            losses[12] = bad
            self.put("losses.npy", losses)
            self.refuse("--losses", "losses.npy", naming=f"the loss of sample 12 is {bad:g}")

    def test_a_figure_never_replaces_what_it_is_made_from(self):
        self.refuse("--figure", "./labels.npy", naming=["--figure", "is also an input file"])
        self.refuse("--figure", "absent/advice.svg", naming="absent")


if __name__ == "__main__":
    unittest.main()
