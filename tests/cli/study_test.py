"""rcap study as a user runs it: real runs on a small table, killed, changed, damaged."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["RCAP_PROGRAM"]
PLANS = pathlib.Path(__file__).resolve().parents[2] / "plans"

PLAN = """
title = "A small table"
seeds = [0, 27]
pruning-rates = [0.5, 0.8]
reference = "rcap"
methods = ["full", "rcap", "rs2", "ccs", {method = "tdds", score-epochs = 4, score-window = 3}]
[options]
preset = "table"
data = "small.csv"
epochs = 4
checkpoint-seconds = 0
[[datasets]]
name = "small"
"""
RUNS = 2 * (1 + 2 * 4 + 1)


def write_table(path, rows=600):
    """Three classes of unequal size, two numbers that tell them apart and one that does not."""
    chance = random.Random(0)
    lines = ["a,b,c,label"]
    for row in range(rows):
        label = 0 if row % 10 < 6 else 1 if row % 10 < 9 else 2
        lines.append(f"{chance.gauss(label, 0.6):.4f},{chance.gauss(-label, 0.6):.4f},{chance.random():.4f},{label}")
    path.write_text("\n".join(lines) + "\n")


class StudyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rcap_study_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write_table(self.folder / "small.csv")
        (self.folder / "plan.toml").write_text(PLAN)

    def command(self, out, *words, plan="plan.toml"):
        return [PROGRAM, "study", str(plan), "--out", str(out), *map(str, words)]

    def study(self, out, *words, plan="plan.toml", code=0):
        result = subprocess.run(self.command(out, *words, plan=plan), cwd=self.folder, capture_output=True, text=True,
                                timeout=600, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def refused(self, *words, naming, plan="plan.toml", out="out"):
        line = self.study(out, *words, plan=plan, code=2).stderr.strip().splitlines()[-1]
        self.assertTrue(line.startswith("rcap: "), line)
        for text in naming if isinstance(naming, tuple) else (naming,):
            self.assertIn(text, line)

    def change(self, before, after):
        text = (self.folder / "plan.toml").read_text()
        self.assertIn(before, text)
        (self.folder / "plan.toml").write_text(text.replace(before, after))

    def tables(self, out):
        """All tables that hold no times."""
        return {path.name: path.read_bytes() for path in sorted((self.folder / out).glob("table_*"))
                if "cost" not in path.name}

    def ended_at(self, out):
        return {path.parent.name: path.stat().st_mtime_ns
                for path in (self.folder / out / "runs").glob("*/summary.json")}


class Outcome(StudyTest):
    def test_a_study_makes_runs_tables_figures_and_report(self):
        outcome = json.loads(self.study("out", "--json", "--quiet", "--jobs", 2).stdout)
        self.assertEqual((outcome["done"], outcome["missing"]), (RUNS, []))
        out = self.folder / "out"
        for name in ("tables.md", "table_worst_group.tex", "table_cost.csv", "report.html", "figure_cost.svg"):
            self.assertGreater((out / name).stat().st_size, 100, name)
        # A run folder is what rcap train writes: it can be repeated from its options.
        run = out / "runs" / "small-rcap-rate-0.8-seed-27"
        again = subprocess.run([PROGRAM, "train", "--config", str(run / "options.toml"), "--out", "again", "--quiet",
                                "--json"], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(again.stdout)["group_accuracy"],
                         json.loads((run / "summary.json").read_text())["group_accuracy"])
        # Scoring runs are shared, and their time is reported with every run that used them.
        scored = json.loads((out / "runs/small-ccs-rate-0.5-seed-0/summary.json").read_text())
        self.assertGreater(scored["seconds"]["scoring"], 0)
        self.assertEqual(len(list((out / "runs").glob("*/scores.safetensors"))), 2)
        # Done runs are not made again.
        before = self.ended_at("out")
        self.assertEqual(json.loads(self.study("out", "--json", "--quiet").stdout)["run_seconds"], 0)
        self.assertEqual(self.ended_at("out"), before)

    def test_static_methods_share_one_scoring_run(self):
        self.change('methods = ["full", "rcap", "rs2", "ccs", {method = "tdds", score-epochs = 4, score-window = 3}]',
                    'methods = ["rcap", "el2n", "forgetting", {method = "dyn-unc", choose = "per-class"}, "dual"]')
        self.change("seeds = [0, 27]", "seeds = [0]")
        outcome = json.loads(self.study("out", "--json", "--quiet", "--jobs", 2).stdout)
        self.assertEqual((outcome["done"], outcome["missing"]), (1 + 2 * 5, []))
        self.assertEqual(len(list((self.folder / "out/runs").glob("*/scores.safetensors"))), 1)

    def test_what_is_no_plan_is_refused_at_once(self):
        (self.folder / "accents.toml").write_text("café = 1\n")
        (self.folder / "brackets.toml").write_text("[[\nname = 1\n")
        for plan, naming in ((self.folder, "Is a directory"), ("/dev/zero", "has more than the 16777216 bytes"),
                             ("accents.toml", "accents.toml:1:"), ("brackets.toml", "not TOML")):
            with self.subTest(plan=plan):
                result = self.study("out", plan=plan, code=2)
                self.assertIn(naming, result.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_study_of_held_out_samples_says_so(self):
        self.change('"rcap", "rs2"', '{method = "rcap", initial-loss = "forward"}, "rs2"')
        self.change('\nepochs = 4', '\nepochs = 4\nhold-out = 0.25\nevaluate = "held-out"\n'
                    'label-noise = 0.1\nmin-test-samples = 12')
        self.study("out", "--quiet", "--jobs", 2)
        out = self.folder / "out"
        for path in (out / "runs").glob("*/summary.json"):
            summary = json.loads(path.read_text())
            self.assertEqual((summary["evaluated_on"], summary["min_test_samples"]), ("held-out", 12))
            # 480 of 600 rows are no test rows: 288, 144 and 48, of which 72, 36 and 12 are held out.
            self.assertEqual((summary["n_train"], summary["group_sizes"]), (360, [72, 36, 12]))
            self.assertEqual(summary["changed_labels"], 36)
        tables = (out / "tables.md").read_text()
        self.assertIn("Accuracies are of the held-out part of the training data.", tables)
        self.assertIn("Groups with fewer than 12 samples to evaluate on do not count.", tables)
        self.assertIn("36 of the training labels are wrong on purpose.", tables)
        # 4 epochs on everything, on a half; ccs scored on everything first, rcap looked once.
        self.assertIn("| samples trained on | | 1,440 | 720 | 720 | 2,160 | 2,160 |", tables)
        self.assertIn("| samples forward only | | 0 | 360 | 0 | 0 | 0 |", tables)
        self.assertGreater((out / "figure_samples.svg").stat().st_size, 100)

    def test_killed_at_any_moment_it_ends_the_same(self):
        self.study("whole", "--jobs", 2, "--threads", 2, "--quiet")
        chance = random.Random(int(os.environ.get("RCAP_TEST_SEED", "7")))
        for _ in range(10):
            process = subprocess.Popen(self.command("killed", "--jobs", 2, "--threads", 2, "--quiet"), cwd=self.folder,
                                       stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.1, 1.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.study("killed", "--jobs", 2, "--quiet")
        self.assertEqual(self.tables("killed"), self.tables("whole"))
        self.assertEqual(self.tables("whole").keys(), {f"table_{name}.{ending}" for ending in ("md", "csv", "tex")
                                                       for name in ("worst_group", "average_group",
                                                                    "worst_group_adjusted",
                                                                    "average_group_adjusted",
                                                                    "worst_group_difference",
                                                                    "average_group_difference")})

    def test_ctrl_c_stops_politely(self):
        process = subprocess.Popen(self.command("out", "--quiet"), cwd=self.folder, stderr=subprocess.PIPE, text=True)
        while not list((self.folder / "out").glob("runs/*/epochs.jsonl")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("continue with the same command", stderr)
        self.assertEqual(list((self.folder / "out/failed").iterdir()), [])

    def test_two_studies_do_not_share_a_folder(self):
        process = subprocess.Popen(self.command("out", "--quiet"), cwd=self.folder, stderr=subprocess.DEVNULL)
        while not list((self.folder / "out").glob("runs/*")):
            time.sleep(0.02)
        try:
            self.refused(naming="another study is running in this folder")
        finally:
            process.kill()
            process.wait()

    def test_dry_run_lists_the_runs_and_makes_none(self):
        lines = self.study("out", "--dry-run").stdout.splitlines()
        self.assertEqual(len(lines), RUNS + 2)
        self.assertRegex(lines[1], r"small-full-seed-0 +1\.00 +- +not begun")
        self.assertRegex(lines[-1], rf"{RUNS} runs, {RUNS} to make")
        self.assertFalse((self.folder / "out").exists())

    def test_the_smoke_plan_runs(self):
        outcome = json.loads(self.study("out", "--json", "--quiet", "--jobs", 2, plan=PLANS / "smoke.toml").stdout)
        self.assertEqual((outcome["done"], outcome["missing"]), (16, []))

    def test_all_plans_that_ship_are_sound(self):
        for path in sorted(PLANS.glob("*.toml")):
            with self.subTest(plan=path.name):
                self.assertRegex(self.study("out", "--dry-run", plan=path).stdout, r"\d+ runs, \d+ to make")


class Trouble(StudyTest):
    def small_plan(self):
        (self.folder / "plan.toml").write_text("""
