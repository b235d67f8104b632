"""rcap train on photographs: groups, weights to start from, packed data, parts of a batch."""

import csv
import json
import pathlib
import subprocess
import tempfile
import unittest

import numpy
from PIL import Image
from safetensors.numpy import load_file, save_file

from train_test import PROGRAM, TrainTest, tensors_of, without_times

PLACES = {(0, 0): 24, (0, 1): 3, (1, 0): 2, (1, 1): 11}  # training images of each class and background


def write_photo(path, random, label, place):
    """A blob whose colour is the class on a background that is the place."""
    pixels = random.integers(0, 60, (48, 56, 3))
    pixels[..., 2 if place else 1] += 120
    pixels[12:36, 16:40, 0] += 130 if label else 20
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(numpy.uint8)).save(path, quality=92)


def write_waterbirds(folder):
    """A small data set in the layout of Waterbirds."""
    random = numpy.random.default_rng(0)
    rows = []
    for split, share in ((0, 1.0), (1, 0.0), (2, 0.5)):
        for (label, place), count in PLACES.items():
            for _ in range(max(2, int(count * share))):
                name = f"{len(rows) + 1:03}.Bird/photo_{len(rows) + 1}.jpg"
                write_photo(folder / name, random, label, place)
                rows.append([len(rows) + 1, name, label, split, place, "/p/place.jpg"])
    with open(folder / "metadata.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("img_id img_filename y split place place_filename".split())
        writer.writerows(rows)


class PhotoTest(TrainTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rcap_photos_")
        cls.addClassCleanup(folder.cleanup)
        cls.birds = pathlib.Path(folder.name) / "waterbirds"
        write_waterbirds(cls.birds)

    def train_birds(self, out, *words, data=None):
        return self.train(out, "--preset", "waterbirds", "--data", data or self.birds, "--model", "small-cnn",
                          "--batch-size", 8, "--resize", 40, "--image-size", 32,
                          *([] if "--epochs" in words else ["--epochs", 2]), *words)


class Groups(PhotoTest):
    def test_classes_are_the_groups_unless_told_otherwise(self):
        summary = self.train_birds("out", "--pruning-rate", 0.5)
        self.assertEqual(summary["group_by"], "class")
        self.assertEqual(summary["group_names"], ["landbird", "waterbird"])
        self.assertEqual(summary["train_class_sizes"], [27, 13])
        self.assertNotIn("adjusted_average_accuracy", summary)

    def test_the_budget_is_split_over_groups_and_accuracy_told_for_each(self):
        summary = self.train_birds("out", "--pruning-rate", 0.5, "--group-by", "group", "--class-share", "group")
        self.assertEqual(len(summary["group_names"]), 4)
        self.assertEqual(summary["train_class_sizes"], [24, 3, 2, 11])
        self.assertEqual(summary["group_sizes"], [12, 2, 2, 5])
        self.assertEqual(summary["keep_count"], 20)
        sizes = numpy.array(summary["train_class_sizes"])
        adjusted = (numpy.array(summary["group_accuracy"]) * sizes).sum() / sizes.sum()
        self.assertAlmostEqual(summary["adjusted_average_accuracy"], adjusted, places=12)
        for line in (self.folder / "out" / "epochs.jsonl").read_text().splitlines():
            counts = json.loads(line)["class_counts"]
            self.assertEqual(sum(counts), 20)
            self.assertTrue(all(0 < count <= size for count, size in zip(counts, sizes, strict=False)), counts)

    def test_static_methods_score_by_the_classes_that_the_network_tells_apart(self):
        for method in ("ccs", "metriq", "tdds", "el2n", "forgetting", "dyn-unc", "dual"):
            summary = self.train_birds(method, "--pruning-rate", 0.5, "--group-by", "group", "--method", method,
                                       "--epochs", 3)
            self.assertEqual(summary["samples_seen"], 3 * 20, method)

    def test_a_data_set_without_groups_has_none(self):
        self.refused("--out", "out", "--dataset", "synthetic", "--group-by", "group", naming="has no groups")


class Weights(PhotoTest):
    def test_a_run_starts_from_weights_and_says_what_became_of_the_head(self):
        self.train_birds("first", "--method", "full")
        trained = {name.removeprefix("model."): tensor for name, tensor in self.tensors("first").items()
                   if name.startswith("model.")}
        trained["fc.weight"] = numpy.zeros((7, 64), numpy.float32)
        trained["fc.bias"] = numpy.zeros(7, numpy.float32)
        save_file(trained, self.folder / "weights.safetensors")
        words = ["--method", "full", "--lr", 1e-30, "--weight-decay", 0, "--weights", "weights.safetensors"]
        result = self.run_rcap("--preset", "waterbirds", "--data", self.birds, "--model", "small-cnn", "--epochs", 1,
                               "--image-size", 32, "--resize", 40, "--out", "second", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("7 classes", result.stderr)
        again = self.tensors("second")
        numpy.testing.assert_array_equal(again["model.conv1.weight"], trained["conv1.weight"])
        self.assertEqual(again["model.fc.weight"].shape, (2, 64))

    def test_weights_of_another_network_are_refused_by_name(self):
        save_file({"conv1.weight": numpy.zeros((3, 3), numpy.float32)}, self.folder / "weights.safetensors")
        self.refused("--out", "out", "--preset", "waterbirds", "--data", self.birds, "--model", "small-cnn",
                     "--image-size", 32, "--weights", "weights.safetensors", naming="weights.safetensors")

    def tensors(self, out):
        checkpoint, = (self.folder / out / "checkpoint").glob("epoch-*")
        return load_file(checkpoint / "training.safetensors")


class Packed(PhotoTest):
    def test_training_from_a_pack_is_training_from_the_files(self):
        pack = self.folder / "birds.pack"
        subprocess.run([PROGRAM, "data", "pack", "--dataset", "waterbirds", "--data", self.birds, "--resize", "40",
                        "--out", pack, "--quiet"], check=True)
        files = self.train_birds("files", "--pruning-rate", 0.5)
        packed = self.train_birds("packed", "--pruning-rate", 0.5, data=pack)
        self.assertEqual(without_times(files), without_times(packed))
        paths = [next((self.folder / out / "checkpoint").glob("epoch-*")) / "training.safetensors"
                 for out in ("files", "packed")]
        self.assertEqual(*map(tensors_of, paths))

    def test_what_was_cropped_in_the_pack_is_not_cropped_again(self):
        pack = self.folder / "birds.pack"
        subprocess.run([PROGRAM, "data", "pack", "--dataset", "waterbirds", "--data", self.birds, "--center-crop", "36",
                        "--resize", "40", "--out", pack, "--quiet"], check=True)
        files = self.train_birds("files", "--center-crop", 36)
        packed = self.train_birds("packed", "--center-crop", 0, data=pack)
        self.assertEqual(without_times(files), without_times(packed))
        self.refused("--out", "out", "--preset", "waterbirds", "--data", pack, "--model", "small-cnn", "--center-crop",
                     36, naming="set it to 0")

    def test_a_pack_of_another_data_set_is_refused(self):
        pack = self.folder / "birds.pack"
        subprocess.run([PROGRAM, "data", "pack", "--dataset", "waterbirds", "--data", self.birds, "--resize", "40",
                        "--out", pack, "--quiet"], check=True)
        self.refused("--out", "out", "--preset", "celeba", "--data", pack, "--model", "small-cnn", naming="waterbirds")


class Options(PhotoTest):
    def test_a_batch_in_parts_sees_every_sample_once(self):
        whole = self.train_birds("whole", "--pruning-rate", 0.5)
        parts = self.train_birds("parts", "--pruning-rate", 0.5, "--grad-accumulation", 4)
        self.assertEqual(whole["samples_seen"], parts["samples_seen"])

    def test_presets_hold_the_papers_details(self):
        result = self.run_rcap("--preset", "celeba", "--dry-run")
        for line in ('model = "efficientformerv2-s0"', "center-crop = 178", "resize = 224", "image-size = 224",
                     'trivial-augment = "on"', 'optimizer = "adamw"', "epochs = 5", "beta = 1"):
            self.assertIn(line + "\n", result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
