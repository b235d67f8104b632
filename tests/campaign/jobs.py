"""What the campaign disturbs: a command of rcap, the files it begins with, and what counts as its result."""

import abc
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_case import PROGRAM, tensors_of, without_times

SYNTHETIC = ("--dataset", "synthetic", "--train-samples", "600")


def run(*words, folder, **options):
    return subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False,
                          **{"timeout": 300, **options})


def run_well(*words, folder):
    result = run(*words, folder=folder)
    assert result.returncode == 0, (words, result.stderr)
    return result.stdout


def write_table(path):
    chance = random.Random(0)
    rows = [f"{chance.gauss(row % 3, 0.6):.4f},{chance.gauss(-(row % 3), 0.6):.4f},{row % 3}" for row in range(300)]
    path.write_text("\n".join(["a,b,label", *rows]) + "\n")


class Job(abc.ABC):
    """A command in a folder of its own."""

    name = ""
    is_long = False  # so that it is killed at random moments too
    refuses_whole = False  # exit code 2 tells that nothing was changed

    @abc.abstractmethod
    def prepare(self, folder):
        """Makes the files that the command begins with."""

    @abc.abstractmethod
    def words(self, folder):
        """The command, as a user who sees this folder would give it, for the first time or again."""

    def way_out(self, folder, message):
        """The command that a refusal asks for; nothing where it says that all is done."""
        raise AssertionError(f"{self.name}: refused: {message}")

    def told(self, printed):
        """Whether a command that ended well said what it had to leave out."""
        return False

    @abc.abstractmethod
    def result(self, folder, printed):
        """What must be the same as in an undisturbed run."""

    def leftovers(self, folder):
        """Files that should not be there in the end."""
        return [path.name for path in folder.rglob("*") if path.name.endswith((".tmp", ".partial", ".unfinished"))]


class Select(Job):
    """The second call of the loop of docs/select.md."""

    refuses_whole = True

    def __init__(self, name, *options, epoch=True):
        self.name = f"select {name}"
        self.options = options
        self.epoch = ("--epoch", "1") if epoch else ()

    def base(self):
        weights = () if "ucb" in self.options else ("--weights", "w.npy")
        return ("select", "--labels", "labels.npy", "--state", "s.rcap", "--out", "ids.npy", "--quiet", *weights,
                *self.options)

    def prepare(self, folder):
        np.save(folder / "labels.npy", np.arange(300) % 5)
        run_well(*self.base(), folder=folder)
        np.save(folder / "losses.npy", np.linspace(0, 1, len(np.load(folder / "ids.npy"))))

    def words(self, folder):
        return (*self.base(), "--losses", "losses.npy", "--ids", "ids.npy", *self.epoch)

    def way_out(self, folder, message):
        if "leave out --losses to repeat" in message:
            return (*self.base(), *self.epoch)
        if "train on them first" in message:  # the call had come to its end
            return None
        return super().way_out(folder, message)

    def result(self, folder, printed):
        return {name: (folder / name).read_bytes() for name in ("ids.npy", "s.rcap", "w.npy")
                if (folder / name).exists()}


class SelectFirst(Select):
    def prepare(self, folder):
        np.save(folder / "labels.npy", np.arange(300) % 5)

    def words(self, folder):
        return (*self.base(), "--epoch", "0")


class Pack(Job):
    name = "pack"
    is_long = True
    count = 60

    def prepare(self, folder):
        from PIL import Image
        pixels = np.random.default_rng(0)
        for label in ("cat", "dog"):
            (folder / "photos" / label).mkdir(parents=True)
            for i in range(self.count):
                image = Image.fromarray(pixels.integers(0, 255, (40, 30, 3), np.uint8))
                image.save(folder / "photos" / label / f"{i}.png")

    def words(self, folder):
        return ("data", "pack", "--dataset", "image-folder", "--data", "photos", "--threads", 2, "--quiet", "--out",
                "p.pack")

    def way_out(self, folder, message):
        if "exists already" in message or "exists, but is not a pack" in message:
            return None
        return super().way_out(folder, message)

    def result(self, folder, printed):
        return (folder / "p.pack").read_bytes()


