"""rcap train as a user meets it: all methods, its files, resuming, its refusals."""

import json
import math
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import time
import unittest

from safetensors.numpy import load_file

from cli_case import PROGRAM, methods, tensors_of, without_times

KILLS = int(os.environ.get("RCAP_TEST_KILLS", "50"))
SAMPLES = 1000
SYNTHETIC = ("--dataset", "synthetic", "--train-samples", SAMPLES)


WINDOW = ("--score-window", 3)
LISTENING = ("--score-epochs", 3, *WINDOW)
STATIC = tuple(name for name, row in methods().items() if row["needs_scores"] != "none")


def listening_of(method):
    """The options of scoring that a method has; one that it does not read is refused."""
    return {"tdds": LISTENING, "el2n": WINDOW, "dyn-unc": WINDOW, "dual": ("--dual-epochs", 3, *WINDOW)}.get(method, ())


class TrainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_train_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, *words):
        # One thread: threads that wait for each other suffer on a busy machine.
        return [PROGRAM, "train", "--threads", "1", *map(str, words)]

    def run_rcap(self, *words, **options):
        return subprocess.run(self.command(*words), cwd=self.folder, capture_output=True, text=True, timeout=300,
                              check=False, **options)

    def train(self, out, *words):
        result = self.run_rcap("--out", out, "--quiet", "--json", *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return json.loads(result.stdout)

    def train_synthetic(self, out, *words):
        return self.train(out, *SYNTHETIC, *words)

    def refused(self, *words, naming, **options):
        result = self.run_rcap(*words, **options)
        self.assertEqual(result.returncode, 2, f"{words}: {result.stdout}{result.stderr}")
        line = result.stderr.strip().splitlines()[-1]
        self.assertTrue(line.startswith("rcap: "), line)
        for text in [naming] if isinstance(naming, str) else naming:
            self.assertIn(text, line)
        return line

    def epochs(self, out):
        return [json.loads(line) for line in (self.folder / out / "epochs.jsonl").read_text().splitlines()]

    def final_tensors(self, out):
        (checkpoint,) = (self.folder / out / "checkpoint").iterdir()
        return tensors_of(checkpoint / "training.safetensors")


class Results(TrainTest):
    def test_every_method_trains_within_its_budget(self):
        samples = 2 * SAMPLES  # half of them teach too little in three epochs
        for method, row in methods().items():
            with self.subTest(method=method):
                summary = self.train(method, "--dataset", "synthetic", "--train-samples", samples, "--method", method,
                                     "--epochs", 3, "--pruning-rate", 0.8, "--evaluate-every", 3, *listening_of(method))
                kept = samples if row["keeps_all"] else samples // 5
                self.assertEqual((summary["n_train"], summary["keep_count"]), (samples, kept))
                seen = samples + 2 * kept if row["first_pass"] == "training" else 3 * kept
                epochs = self.epochs(method)
                if row["budget"] == "whole-run":
                    seen = round(0.2 * 3 * math.ceil(samples / 64)) * 64
                elif row["budget"] == "none":
                    seen = sum(epoch["selected"] for epoch in epochs)
                self.assertEqual(summary["samples_seen"], seen)
                refreshed = sum(samples - epoch["selected"] for epoch in epochs[:-1]) if row["refreshes"] else 0
                # Three epochs on everything; metriq measures recalls on the tenth that it holds out.
                scoring = {"metriq": (3 * samples * 9 // 10, 3 * samples // 10)}.get(
                    method, (3 * samples if method in STATIC else 0, 0))
                initial = samples if row["first_pass"] == "forward" else 0
                self.assertEqual((summary["trained_samples"], summary["forward_samples"]),
                                 (seen + scoring[0], initial + refreshed + scoring[1]))
                if method not in ("el2n", "forgetting"):  # the hardest fifth alone teaches little in three epochs
                    self.assertGreater(summary["average_group_accuracy"], 0.15)
                self.assertEqual(summary["seconds"]["scoring"] > 0, row["needs_scores"] != "none")
                self.assertEqual(summary["seconds"]["initial_pass"] > 0, row["first_pass"] == "forward")

    def test_a_pruning_rate_without_effect_is_told(self):
        result = self.run_rcap(*SYNTHETIC, "--method", "kakurenbo", "--epochs", 1, "--out", "k")
        self.assertIn("with these options the pruning rate has no effect", result.stdout + result.stderr)

    def test_left_out_samples_are_refreshed_unless_it_is_turned_off(self):
        words = ("--method", "dropout", "--confidence", 0.2, "--epochs", 5, "--evaluate-every", 5)
        fresh = self.train_synthetic("fresh", *words)
        stale = self.train_synthetic("stale", *words, "--refresh", "off")
        left_out = [SAMPLES - epoch["selected"] for epoch in self.epochs("fresh")]
        self.assertGreater(left_out[1], 0)
        self.assertEqual(left_out[-1], 0)
        self.assertEqual((fresh["forward_samples"], stale["forward_samples"]), (sum(left_out), 0))
        self.assertGreater(fresh["seconds"]["refresh"], 0)
        # A sample that was dropped is not seen again, so the epochs get smaller and smaller.
        sizes = [epoch["selected"] for epoch in self.epochs("stale")][:-1]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_kakurenbo_raises_the_rate_of_epochs_that_may_hide(self):
        words = ("--method", "kakurenbo", "--hidden", 0.4, "--epochs", 2, "--schedule", "constant", "--lr", 0.01)
        self.train_synthetic("k", *words)
        first, second = (epoch["lr"] for epoch in self.epochs("k"))
        self.assertAlmostEqual(first, 0.01)
        self.assertAlmostEqual(second, 0.01 / (1 - 0.4 * 0.8))  # half of the run is over: 0.8 of what is hidden at most

    def test_held_out_samples_are_left_alone(self):
        # metriq holds out more for itself; one scoring run is like another.
        for method in ("rcap", "metriq", "dual"):
            with self.subTest(method=method):
                summary = self.train_synthetic(method, "--method", method, "--epochs", 3, "--pruning-rate", 0.8,
                                               "--hold-out", 0.25, "--evaluate", "held-out", *listening_of(method))
                # A quarter of 6000, and SAMPLES of the rest.
                self.assertEqual((summary["n_train"], summary["held_out_count"], summary["keep_count"]),
                                 (SAMPLES, 1500, SAMPLES // 5))
                self.assertEqual(summary["evaluated_on"], "held-out")
                self.assertEqual(summary["group_sizes"], [150] * 10)
                self.assertEqual(summary["train_class_sizes"], [SAMPLES // 10] * 10)

    def test_only_the_evaluation_differs_between_test_and_held_out_samples(self):
        options = ("--dataset", "synthetic", "--method", "rs2", "--epochs", 1, "--hold-out", 0.2)
        on_test = self.train("test", *options)
        on_held_out = self.train("held-out", *options, "--evaluate", "held-out")
        self.assertEqual(self.final_tensors("test"), self.final_tensors("held-out"))
        self.assertEqual((on_test["evaluated_on"], on_test["group_sizes"]), ("test", [100] * 10))
        self.assertEqual((on_held_out["evaluated_on"], on_held_out["group_sizes"]), ("held-out", [120] * 10))
        self.assertNotEqual(on_test["group_accuracy"], on_held_out["group_accuracy"])

    def test_wrong_labels_are_counted_and_hurt(self):
        right = self.train_synthetic("right", "--method", "full", "--epochs", 3)
        noisy = self.train_synthetic("noisy", "--method", "full", "--epochs", 3, "--label-noise", 0.6)
        self.assertEqual((right["changed_labels"], noisy["changed_labels"]), (0, SAMPLES * 6 // 10))
        self.assertEqual(noisy["group_sizes"], right["group_sizes"])
        self.assertNotEqual(noisy["train_class_sizes"], right["train_class_sizes"])
        self.assertLess(noisy["accuracy"], right["accuracy"])

    def test_groups_of_few_samples_do_not_count(self):
        chance = random.Random(0)
        rows = [f"{chance.gauss(label, 1):.3f},{label}" for label in [0] * 300 + [1] * 200 + [2] * 50]
        (self.folder / "rows.csv").write_text("\n".join(["x,label", *rows]) + "\n")
        options = ("--dataset", "table", "--data", "rows.csv", "--method", "rs2", "--epochs", 1)
        all_groups = self.train("all", *options)
        large_groups = self.train("large", *options, "--min-test-samples", 20)
        self.assertEqual(large_groups["group_accuracy"], all_groups["group_accuracy"])
        counted = [accuracy for accuracy, size in zip(large_groups["group_accuracy"], large_groups["group_sizes"],
                                                      strict=True)
                   if size >= 20]
        self.assertEqual(len(counted), 2)
        self.assertEqual(large_groups["worst_group_accuracy"], min(counted))
        self.assertAlmostEqual(large_groups["average_group_accuracy"], sum(counted) / len(counted))
        self.assertEqual((all_groups["min_test_samples"], large_groups["min_test_samples"]), (1, 20))
        self.refused(*SYNTHETIC, "--min-test-samples", 101, "--out", "none", naming="so no group would count")

    def test_people_are_told_what_accuracies_are_of(self):
        result = self.run_rcap(*SYNTHETIC, "--method", "rs2", "--epochs", 1, "--hold-out", 0.2, "--evaluate",
                               "held-out", "--out", "run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{SAMPLES} training samples in 10 classes, 1200 to evaluate on", result.stderr)
        self.assertIn("1200 of 6000 training samples are held out", result.stderr)
        self.assertIn("accuracies are of the held-out part of the training data, 1200 samples", result.stdout)

    def test_the_folder_holds_what_the_run_did(self):
        summary = self.train_synthetic("run", "--epochs", 2, "--class-share", "group")
        on_disk = json.loads((self.folder / "run/summary.json").read_text())
        self.assertEqual(on_disk, summary)
        epochs = self.epochs("run")
        self.assertEqual([record["epoch"] for record in epochs], [0, 1])
        for record in epochs:
            self.assertEqual(sum(record["class_counts"]), record["selected"])
            self.assertAlmostEqual(sum(record["class_fractions"]), 1)
        self.assertEqual(epochs[-1]["group_accuracy"], summary["group_accuracy"])
        self.assertEqual(summary["worst_group_accuracy"], min(summary["group_accuracy"]))
        self.assertEqual(summary["class_share"], "group")

    def test_a_run_can_be_repeated_from_its_options(self):
        first = self.train_synthetic("first", "--method", "ucb", "--epochs", 2, "--lr", 0.02, "--seed", 7)
        again = self.train("again", "--config", "first/options.toml")
        self.assertEqual(without_times(again), without_times(first))
        self.assertEqual(self.final_tensors("again"), self.final_tensors("first"))

    def test_seeds_differ(self):
        results = [self.train_synthetic(f"seed{seed}", "--method", "rs2", "--epochs", 1, "--seed", seed)
                   for seed in (0, 1)]
        self.assertNotEqual(results[0]["group_accuracy"], results[1]["group_accuracy"])

    def test_scores_are_used_again(self):
        first = self.train_synthetic("first", "--method", "ccs", "--epochs", 2)
        again = self.train_synthetic("again", "--method", "ccs", "--epochs", 2, "--scores",
                                     "first/scores.safetensors")
        self.assertEqual(without_times(again), without_times(first))
        self.refused("--dataset", "synthetic", "--method", "tdds", "--scores", "first/scores.safetensors", "--out",
                     "other", naming="has scores for ccs, this run is tdds")
        self.refused("--dataset", "synthetic", "--method", "ccs", "--seed", 1, "--imbalance", 10, "--scores",
                     "first/scores.safetensors", "--out", "other2", naming="scores of another data set")

    def test_one_scoring_run_serves_all_static_methods(self):
        result = self.run_rcap(*SYNTHETIC, "--make-scores", ",".join(STATIC), "--epochs", 3, *LISTENING,
                               "--dual-epochs", 3, "--quiet", "--out", "scores")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.folder / "scores/summary.json").exists())
        for method in STATIC:
            options = ("--epochs", 3, *listening_of(method))
            alone = self.train_synthetic(f"alone-{method}", "--method", method, *options)
            shared = self.train_synthetic(f"shared-{method}", "--method", method, *options, "--scores",
                                          "scores/scores.safetensors")
            self.assertEqual(without_times(shared), without_times(alone))
            self.assertGreater(shared["seconds"]["scoring"], 0)
        self.refused("--dataset", "synthetic", "--make-scores", "ccs,rs2", "--out", "no",
                     naming='"rs2" does not select by scores')

    def test_each_score_costs_the_epochs_it_is_made_from(self):
        result = self.run_rcap(*SYNTHETIC, "--make-scores", "el2n,forgetting,dual", "--epochs", 4, "--el2n-epochs", 2,
                               "--dual-epochs", 3, "--score-window", 2, "--quiet", "--out", "scores")
        self.assertEqual(result.returncode, 0, result.stderr)
        for method, epochs in (("el2n", 2), ("dual", 3), ("forgetting", 4)):
            summary = self.train_synthetic(method, "--method", method, "--epochs", 4, "--pruning-rate", 0.8,
                                           "--scores", "scores/scores.safetensors")
            self.assertEqual(summary["trained_samples"], 4 * SAMPLES // 5 + epochs * SAMPLES, method)

    def test_scores_say_what_they_claim_to(self):
        self.run_rcap(*SYNTHETIC, "--make-scores", ",".join(STATIC), "--epochs", 4, *LISTENING, "--dual-epochs", 3,
                      "--quiet", "--out", "scores")
        scores = load_file(self.folder / "scores/scores.safetensors")
        self.assertEqual(set(scores), {"margins", "divergences", "recalls", "error_norms", "forgetting",
                                       "uncertainties", "dual", "mean_probabilities"})
        for name, values in scores.items():
            self.assertEqual(len(values), 10 if name == "recalls" else SAMPLES, name)
        self.assertTrue(((scores["error_norms"] >= 0) & (scores["error_norms"] <= math.sqrt(2))).all())
        self.assertTrue(((scores["mean_probabilities"] > 0) & (scores["mean_probabilities"] < 1)).all())
        # A deviation of three numbers between 0 and 1 is at most that of 0, 0 and 1.
        for name in ("uncertainties", "dual"):
            self.assertTrue(((scores[name] > 0) & (scores[name] <= math.sqrt(1 / 3))).all(), name)
        self.assertLessEqual(set(scores["forgetting"].tolist()), {0, 1, 2, 3})
        # Hard samples have large errors and small margins.
        order = scores["margins"].argsort()
        norms = scores["error_norms"][order]
        self.assertGreater(norms[:SAMPLES // 4].mean(), norms[-SAMPLES // 4:].mean())

    def test_every_choice_of_a_static_method_trains(self):
        self.run_rcap(*SYNTHETIC, "--make-scores", "dual,el2n", "--epochs", 2, "--score-window", 2, "--quiet",
                      "--out", "scores")
        for method in ("dual", "el2n"):
            for choose in ("top", "strata", "per-class"):
                with self.subTest(method=method, choose=choose):
                    summary = self.train_synthetic(f"{method}-{choose}", "--method", method, "--choose", choose,
                                                   "--epochs", 2, "--pruning-rate", 0.8, "--scores",
                                                   "scores/scores.safetensors")
                    self.assertEqual(summary["samples_seen"], 2 * SAMPLES // 5)
        self.refused("--dataset", "synthetic", "--method", "el2n", "--choose", "beta", "--out", "no",
                     naming=["--choose", "beta", "per-class"])

    def test_tensorboard_reads_the_events(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        summary = self.train_synthetic("run", "--epochs", 3, "--evaluate-every", 1)
        events = EventAccumulator(str(self.folder / "run"))
        events.Reload()
        tags = events.Tags()["scalars"]
        for tag in ("train/loss", "train/learning_rate", "accuracy/worst_group", "class_fraction/9"):
            self.assertIn(tag, tags)
        worst = events.Scalars("accuracy/worst_group")
        self.assertEqual([event.step for event in worst], [0, 1, 2])
        self.assertAlmostEqual(worst[-1].value, summary["worst_group_accuracy"], places=6)

    def test_a_log_that_takes_nothing_stops_no_training(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(self.command(*SYNTHETIC, "--epochs", 2, "--out", "full"), cwd=self.folder,
                                    stdout=subprocess.PIPE, stderr=full, timeout=300, check=False)
        self.assertEqual(result.returncode, 0)
        closed = subprocess.run(self.command(*SYNTHETIC, "--epochs", 2, "--out", "closed"), cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=None, timeout=300, check=False,
                                preexec_fn=lambda: os.close(2))
        self.assertEqual(closed.returncode, 0)
        self.assertEqual((self.folder / "closed/lock").read_bytes(), b"")
        reader, writer = os.pipe()
        os.close(reader)
        unread = subprocess.run(self.command(*SYNTHETIC, "--epochs", 2, "--out", "unread"), cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=writer, timeout=300, check=False)
        os.close(writer)
        self.assertEqual(unread.returncode, 0)
        summaries = [without_times(json.loads((self.folder / out / "summary.json").read_text()))
                     for out in ("full", "closed", "unread")]
        self.assertEqual(summaries[1:], summaries[:1] * 2)

    def test_logs_get_a_line_an_epoch(self):
        result = self.run_rcap("--dataset", "synthetic", "--epochs", 2, "--out", "run")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(sum(line.startswith("epoch") for line in lines), 2)
        self.assertNotIn("\r", result.stderr)
        for text in ("worst group", "average group", "where the time went", "forward, backward, update"):
            self.assertIn(text, result.stdout)

    def test_evaluations_have_prior_adjusted_accuracies_beside_the_plain_ones(self):
        long_tailed = (*SYNTHETIC, "--imbalance", 50, "--method", "full", "--epochs", 2)
        result = self.run_rcap(*long_tailed, "--out", "plain")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr,
                         r"accuracy: worst group [\d.]+, average [\d.]+; prior-adjusted: worst group [\d.]+")
        self.assertRegex(result.stdout, r"group +accuracy +prior-adjusted +samples\n")
        summary = json.loads((self.folder / "plain/summary.json").read_text())
        adjusted = summary["prior_adjusted"]
        self.assertEqual(list(adjusted),
                         ["accuracy", "worst_group_accuracy", "average_group_accuracy", "group_accuracy"])
        for name, key in (("worst group", "worst_group_accuracy"), ("average group", "average_group_accuracy")):
            self.assertIn(f"{name:<20} {100 * summary[key]:>9.1f} {100 * adjusted[key]:>14.1f}\n", result.stdout)
        self.assertNotEqual(adjusted["group_accuracy"], summary["group_accuracy"])
        last = json.loads((self.folder / "plain/epochs.jsonl").read_text().splitlines()[-1])
        self.assertEqual(last["prior_adjusted"], adjusted)
        # Training with tau 1 leaves nothing to take out.
        trained = self.train("trained", *long_tailed, "--logit-adjustment", 1)
        self.assertEqual(trained["logit_adjustment"], 1)
        self.assertEqual(trained["prior_adjusted"]["group_accuracy"], trained["group_accuracy"])
        self.assertNotEqual(trained["group_accuracy"], summary["group_accuracy"])

    def test_dry_run_prints_every_option_and_makes_nothing(self):
        result = self.run_rcap("--preset", "cifar100", "--pruning-rate", 0.7, "--dry-run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        options = dict(line.split(" = ") for line in result.stdout.splitlines())
        self.assertEqual(options["beta"], "2")
        self.assertEqual((options["epochs"], options["batch-size"], options["lr"]), ("200", "128", "0.1"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_pytorch_gets_the_same_accuracy_from_the_weights(self):
        import gzip
        import numpy as np
        import torch
        from torch import nn
        from safetensors.torch import load_file
        summary = self.train("run", "--method", "rs2", "--epochs", 2)

        class SmallCnn(nn.Module):
            def __init__(self):
                super().__init__()
                for i, (a, b) in enumerate(((1, 16), (16, 32), (32, 64)), 1):
                    setattr(self, f"conv{i}", nn.Conv2d(a, b, 3, padding=1, bias=False))
                    setattr(self, f"bn{i}", nn.BatchNorm2d(b))
                self.fc = nn.Linear(64, 10)

            def forward(self, x):
                x = nn.functional.max_pool2d(self.bn1(self.conv1(x)).relu(), 2)
                x = nn.functional.max_pool2d(self.bn2(self.conv2(x)).relu(), 2)
                return self.fc(self.bn3(self.conv3(x)).relu().mean((2, 3)))

        (checkpoint,) = (self.folder / "run/checkpoint").iterdir()
        state = load_file(checkpoint / "training.safetensors")
        network = SmallCnn()
        network.load_state_dict({name.removeprefix("model."): tensor for name, tensor in state.items()
                                 if name.startswith("model.")}, strict=True)
        network.eval()
        data = pathlib.Path("/usr/share/datasets/fashion-mnist")
        images, labels = (np.frombuffer(gzip.decompress((data / name).read_bytes()), np.uint8, offset=offset)
                          for name, offset in [("t10k-images-idx3-ubyte.gz", 16), ("t10k-labels-idx1-ubyte.gz", 8)])
        x = (torch.tensor(images.reshape(-1, 1, 28, 28)) / 255 - 0.2860) / 0.3530
        with torch.no_grad():
            predictions = torch.cat([network(part).argmax(1) for part in x.split(500)])
        right = (predictions == torch.tensor(labels.astype(np.int64))).float()
        for group, accuracy in enumerate(summary["group_accuracy"]):
            # A sample whose two best classes tie to the last digits may fall either way.
            self.assertAlmostEqual(right[torch.tensor(labels == group)].mean().item(), accuracy, delta=0.0021)


class ImageFolders(TrainTest):
    """A folder of JPEGs and PNGs of many sizes, decoded while the network trains."""

    TRAIN = ("--dataset", "image-folder", "--data", "images", "--image-size", 16, "--epochs", 2, "--pruning-rate", 0.5,
             "--batch-size", 8, "--crop-padding", 2, "--flip", "on", "--data-workers", 3)

    def setUp(self):
        super().setUp()
        import numpy as np
        from PIL import Image
        pixels = np.random.default_rng(0)
        for split, count in (("train", 20), ("val", 5)):
            for label, name in enumerate(("blue", "red")):
                folder = self.folder / "images" / split / name
                folder.mkdir(parents=True)
                for i in range(count):
                    image = pixels.integers(0, 80, (20 + i, 30 + label, 3), np.uint8)
                    image[..., 2 - 2 * label] += 150
                    Image.fromarray(image).save(folder / f"{i:03}.{'png' if i % 2 else 'jpg'}")

    def test_trains_on_them(self):
        summary = self.train("run", *self.TRAIN, "--method", "rcap")
        self.assertEqual((summary["n_train"], summary["samples_seen"]), (40, 40))
        self.assertEqual(summary["group_names"], ["blue", "red"])

    def test_workers_change_nothing(self):
        for workers in (1, 5):
            self.train(f"run{workers}", *self.TRAIN[:-1], workers)
        self.assertEqual(self.final_tensors("run5"), self.final_tensors("run1"))

    def test_a_bad_image_is_named_or_left_out(self):
        for name, content in (("zero.jpg", b""), ("noise.jpg", b"\xff\xd8\xff not a picture")):
            with self.subTest(name=name):
                bad = self.folder / "images/train/red" / name
                bad.write_bytes(content)
                self.refused(*self.TRAIN, "--method", "full", "--out", f"refused-{name}", naming=name)
                summary = self.train(f"skipped-{name}", *self.TRAIN, "--skip-bad", "on")
                self.assertEqual(summary["n_train"], 40)
                bad.unlink()

    def test_names_that_are_not_utf8_are_refused_before_training(self):
        odd = os.fsdecode(b"caf\xe9")
        for split in ("train", "val"):
            (self.folder / "images" / split / "red").rename(self.folder / "images" / split / odd)
        self.refused(*self.TRAIN, "--out", "run", naming=["the name of the class", "is not UTF-8; rename it"],
                     errors="replace")
        (self.folder / "images").rename(self.folder / odd)
        words = [odd if word == "images" else word for word in self.TRAIN]
        self.refused(*words, "--out", "run", naming=["--data is", "it must be UTF-8; rename it"], errors="replace")
        self.assertFalse((self.folder / "run/options.toml").exists())

    def test_a_folder_without_images_is_refused(self):
        (self.folder / "empty").mkdir()
        self.refused("--dataset", "image-folder", "--data", "empty", "--image-size", 16, "--out", "run", naming="empty")

    def test_images_of_many_sizes_need_a_size(self):
        words = [word for word in self.TRAIN if word not in ("--image-size", 16)]
        self.refused(*words, "--out", "run", naming="size")


class Resuming(TrainTest):
    RUN = (*SYNTHETIC, "--epochs", 30, "--evaluate-every", 10, "--checkpoint-seconds", 0, "--quiet",
           "--json")

    def test_a_killed_run_ends_as_if_never_stopped(self):
        whole = self.run_rcap("--out", "whole", *self.RUN)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        moments = random.Random(1)
        killed = rounds = 0
        while killed < KILLS:
            rounds += 1
            out = f"run{rounds}"
            while not (self.folder / out / "summary.json").exists():
                goes_on = ["--resume"] if (self.folder / out / "options.toml").exists() else []
                process = subprocess.Popen(self.command("--out", out, *goes_on, *self.RUN), cwd=self.folder,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                try:
                    _, errors = process.communicate(timeout=moments.uniform(0.05, 1.0) if killed < KILLS else 300)
                    self.assertEqual((process.returncode, errors), (0, ""))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    killed += 1
            self.assertEqual(without_times(json.loads((self.folder / out / "summary.json").read_text())),
                             without_times(json.loads(whole.stdout)))
            self.assertEqual([without_times(record) for record in self.epochs(out)],
                             [without_times(record) for record in self.epochs("whole")])
            self.assertEqual(self.final_tensors(out), self.final_tensors("whole"))

    def test_a_killed_run_keeps_its_held_out_samples_and_wrong_labels(self):
        options = (*self.RUN, "--hold-out", 0.2, "--evaluate", "held-out", "--label-noise", 0.1,
                   "--logit-adjustment", 0.5)
        whole = self.run_rcap("--out", "whole", *options)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        process = subprocess.Popen(self.command("--out", "run", *options), cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while len(list((self.folder / "run").glob("epochs.jsonl"))) == 0 or not self.epochs("run"):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertFalse((self.folder / "run/summary.json").exists())
        self.assertEqual(without_times(self.train("run", "--resume")), without_times(json.loads(whole.stdout)))
        self.assertEqual(self.final_tensors("run"), self.final_tensors("whole"))

    def test_ctrl_c_saves_and_tells_how_to_go_on(self):
        whole = self.run_rcap("--out", "whole", *self.RUN)
        process = subprocess.Popen(self.command("--out", "run", *self.RUN[:-4], "--quiet", "--json"), cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while len(list((self.folder / "run").glob("epochs.jsonl"))) == 0 or not self.epochs("run"):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("rcap train --out run --resume", errors)
        self.assertEqual(without_times(self.train("run", "--resume")), without_times(json.loads(whole.stdout)))
        self.assertEqual(self.final_tensors("run"), self.final_tensors("whole"))

    def test_resuming_a_finished_run_tells_its_result_again(self):
        first = self.train_synthetic("run", "--epochs", 2)
        again = self.train("run", "--resume")
        self.assertEqual(without_times(again), without_times(first))

    def test_resume_needs_no_other_option(self):
        self.train_synthetic("run", "--epochs", 2, "--method", "balanced", "--lr", 0.01)
        again = self.train("run", "--resume")
        self.assertEqual(again["method"], "balanced")

    def test_other_options_are_named(self):
        self.train_synthetic("run", "--epochs", 2)
        self.refused("--out", "run", "--resume", "--epochs", 3, "--lr", 0.5,
                     naming=["--epochs was 2, now 3", "--lr was 0.05, now 0.5"])

    def test_edited_options_are_noticed(self):
        self.train_synthetic("run", "--epochs", 3)
        options = self.folder / "run/options.toml"
        text = options.read_text()
        for edited, naming in ((text.replace("epochs = 3", "epochs = 2"), "epochs was 3, now 2"),
                               (text.replace("lr = 0.05", "lr = 0.5"), "lr was 0.05, now 0.5")):
            self.assertNotEqual(edited, text)
            options.write_text(edited)
            before = self.final_tensors("run")
            self.refused("--out", "run", "--resume", naming=["training.safetensors", naming, "restore them"])
            self.assertEqual(self.final_tensors("run"), before)
        options.write_text(text)
        self.train("run", "--resume")

    def test_there_must_be_a_run_to_resume(self):
        self.refused("--out", "nowhere", "--resume", naming="nowhere: has no run to resume")
        self.assertFalse((self.folder / "nowhere").exists())

    def test_a_run_without_its_options_or_its_checkpoint_is_left_alone(self):
        self.train_synthetic("run", "--epochs", 1)
        kept = self.final_tensors("run")
        (self.folder / "run/options.toml").rename(self.folder / "options.toml")
        self.refused("--out", "run", "--resume", naming="has no run to resume")
        self.refused(*SYNTHETIC, "--epochs", 1, "--out", "run", naming="has parts of a run but no options.toml")
        self.assertEqual(self.final_tensors("run"), kept)
        (self.folder / "options.toml").rename(self.folder / "run/options.toml")
        (self.folder / "run/checkpoint").rename(self.folder / "checkpoint")
        results = (self.folder / "run/summary.json").read_bytes()
        self.refused("--out", "run", "--resume", naming="its checkpoint is gone")
        self.refused(*SYNTHETIC, "--epochs", 1, "--out", "run", naming="has a run already")
        self.assertEqual((self.folder / "run/summary.json").read_bytes(), results)

    def test_what_others_left_in_the_folder_stays(self):
        others = self.folder / "run/checkpoint"
        others.mkdir(parents=True)
        (others / "mine.txt").write_text("mine")
        events = self.folder / "run/events.out.tfevents.mine"
        events.write_text("mine")
        self.train_synthetic("run", "--epochs", 1)
        self.assertTrue((others / "mine.txt").exists() and events.exists())

    def test_a_folder_that_is_moved_meanwhile_is_missed(self):
        process = subprocess.Popen(self.command(*SYNTHETIC, "--out", "run", "--epochs", 1000, "--checkpoint-seconds",
                                                0.2, "--quiet"),
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while len(list((self.folder / "run").glob("epochs.jsonl"))) == 0 or not self.epochs("run"):
            time.sleep(0.01)
        (self.folder / "run").rename(self.folder / "moved")
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, errors)
        self.assertIn("run: the folder was moved or removed while the run trained", errors)
        self.assertFalse((self.folder / "run").exists())
        self.assertTrue(list((self.folder / "moved/checkpoint").glob("epoch-*")))

    def test_a_damaged_checkpoint_is_refused_by_name(self):
        self.train_synthetic("run", "--epochs", 1)
        (checkpoint,) = (self.folder / "run/checkpoint").iterdir()
        path = checkpoint / "training.safetensors"
        path.write_bytes(path.read_bytes()[:-10])
        self.refused("--out", "run", "--resume", naming="training.safetensors")

    def test_a_full_disk_leaves_the_last_checkpoint(self):
        self.train_synthetic("run", "--epochs", 1)
        before = self.final_tensors("run")
        # Files of at most 100 kB: the tensors do not fit.
        def limit():
            return resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        self.refused("--dataset", "synthetic", "--epochs", 1, "--out", "small", naming="training.safetensors",
                     preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit()))
        self.assertEqual(self.final_tensors("run"), before)
        self.assertFalse(list((self.folder / "small/checkpoint").glob("epoch-*")))
        summary = self.train("small", "--resume")
        self.assertEqual(summary["epochs"], 1)


class Refusals(TrainTest):
    def test_a_folder_with_a_run_is_not_overwritten(self):
        self.train_synthetic("run", "--epochs", 1)
        before = (self.folder / "run/summary.json").read_bytes()
        self.refused("--dataset", "synthetic", "--epochs", 1, "--out", "run", naming=["has a run already", "resume it"])
        self.assertEqual((self.folder / "run/summary.json").read_bytes(), before)

    def test_two_processes_do_not_share_a_folder(self):
        first = subprocess.Popen(self.command("--dataset", "synthetic", "--epochs", 1000, "--out", "run", "--quiet"),
                                 cwd=self.folder, stdout=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if (self.folder / "run/options.toml").exists():
                    break
                time.sleep(0.05)
            self.refused("--dataset", "synthetic", "--out", "run", "--resume", naming="another process")
        finally:
            first.kill()
            first.wait()

    def test_a_loss_that_is_not_a_number_stops_the_run(self):
        line = self.refused("--dataset", "synthetic", "--method", "rs2", "--epochs", 5, "--lr", "1e20", "--out", "run",
                            "--checkpoint-seconds", 0,
                            naming=["epoch", "batch", "samples", "a lower learning rate (lr)"])
        self.assertRegex(line, r"epoch \d+, batch \d+ the loss of \d+ of \d+ samples is -?(nan|inf)")
        self.assertTrue(list((self.folder / "run/checkpoint").glob("epoch-*")))

    def test_a_batch_may_be_larger_than_the_data(self):
        # A gigabyte is a tenth of what a batch of that size would take.
        def limit():
            return resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
        result = self.run_rcap(*SYNTHETIC, "--method", "rs2", "--epochs", 2, "--batch-size", 10**9, "--out", "huge",
                               "--json", "--quiet", preexec_fn=limit)
        self.assertEqual(result.returncode, 0, result.stderr)
        exact = self.train_synthetic("exact", "--method", "rs2", "--epochs", 2, "--batch-size", SAMPLES)
        self.assertEqual(without_times(json.loads(result.stdout)), without_times(exact))
        self.assertEqual(self.final_tensors("huge"), self.final_tensors("exact"))

    def test_odd_names_survive_in_the_options(self):
        odd = ("a # b", "'", '"', "''" + '"' * 3, "\\", "\\n", "\n", "\t x", "é ü 猫", "[a]", "a = b", "\x7f\x01", "=",
               "$HOME", "#", ",", " ", "  lead", "x" * 200)
        rows = "\n".join(f"{row % 7},{row % 2}" for row in range(100))
        # Folders may have any name; a table's columns are without blanks around them and in one line.
        columns = ("".join(name for name in odd if name.isprintable()).strip(), "'", '"', "\\")
        for i, column in enumerate(columns):
            with self.subTest(column=column):
                table = pathlib.Path(str(i), *odd)
                (self.folder / table).parent.mkdir(parents=True)
                quoted = column.replace('"', '""')
                (self.folder / table).write_text(f'x,"{quoted}"\n{rows}\n')
                options = ("--dataset", "table", "--method", "rs2", "--epochs", 1)
                first = self.train(f"{i}/run", *options, f"--data={table}", f"--label-column={column}")
                self.assertEqual(without_times(self.train(f"{i}/run", "--resume")), without_times(first))
                again = self.run_rcap("--config", f"{i}/run/options.toml", "--dry-run")
                self.assertEqual(again.stdout, (self.folder / f"{i}/run/options.toml").read_text())

    def test_mistakes_are_named(self):
        for words, naming in (
                (["--method", "rcpa"], "did you mean rcap"),
                (["--preset", "cifar11"], "cifar11"),
                (["--dataset", "cifar12"], "cifar12"),
                (["--model", "vgg"], "vgg"),
                (["--epochs", "0"], "--epochs is 0"),
                (["--pruning-rate", "1"], "--pruning-rate is 1; it must be at least 0 and below 1"),
                (["--beta", "0"], "beta is 0"),
                (["--device", "tpu"], "tpu"),
                (["--dataset", "cifar10", "--data", "nowhere"], "nowhere"),
                (["--optimiser", "sgd"], "--optimizer")):
            with self.subTest(words=words):
                data = [] if "--dataset" in words else ["--dataset", "synthetic"]
                self.refused(*data, *words, "--out", "run", naming=naming)
                self.assertFalse((self.folder / "run/summary.json").exists())
        self.refused("--dataset", "synthetic", naming="--out")


if __name__ == "__main__":
    unittest.main()
