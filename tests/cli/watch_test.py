"""rcap watch as a user meets it: on folders in every state, and in a real terminal."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from cli_case import PROGRAM

CLASSES = ["cat", "dog", "owl"]
PATIENCE = 120  # seconds; more than a busy machine takes
CAN_TRAIN = (PROGRAM.parent / "rcap-train").exists()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def seconds(total):
    parts = "setup scoring initial_pass select data_wait train observe evaluate checkpoint".split()
    return {"total": total} | dict.fromkeys(parts, 0.0) | {"train": total}


class Run:
    """The folder of a run of ten epochs, as `rcap train` leaves it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "options.toml").write_text(
            'dataset = "toy"\nmethod = "rcap"\npruning-rate = 0.9\nmodel = "mlp"\nepochs = 10\nseed = 3\n'
            'group-by = "class"\nevaluate-every = 1\n')
        self.records = folder / "epochs.jsonl"
        self.records.touch()
        self.done = 0
        self.lock = None

    def hold(self):
        """As a process that trains."""
        self.lock = (self.folder / "lock").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self

    def release(self):
        if self.lock is not None:
            self.lock.close()

    def train(self, epochs=1):
        for _ in range(epochs):
            with self.records.open("a") as file:
                file.write(self.line() + "\n")
            self.done += 1
        return self

    def line(self):
        return json.dumps({
            "epoch": self.done, "lr": 0.1, "train_loss": 2.5 - 0.25 * self.done, "selected": 20,
            "class_counts": [10, 5, 5], "class_fractions": [0.5, 0.25, 0.25], "class_losses": [0.5, 1.25, None],
            **self.accuracies(), "seconds": seconds(2.0)})

    def accuracies(self):
        return {"accuracy": 0.75, "worst_group_accuracy": 0.25, "average_group_accuracy": 0.625,
                "group_accuracy": [1.0, 0.625, 0.25]}

    def finish(self):
        summary = {
            "dataset": "toy", "imbalance": 1.0, "model": "mlp", "group_by": "class", "method": "rcap",
            "pruning_rate": 0.9, "beta": 1.0, "seed": 3, "n_train": 200, "keep_count": 20, "epochs": 10,
            "samples_seen": 200, **self.accuracies(), "group_names": CLASSES, "group_sizes": [10, 10, 10],
            "train_class_sizes": [100, 50, 50], "seconds": seconds(83.0)}
        text = json.dumps(summary, separators=(",", ":"))
        summary["checksum"] = f"{crc32c(text.encode()):08x}"
        staged = self.folder / "summary.json.new"
        staged.write_text(json.dumps(summary))
        staged.rename(self.folder / "summary.json")
        return self


class WatchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_watch_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_at(self, name="run"):
        run = Run(self.folder / name)
        self.addCleanup(run.release)  # and not before, where nobody refers to it any more
        return run

    def rcap(self, *words, **environment):
        return subprocess.run([PROGRAM, "watch", *words], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env=os.environ | environment, check=False)

    def lines(self, *words, **environment):
        result = self.rcap(*words, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()


class Once(WatchTest):
    def test_a_run_under_way_is_printed_where_there_is_no_terminal(self):
        self.run_at().hold().train(4)
        lines = self.lines("run")
        self.assertEqual(len(lines), 24)
        self.assertEqual(lines[0], "run  rcap, pruning rate 0.9  toy, mlp, seed 3")
        self.assertRegex(lines[1], r"^4 of 10 epochs ━+╌+ 0:\d\d gone, about 0:\d\d left$")
        self.assertTrue(lines[3].startswith("train loss  1.75"), lines[3])
        self.assertTrue(any(line.startswith("0 ██") and "50.0 %   0.500" in line for line in lines), lines)
        self.assertFalse(any("\x1b" in line for line in lines))

    def test_it_is_the_same_with_once(self):
        self.run_at().train(4).finish()
        self.assertEqual(self.lines("run", "--once"), self.lines("run"))

    def test_a_run_that_is_done(self):
        self.run_at().train(10).finish()
        lines = self.lines("run")
        self.assertEqual(lines[1], "finished: 10 epochs in 1:23")
        self.assertEqual(lines[-1], "accuracy 75.0 %, average class 62.5 %, worst class 25.0 % (owl)")

    def test_a_run_that_was_killed(self):
        run = self.run_at().hold().train(4)
        run.release()
        lines = self.lines("run")
        self.assertEqual(lines[1], "stopped without a result after 4 of 10 epochs")
        self.assertEqual(lines[-1], "resume with: rcap train --out run --resume")

    def test_a_run_that_has_only_just_begun(self):
        folder = self.folder / "run"
        folder.mkdir()
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(self.lines("run")[:2], ["run", "running for 0:00, no epoch is done yet"])

    def test_a_line_that_is_being_written_is_not_an_error(self):
        run = self.run_at().hold().train(4)
        whole = run.line()
        for length in (1, len(whole) // 2, len(whole)):  # without its end, a line may be complete by chance
            with self.subTest(length=length):
                text = run.records.read_text()
                run.records.write_text(text + whole[:length])
                self.assertTrue(self.lines("run")[1].startswith("4 of 10 epochs"))
                run.records.write_text(text)

    def test_of_a_study_the_run_under_way_that_was_begun_last(self):
        self.run_at("study/runs/a").train(10).finish()
        first, last = self.run_at("study/runs/c").hold().train(2), self.run_at("study/runs/b").hold().train(3)
        os.utime(first.folder / "options.toml", (1000, 1000))
        os.utime(last.folder / "options.toml", (2000, 2000))
        self.assertTrue(self.lines("study")[0].startswith("study/runs/b  rcap"))
        last.finish()
        self.assertTrue(self.lines("study")[0].startswith("study/runs/c  rcap"))


class Refusals(WatchTest):
    def refused(self, *words, naming):
        result = self.rcap(*words)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"\Arcap: [^\n]+\n\Z")
        self.assertIn(naming, result.stderr)

    def test_no_folder_given(self):
        self.refused(naming="watch: RUN is missing; give the --out of rcap train")

    def test_no_such_folder(self):
        self.refused("nothing", naming="watch: there is no folder nothing; give the --out of rcap train")

    def test_a_folder_without_a_run(self):
        (self.folder / "empty").mkdir()
        self.refused("empty", naming="empty is not the folder of a run: there is no options.toml in it")

    def test_a_study_in_which_nothing_is_under_way(self):
        self.run_at("study/runs/a").train(10).finish()
        self.run_at("study/runs/b")
        self.refused("study", naming="none of the 2 runs in study is under way (with a result: 1); rcap report study")

    def test_a_damaged_line(self):
        run = self.run_at().train(1)
        run.records.write_text(run.records.read_text() + "{}\n")
        self.refused("run", naming="run/epochs.jsonl, line 2: ")


class Terminal:
    """rcap in a terminal of its own; what it has written is collected."""

    def __init__(self, folder, *words, columns=80, rows=24, **environment):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen(
            [PROGRAM, "watch", *words], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            env=kept | {"TERM": "xterm-256color"} | environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave
        self.text = ""

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def read_until(self, found):
        """Reads on until the text since the last call fits; that text."""
        end = time.monotonic() + PATIENCE
        while not found(self.text):
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"waited in vain; the last output was {self.text[-3000:]!r}")
            self.text += os.read(self.master, 65536).decode(errors="replace")
        text, self.text = self.text, ""
        return text

    def read_line(self, pattern):
        return self.read_until(lambda text: re.search(pattern, text))

    def wait(self):
        """The exit code; all output has been read."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError("it does not end")
            self.drain(0.05)
        self.drain(0)
        return self.process.returncode

    def drain(self, patience):
        while select.select([self.master], [], [], patience)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(end)


class InATerminal(WatchTest):
    def watch(self, *words, **options):
        terminal = Terminal(self.folder, *words, **options)
        self.addCleanup(terminal.close)
        return terminal

    def check_left(self, terminal):
        self.assertEqual(terminal.wait(), 0)
        self.assertIn("\x1b[?1049l", terminal.text)  # the screen as it was
        self.assertIn("\x1b[?25h", terminal.text)  # with its cursor
        self.assertTrue(terminal.is_as_before())

    def test_the_picture_grows_with_the_run_until_it_ends(self):
        run = self.run_at().hold().train(2)
        terminal = self.watch("run")
        self.assertTrue(terminal.read_line("q quits, the run goes on").startswith("\x1b[?1049h"))
        for done in (3, 4):
            run.train()
            terminal.read_line(f"{done} of 10 epochs")
        run.train(6).finish()
        self.check_left(terminal)
        picture = terminal.text.split("\x1b[?1049l")[1]  # stays in view
        self.assertIn("finished: 10 epochs in 1:23", picture)
        self.assertIn("worst class 25.0 % (owl)", picture)
        self.assertEqual(len(picture.splitlines()), 23)  # and the prompt

    def test_a_run_that_is_killed_is_left_and_said_so(self):
        run = self.run_at().hold().train(2)
        terminal = self.watch("run")
        terminal.read_line("2 of 10 epochs")
        run.release()
        self.check_left(terminal)
        self.assertIn("stopped without a result after 2 of 10 epochs", terminal.text)
        self.assertIn("resume with: rcap train --out run --resume", terminal.text)

    def test_keys_and_signals_leave_and_the_run_goes_on(self):
        run = self.run_at().hold().train(2)
        leave = {"q": lambda terminal: terminal.type(b"q"), "Ctrl-C": lambda terminal: terminal.type(b"\x03"),
                 "SIGTERM": lambda terminal: terminal.process.send_signal(signal.SIGTERM)}
        for name, act in leave.items():
            with self.subTest(name):
                terminal = self.watch("run")
                terminal.read_line("q quits")
                act(terminal)
                self.check_left(terminal)
        self.assertFalse(run.lock.closed)

    def test_other_keys_are_not_shown(self):
        run = self.run_at().hold().train(2)
        terminal = self.watch("run")
        terminal.read_line("q quits")
        terminal.type(b"x")
        run.train()
        self.assertNotIn("x", terminal.read_line("3 of 10 epochs").split("\x1b[H")[0])
        terminal.type(b"q")
        self.check_left(terminal)

    def test_it_cannot_be_stopped_on_a_screen_that_is_not_its_own(self):
        self.run_at().hold().train(2)
        terminal = self.watch("run")
        terminal.read_line("q quits")
        self.assertEqual(termios.tcgetattr(terminal.slave)[6][termios.VSUSP], b"\0")  # no key does what Ctrl-Z does

    def test_another_size_is_filled(self):
        self.run_at().hold().train(2)
        terminal = self.watch("run")
        self.assertIn("learning rate", terminal.read_line("q quits"))
        terminal.resize(60, 12)

        def is_small(text):
            frames = text.split("\x1b[H")
            return any("q quits" in frame and frame.count("\r\n") == 11 for frame in frames)

        small = terminal.read_until(is_small).split("\x1b[H")[-1]
        self.assertNotIn("learning rate", small)
        self.assertIn("train loss", small)

    def test_colours_are_those_that_terminal_and_user_want(self):
        self.run_at().hold().train(2)
        for environment, has_colours in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)):
            with self.subTest(environment):
                found = self.watch("run", **environment).read_line("q quits")
                self.assertEqual("\x1b[36m" in found, has_colours)

    def test_a_terminal_that_cannot_be_drawn_on_again_gets_one_picture(self):
        self.run_at().hold().train(2)
        for options in (["--once"], []):
            terminal = self.watch("run", *options, TERM="dumb" if not options else "xterm")
            self.assertEqual(terminal.wait(), 0)
            self.assertIn("2 of 10 epochs", terminal.text)
            self.assertNotIn("\x1b[?1049h", terminal.text)

    def test_a_run_that_has_ended_is_drawn_once(self):
        self.run_at().train(10).finish()
        terminal = self.watch("run")
        self.assertEqual(terminal.wait(), 0)
        self.assertNotIn("\x1b[?1049h", terminal.text)
        self.assertIn("finished: 10 epochs", terminal.text)

    def test_a_file_that_breaks_leaves_the_terminal_as_it_was(self):
        run = self.run_at().hold().train(2)
        terminal = self.watch("run")
        terminal.read_line("2 of 10 epochs")
        with run.records.open("a") as file:
            file.write("{}\n")
        self.assertEqual(terminal.wait(), 2)
        self.assertTrue(terminal.is_as_before())
        self.assertIn("rcap: run/epochs.jsonl, line 3: ", terminal.text.split("\x1b[?1049l")[1])

    def test_the_next_run_of_a_study_is_drawn_when_one_ends(self):
        study = self.folder / "study"
        first = self.run_at("study/runs/a").hold().train(2)
        with (study / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the study goes on
            terminal = self.watch("study")
            terminal.read_line("study/runs/a")
            first.train(8).finish()
            terminal.read_line("finished: 10 epochs")
            second = self.run_at("study/runs/b").hold().train(1)
            terminal.read_line("study/runs/b")
            second.train(9).finish()
        self.check_left(terminal)
        self.assertIn("study/runs/b", terminal.text.split("\x1b[?1049l")[1])

    @unittest.skipUnless(CAN_TRAIN, "rcap-train is not built")
    def test_a_real_training(self):
        training = subprocess.Popen(
            [PROGRAM, "train", "--threads", "1", "--dataset", "synthetic", "--train-samples", "1000", "--epochs", "60",
             "--pruning-rate", "0.8", "--evaluate-every", "20", "--out", "run", "--quiet"], cwd=self.folder,
            stdout=subprocess.DEVNULL)
        self.addCleanup(training.wait)
        self.addCleanup(training.kill)
        end = time.monotonic() + PATIENCE
        while not (self.folder / "run" / "options.toml").exists():
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(training.poll())
        terminal = self.watch("run")
        terminal.read_line(r"\d+ of 60 epochs")
        self.check_left(terminal)
        self.assertEqual(training.wait(PATIENCE), 0)
        picture = terminal.text.split("\x1b[?1049l")[1]
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertIn("finished: 60 epochs", picture)
        self.assertIn(f"worst class {100 * summary['worst_group_accuracy']:.1f} %", picture)


if __name__ == "__main__":
    unittest.main()