class Train(Job):
    is_long = True

    def __init__(self, name, *options):
        self.name = f"train {name}"
        self.options = options

    def prepare(self, folder):
        write_table(folder / "rows.csv")

    def words(self, folder):
        options = ("--resume",) if (folder / "run/options.toml").exists() else self.options
        return ("train", "--out", "run", "--quiet", "--threads", 1, "--checkpoint-seconds", 0, *options)

    def result(self, folder, printed):
        epochs = [json.loads(line) for line in (folder / "run/epochs.jsonl").read_text().splitlines()]
        checkpoint = max((folder / "run/checkpoint").glob("epoch-*"))
        return (without_times(json.loads((folder / "run/summary.json").read_text())),
                [without_times(epoch) for epoch in epochs], tensors_of(checkpoint / "training.safetensors"))


class Resume(Train):
    """Goes on with a run that was killed in its second epoch."""

    def prepare(self, folder):
        super().prepare(folder)
        process = subprocess.Popen([PROGRAM, *map(str, self.words(folder))], cwd=folder, stderr=subprocess.DEVNULL)
        while not any((folder / "run/checkpoint").glob("epoch-000001-*")):
            assert process.poll() is None, "it ended before it could be killed"
        process.kill()
        process.wait()


PLAN = """
seeds = [0]
pruning-rates = [0.5]
methods = ["full", "rcap", "ccs"]
[options]
preset = "table"
data = "rows.csv"
epochs = 2
checkpoint-seconds = 0
[[datasets]]
name = "rows"
"""


class Study(Job):
    name = "study"
    is_long = True

    def prepare(self, folder):
        write_table(folder / "rows.csv")
        (folder / "plan.toml").write_text(PLAN)

    def words(self, folder):
        again = ("--rerun", "both") if (folder / "out/failed").exists() else ()
        return ("study", "plan.toml", "--out", "out", "--jobs", 2, "--threads", 2, "--quiet", *again)

    def result(self, folder, printed):
        summaries = {path.parent.name: without_times(json.loads(path.read_text()))
                     for path in folder.glob("out/runs/*/summary.json")}
        tables = {path.name: path.read_text() for path in folder.glob("out/table_*.csv") if "cost" not in path.name}
        return summaries, tables, (folder / "out/report.html").exists()


class Report(Study):
    name = "report"
    is_long = False

    def prepare(self, folder):
        super().prepare(folder)
        run_well(*super().words(folder), folder=folder)
        (folder / "out/report.html").unlink()

    def words(self, folder):
        return ("report", "out")

    def told(self, printed):
        return "without a result:" in printed

    def result(self, folder, printed):
        return (folder / "out/report.html").read_bytes()


class Look(Job):
    """A command that only reads and prints."""

    def __init__(self, name, *words, prepared_by=None):
        self.name = name
        self.command = words
        self.prepared_by = prepared_by

    def prepare(self, folder):
        if self.prepared_by:
            self.prepared_by.prepare(folder)
            run_well(*self.prepared_by.words(folder), folder=folder)

    def words(self, folder):
        return self.command

    def result(self, folder, printed):
        return re.sub(r'"seconds":[^,}]+', "", printed)


def all_jobs():
    train = ("--method", "rcap", "--epochs", "2", *SYNTHETIC)
    table = ("--method", "ccs", "--epochs", "2", "--dataset", "table", "--data", "rows.csv")
    return [SelectFirst("first"),
            Select("next"), Select("next without --epoch", epoch=False),
            Select("everything", "--pruning-rate", "0", epoch=False), Select("ucb", "--method", "ucb", epoch=False),
            Pack(), Train("rcap", *train), Train("ccs", *table), Resume("resumed", *train), Study(), Report(),
            Look("verify", "data", "verify", "p.pack", "--json", prepared_by=Pack()),
            Look("inspect", "model", "inspect", "--weights", "run/scores.safetensors",
                 prepared_by=Train("ccs", *table))]


def copy(prepared, folder):
    """Times too: a losses file is newer than the ids it belongs to."""
    shutil.copytree(prepared, folder, copy_function=shutil.copy2)