seeds = [0]
pruning-rates = [0.5]
methods = ["rs2", "rcap"]
[options]
preset = "table"
data = "small.csv"
epochs = 2
[[datasets]]
name = "small"
""")

    def test_a_failed_run_does_not_stop_the_others(self):
        self.small_plan()
        self.change("[[datasets]]", '[[datasets]]\nname = "none"\ndata = "none.csv"\n[[datasets]]')
        result = self.study("out", code=2)
        self.assertIn("2 runs have no result", result.stderr)
        self.assertIn("none.csv", (self.folder / "out/failed/none-rs2-rate-0.5-seed-0.txt").read_text())
        self.assertIn("none-rs2-rate-0.5-seed-0", (self.folder / "out/tables.md").read_text())
        self.assertEqual(len(self.ended_at("out")), 2)
        # Not made again by itself; made again on request, once the cause is mended.
        write_table(self.folder / "none.csv")
        self.study("out", code=2)
        self.assertEqual(len(self.ended_at("out")), 2)
        self.study("out", "--rerun", "failed")
        self.assertEqual(len(self.ended_at("out")), 4)

    def test_damaged_results_are_named_and_kept(self):
        self.small_plan()
        self.study("out")
        summary = self.folder / "out/runs/small-rs2-rate-0.5-seed-0/summary.json"
        text = summary.read_text()
        summary.write_text(re.sub(r'"worst_group_accuracy": [0-9.]+', '"worst_group_accuracy": 0.99', text))
        result = self.study("out", code=2)
        self.assertIn("was changed after the run wrote it", result.stderr)
        self.assertIn("0.99", summary.read_text())
        self.study("out", "--rerun", "damaged")
        self.assertEqual(json.loads(summary.read_text())["group_accuracy"], json.loads(text)["group_accuracy"])
        self.assertIn("0.99", (self.folder / "out/replaced/small-rs2-rate-0.5-seed-0/summary.json").read_text())

    def test_a_changed_plan_is_taken_over_on_request(self):
        self.small_plan()
        self.study("out")
        before = self.ended_at("out")
        self.change("pruning-rates = [0.5]", "pruning-rates = [0.5, 0.8]")
        self.change('methods = ["rs2", "rcap"]', 'methods = [{method = "rs2", epochs = 3}, "rcap"]')
        self.refused(naming=("began with another plan: 2 runs are new", "epochs was 2, is now 3", "with amend"))
        self.assertEqual(self.ended_at("out"), before)
        self.study("out", "--amend")
        after = self.ended_at("out")
        self.assertEqual(len(after), 4)
        # What the plan did not change was not made again, and nothing was lost.
        self.assertEqual(after["small-rcap-rate-0.5-seed-0"], before["small-rcap-rate-0.5-seed-0"])
        self.assertTrue((self.folder / "out/replaced/small-rs2-rate-0.5-seed-0/summary.json").exists())

    def test_bad_plans_are_refused_before_anything_runs(self):
        self.small_plan()
        for before, after, naming in (
                ("epochs = 2", "epoch = 2", "there is no option epoch (did you mean epochs?)"),
                ('"rcap"]', '"rcpa"]', ('there is no method "rcpa" (did you mean rcap?)', "did you mean rcap?")),
                ("seeds", "seed", ('a plan has no "seed"', "did you mean seeds?")),
                ("[0.5]", "[1]", "pruning-rate is 1; it must be at least 0 and below 1"),
                ("epochs = 2", "epochs = 0", "epochs is 0"),
                ('preset = "table"', 'preset = "tabel"', "tabel")):
            with self.subTest(after=after):
                self.small_plan()
                self.change(before, after)
                self.refused(naming=naming)
                self.assertFalse((self.folder / "out").exists())
        self.refused(plan="no.toml", naming="no.toml: cannot be read")

    def test_bad_options_are_refused(self):
        self.refused("--jobs", 0, naming="--jobs is 0; it must lie between 1 and 4096")
        self.refused("--rerun", "all", naming="is not one of nothing, failed, damaged, both")
        result = subprocess.run([PROGRAM, "study", "--out", "x"], cwd=self.folder, capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, "PLAN.toml is missing" in result.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
