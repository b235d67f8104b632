"""The program rcap as a user meets it: help, versions, commands that are not there, `rcap bench`."""

import json
import shutil
import stat
import subprocess
import time
import unittest

from cli_case import PROGRAM, CliTest


class Program(CliTest):
    def test_tells_its_version_and_help(self):
        self.assertRegex(self.rcap("--version"), r"\Arcap \d+\.\d+\.\d+( \([0-9a-f]{7,}(\+dirty)?\))?\n\Z")
        for words in [["--help"], ["help"]]:
            self.assertIn("select", self.rcap(*words))
        for words in [["select", "--help"], ["help", "select"], ["bench", "select", "--help"], ["doctor", "-h"]]:
            self.assertIn("Usage: rcap", self.rcap(*words))

    def test_help_shows_what_stands_behind_a_command(self):
        for usage in ("study PLAN.toml", "report DIR", "watch RUN", "data verify [NAME]", "select"):
            words = usage.split()[:2] if usage.startswith("data") else usage.split()[:1]
            self.assertIn(f"\n\nUsage: rcap {usage} [OPTIONS]\n", self.rcap(*words, "--help"))

    def test_help_of_select_tells_every_option(self):
        text = self.rcap("select", "--help")
        for name in ("method labels classes pruning-rate beta class-share initial-loss clip min-per-class "
                     "prune-probability annealing epochs batch-size loss-weight confidence epsilon period "
                     "stratified hard-cutoff strata quota scores recalls state losses ids epoch seed threads "
                     "out weights filter order quiet json config").split():
            self.assertIn(f"--{name}", text)

    def test_names_the_nearest_command_and_option(self):
        self.assert_refused("slect", naming=["slect", "did you mean select?", "bench, doctor"])
        self.assert_refused("--verison", naming="--verison")
        self.assert_refused(naming="command is missing")
        self.assert_refused("bench", "sleep", naming="sleep")
        self.refuse_select("--pruning-rat", "0.5",
                           naming=["--pruning-rat ", "did you mean --pruning-rate?", "rcap select --help"])
        self.refuse_select("--method", "rcpa", naming=['"rcpa"', "did you mean rcap?"])

    def test_hands_an_unknown_command_to_the_program_beside_it(self):
        shutil.copy(PROGRAM, self.folder / "rcap")
        hello = self.folder / "rcap-hello"
        hello.write_text('#!/bin/sh\necho "hello $# $1"\nexit 7\n')
        hello.chmod(hello.stat().st_mode | stat.S_IXUSR)
        result = self.run_rcap("hello", "big world", "--json", program=self.folder / "rcap")
        self.assertEqual((result.returncode, result.stdout), (7, "hello 2 big world\n"))
        help_text = self.run_rcap("--help", program=self.folder / "rcap").stdout
        self.assertIn("hello", help_text)

    def test_never_runs_a_program_of_another_folder(self):
        self.assert_refused("../rcap-x/../sh", naming="../rcap-x/../sh")

    def test_a_removed_working_folder_is_told(self):
        gone = self.folder / "gone"
        gone.mkdir()
        command = f'rmdir "{gone}" && exec "{PROGRAM}" doctor'
        result = subprocess.run(["sh", "-c", command], cwd=gone, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("the current folder has been removed", result.stderr)

    def test_does_not_load_libtorch(self):
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("torch", libraries)

    def test_reports_its_start_up_time(self):
        times = []
        for _ in range(11):
            start = time.perf_counter()
            self.rcap("--version")
            times.append(time.perf_counter() - start)
        print(f"start-up: median {1e3 * sorted(times)[5]:.1f} ms of 11 ({1e3 * min(times):.1f} .. "
              f"{1e3 * max(times):.1f})")

    def test_doctor_tells_about_the_machine(self):
        told = json.loads(self.rcap("doctor", "--json"))
        version = f"{told['version']} ({told['revision']})" if told["revision"] else told["version"]
        self.assertEqual(self.rcap("--version"), f"rcap {version}\n")
        self.assertIn(f"rcap       {version}\n", self.rcap("doctor"))
        self.assertGreaterEqual(told["threads"], 1)
        self.assertGreater(told["memory_bytes"], 0)
        self.assertEqual(set(told["cpu"]["features"]), {"avx2", "avx512f", "fma", "bf16"})
        self.assertEqual(told["datasets"][0]["name"], "fashion-mnist")

    def test_bench_select_selects_the_same_with_any_number_of_shards(self):
        def told(*words):
            # Above a million bytes a shard, so that memory lies in the scratch files.
            return json.loads(self.rcap("bench", "select", "--n", 1_500_000, "--classes", 100, "--repeat", 1,
                                        "--json", *words))
        scratch = self.folder / "scratch"
        scratch.mkdir()
        alone = told("--shards", 1)
        self.assertEqual(alone["selected"], [150_000, 150_000])
        self.assertEqual(alone["scratch_bytes"], 0)
        # A sanitizer has an allocator of its own, so that there is no scratch memory.
        tried = self.run_rcap("bench", "select", "--n", 1000, "--shards", 2, "--scratch", scratch)
        is_sanitized = "not available in a build with sanitizers" in tried.stderr
        shards = told("--shards", 3, *([] if is_sanitized else ["--scratch", scratch]))
        self.assertEqual(shards["digest"], alone["digest"])
        self.assertEqual(shards["scratch_bytes"] > 1_500_000, not is_sanitized)
        self.assertGreater(shards["bytes_exchanged"][1], 8 * 150_000)
        self.assertEqual(told("--shards", 2, "--no-order")["digest"], alone["digest"])
        scratch.rmdir()  # which fails if anything is left in it
        self.assert_refused("bench", "select", "--scratch", ".", naming="--scratch is for --shards")
        self.assert_refused("bench", "select", "--shards", 2, "--beside", "paper", naming="not for --shards")

    def test_bench_select_prints_medians_and_their_spread(self):
        for words in [[], ["--profile", "long-tailed", "--threads", 2, "--label-order", "sorted"], ["--no-order"]]:
            told = json.loads(self.rcap("bench", "select", "--n", 20000, "--classes", 10, "--repeat", 3, "--json",
                                        *words))
            self.assertEqual((told["n"], told["classes"], told["keep_count"]), (20000, 10, 2000))
            for name in ("select_ns_per_sample", "observe_ns_per_sample", "floor_ns_per_sample"):
                self.assertLess(0, told[f"{name}_min"])
                self.assertLessEqual(told[f"{name}_min"], told[name])
                self.assertLessEqual(told[name], told[f"{name}_max"])
            self.assertGreaterEqual(told["peak_bytes_per_sample"], 0)
        for beside, ratio, over, under in [("one-thread", "faster", "beside", "select"),
                                           ("paper", "dearer", "select", "beside")]:
            told = json.loads(self.rcap("bench", "select", "--n", 20000, "--classes", 10, "--repeat", 1, "--json",
                                        "--threads", 2, "--beside", beside))
            self.assertAlmostEqual(told[ratio], told[f"{over}_ns_per_sample"] / told[f"{under}_ns_per_sample"])
            self.assertNotIn("peak_bytes_per_sample", told)  # it would be that of two pruners
        self.assertIn("select", self.rcap("bench", "select", "--n", 2000, "--classes", 3, "--repeat", 1))
        self.assert_refused("bench", "select", "--repeat", 0, naming="--repeat is 0")
        self.assert_refused("bench", "select", "--n", 3, "--classes", 4, naming=["--n 3", "--classes 4"])


if __name__ == "__main__":
    unittest.main()
