"""Tables of numbers and categories: rcap train on them, resuming, --train-samples, refusals."""

import json
import random
import signal
import subprocess
import time
import unittest

import numpy as np

from train_test import TrainTest, without_times

CLASSES = ("round", "square", "star")
COLOURS = ("red", "green", "blue")
SIZES = {"round": 300, "square": 200, "star": 100}


def make_rows(seed):
    """Two numbers that tell the classes apart, a category that helps, and one that does not."""
    chance = random.Random(seed)
    rows = []
    for label, size in SIZES.items():
        place = CLASSES.index(label)
        for _ in range(size):
            colour = COLOURS[place] if chance.random() < 0.7 else chance.choice(COLOURS)
            rows.append((chance.gauss(100 * place, 40), chance.gauss(-place, 0.5), colour, chance.choice("xyz"), label))
    chance.shuffle(rows)
    return rows


class Tables(TrainTest):
    def setUp(self):
        super().setUp()
        self.put_csv("all.csv", make_rows(0))

    def put_csv(self, name, rows, header="width,height,colour,mark,label"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")

    def train_table(self, out, *words):
        return self.train(out, "--dataset", "table", "--data", "all.csv", *words)

    def test_a_table_trains_with_the_preset_of_tables(self):
        for method in ("full", "rcap"):
            summary = self.train_table(method, "--method", method, "--pruning-rate", 0.5)
            self.assertEqual((summary["dataset"], summary["model"], summary["epochs"]), ("table", "mlp", 20))
            self.assertEqual(summary["group_names"], sorted(CLASSES))
            self.assertEqual(summary["n_train"], 480)
            self.assertEqual(summary["group_sizes"], [60, 40, 20])
            self.assertGreater(summary["worst_group_accuracy"], 0.8)
        same = self.train("preset", "--preset", "table", "--data", "all.csv", "--method", "full")
        self.assertEqual(same["group_accuracy"], self.train_table("again", "--method", "full")["group_accuracy"])

    def test_a_last_batch_of_one_row_is_trained_on(self):
        # 480 rows at 0.73 keep 129: a batch of 128 and one of 1.
        summary = self.train_table("run", "--method", "rs2", "--pruning-rate", 0.73, "--epochs", 2)
        self.assertEqual(summary["keep_count"], 129)

    def test_folders_and_arrays_are_tables_too(self):
        rows = make_rows(1)
        self.put_csv("both/train.csv", rows[:500])
        self.put_csv("both/test.csv", rows[500:])
        summary = self.train("folder", "--dataset", "table", "--data", "both", "--method", "full", "--epochs", 5)
        self.assertEqual((summary["n_train"], sum(summary["group_sizes"])), (500, 100))
        numbers = np.array([(row[0], CLASSES.index(row[4]), row[1]) for row in rows], dtype=np.float32)
        np.save(self.folder / "all.npy", numbers)
        summary = self.train("array", "--dataset", "table", "--data", "all.npy", "--label-column", 1,
                             "--method", "full")
        self.assertEqual(summary["group_names"], ["0", "1", "2"])
        self.assertGreater(summary["worst_group_accuracy"], 0.7)

    def test_methods_with_scoring_runs_and_weights_choose_rows(self):
        for method in ("ccs", "metriq", "infobatch"):
            summary = self.train_table(method, "--method", method, "--pruning-rate", 0.8, "--epochs", 3)
            self.assertEqual(summary["keep_count"], 96, method)

    def test_a_run_can_be_repeated_and_resumed_from_its_options(self):
        words = ("--label-column", "label", "--train-samples", 240, "--imbalance", 3, "--epochs", 4)
        first = self.train_table("first", *words)
        options = (self.folder / "first/options.toml").read_text()
        self.assertIn('label-column = "label"\ntrain-samples = 240\n', options)
        self.assertNotIn("flip", options)
        again = self.train("again", "--config", "first/options.toml")
        self.assertEqual(without_times(again), without_times(first))
        self.assertEqual(without_times(self.train("first", "--resume")), without_times(first))
        self.refused("--out", "first", "--resume", "--train-samples", 200,
                     naming="--train-samples was 240, now 200")

    def test_a_killed_run_goes_on_as_if_nothing_had_been(self):
        words = ("--dataset", "table", "--data", "all.csv", "--epochs", 200, "--checkpoint-seconds", 0)
        wanted = self.train("wanted", *words)
        process = subprocess.Popen(self.command("--out", "killed", "--quiet", *words), cwd=self.folder)
        records = self.folder / "killed/epochs.jsonl"
        while process.poll() is None and not (records.exists() and records.stat().st_size > 1000):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(without_times(self.train("killed", "--resume")), without_times(wanted))
        self.assertEqual(self.final_tensors("killed"), self.final_tensors("wanted"))

    def test_a_part_of_the_training_samples_keeps_the_classes_in_proportion(self):
        summary = self.train_table("part", "--train-samples", 96, "--epochs", 1)
        self.assertEqual((summary["n_train"], summary["train_class_sizes"]), (96, [48, 32, 16]))
        images = self.train("images", "--dataset", "synthetic", "--train-samples", 500, "--epochs", 1)
        self.assertEqual(images["train_class_sizes"], [50] * 10)
        told = self.run_rcap("--dataset", "table", "--data", "all.csv", "--train-samples", 96, "--epochs", 1,
                             "--out", "told").stderr
        self.assertIn("96 of 480 training samples are kept, classes in proportion (seed 0)", told)
        for count in (0, 2, 481):
            self.refused("--dataset", "table", "--data", "all.csv", "--train-samples", count, "--out", "no",
                         naming=f"{count} training samples to keep; the number must lie between that of the classes, 3")

    def test_images_may_be_flattened(self):
        summary = self.train("flat", "--dataset", "synthetic", "--model", "mlp", "--method", "full", "--epochs", 2)
        self.assertGreater(summary["accuracy"], 0.5)

    def test_refusals_name_the_mistake(self):
        table = ("--dataset", "table", "--data", "all.csv", "--out", "no")
        for words in (("--flip", "on"), ("--image-size", 8), ("--crop-padding", 0), ("--skip-bad", "off")):
            self.refused(*table, *words, naming=f"{words[0]} is for images")
        self.refused(*table, "--model", "small-cnn", naming="it must be mlp: the other networks read images")
        self.refused(*table, "--label-column", "lable",
                     naming=['no column "lable" (did you mean label?)', "width, height, colour, mark, label"])
        self.refused(*table, "--group-by", "group", naming="table has no groups")
        pairs = "\n".join(f"{row},{row // 2}" for row in range(100))
        (self.folder / "pairs.csv").write_text(f"x,label\n{pairs}\n")
        self.refused("--dataset", "table", "--data", "pairs.csv", "--method", "metriq", "--out", "pairs",
                     naming="every class has a single sample; choose another method")
        self.refused("--dataset", "table", "--out", "no", naming="give it with the option data")
        self.refused("--dataset", "synthetic", "--label-column", "x", "--out", "no",
                     naming="--label-column is for tables")
        rows = make_rows(2)
        rows[4] = (1, "?", "red", "x", "star")
        self.put_csv("all.csv", rows)
        self.refused(*table, naming=['all.csv, line 6, column "height"', "1 of 600 rows"])

    def test_options_of_images_in_a_preset_are_passed_by(self):
        result = self.run_rcap("--preset", "cifar10", "--dataset", "table", "--data", "all.csv", "--model", "mlp",
                               "--epochs", 1, "--out", "run", "--json", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["n_train"], 480)


if __name__ == "__main__":
    unittest.main()
