"""`python -m rcap`, against the program `rcap`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import rcap
from test_core import LABELS, LOSSES, OPTIONS, losses_of

PROGRAM = os.environ.get("RCAP_PROGRAM")
PYTHON = [sys.executable, "-m", "rcap"]


def run(program, folder, *words):
    return subprocess.run([*program, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def arrays(tmp_path):
    for name, array in (("labels", LABELS), ("losses", LOSSES), ("scores", OPTIONS["ccs"]["scores"]),
                        ("recalls", OPTIONS["metriq"]["recalls"])):
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def select_words(method, name):
    words = ["select", "--method", method, "--labels", "labels.npy", "--pruning-rate", 0.7, "--seed", 3, "--state",
             f"{name}.rcap", "--out", f"{name}.npy", "--weights", f"{name}-weights.npy"]
    own = {"infobatch": ["--epochs", 4], "ccs": ["--scores", "scores.npy", "--hard-cutoff", 0.1],
           "tdds": ["--scores", "scores.npy"], "metriq": ["--recalls", "recalls.npy", "--quota", "size"],
           "rcap": ["--class-share", "group", "--beta", 2], "rs2-replace": ["--stratified"], "ucb": ["--period", 1]}
    return words + own.get(method, [])


@pytest.mark.skipif(not PROGRAM, reason="RCAP_PROGRAM names no program to compare with")
@pytest.mark.parametrize("method", rcap.METHODS)
def test_does_what_the_program_does(method, arrays):
    for epoch in range(3):
        for name, program in (("python", PYTHON), ("program", [PROGRAM])):
            words = select_words(method, name)
            if epoch == 0 and method == "rcap":
                words += ["--losses", "losses.npy"]
            elif epoch > 0:
                words += ["--losses", "observed.npy", "--ids", f"{name}.npy"]
            result = run(program, arrays, *words)
            assert result.returncode == 0, result.stderr
        for file in ("{}.rcap", "{}.npy", "{}-weights.npy"):
            assert (arrays / file.format("python")).read_bytes() == (arrays / file.format("program")).read_bytes(), epoch
        np.save(arrays / "observed.npy", losses_of(np.load(arrays / "python.npy"), epoch))


def test_losses_of_the_whole_data_set_will_do(arrays):
    words = ["select", "--labels", "labels.npy", "--losses", "losses.npy", "--state", "s.rcap", "--out", "ids.npy"]
    for epoch in range(2):
        result = run(PYTHON, arrays, *words, "--json")
        found = json.loads(result.stdout)
        assert (found["epoch"], found["selected"], sum(found["class_counts"])) == (epoch, 10, 10)
    assert len(np.load(arrays / "ids.npy")) == 10


@pytest.mark.parametrize("words, text", [
    (["--labels", "nowhere.npy"], "nowhere.npy: "),
    (["--labels", "labels.npy", "--strata", 3], "--strata is an option of ccs, not of rcap"),
    (["--labels", "labels.npy", "--method", "ccs"], "--scores is missing: ccs needs it"),
    (["--labels", "labels.npy", "--method", "infobatch"], "--epochs is missing: infobatch needs it"),
    (["--labels", "labels.npy", "--ids", "labels.npy"], "--ids without --losses"),
    (["--labels", "labels.npy"], "100 of 100 samples have no initial loss"),
    (["--labels", "labels.npy", "--losses", "recalls.npy"], "recalls.npy: holds 3 losses, 100 are needed"),
    (["--labels", "losses.npy"], "labels must be integers, not float32"),
])
def test_says_what_is_wrong_and_writes_nothing(words, text, arrays):
    result = run(PYTHON, arrays, "select", "--out", "ids.npy", "--state", "s.rcap", *words)
    assert result.returncode == 2 and result.stderr.startswith("rcap: ") and text in result.stderr
    assert not (arrays / "ids.npy").exists() and not (arrays / "s.rcap").exists()


def test_an_output_that_cannot_be_written_leaves_the_state_alone(arrays):
    result = run(PYTHON, arrays, "select", "--method", "rs2", "--labels", "labels.npy", "--out", "no/ids.npy", "--state",
                 "s.rcap")
    assert result.returncode == 2 and "cannot write" in result.stderr
    assert not (arrays / "s.rcap").exists()


def test_tells_its_version_and_what_is_there(tmp_path):
    assert run(PYTHON, tmp_path, "--version").stdout == f"rcap {rcap.__version__}\n"
    assert f"NumPy {np.__version__}" in run(PYTHON, tmp_path, "doctor").stdout


class TestConfig:
    def test_a_file_gives_options_and_the_command_line_comes_first(self, arrays):
        (arrays / "run.toml").write_text('labels = "labels.npy"\nlosses = "losses.npy"\nout = "ids.npy"\n'
                                         'pruning-rate = 0.7\nclass-share = "group"\njson = true\nquiet = false\n')
        counts = []
        for words in ([], ["--pruning-rate", 0.5]):
            result = run(PYTHON, arrays, "select", "--config", "run.toml", *words)
            assert result.returncode == 0, result.stderr
            counts.append(json.loads(result.stdout)["selected"])
        assert counts == [int(0.3 * len(LABELS) + 1e-6), int(0.5 * len(LABELS))]

    @pytest.mark.parametrize("text, said", [
        ('labls = "x"', "--config: there is no option --labls (did you mean --labels?)"),
        ('run = "x"', "there is no option --run"),
        ("= 1", "--config run.toml: Invalid")])
    def test_what_is_wrong_is_named(self, text, said, arrays):
        (arrays / "run.toml").write_text(text)
        result = run(PYTHON, arrays, "select", "--config", "run.toml")
        assert result.returncode == 2 and said in result.stderr, result.stderr

    def test_a_missing_file(self, arrays):
        result = run(PYTHON, arrays, "select", "--config", "absent.toml")
        assert result.returncode == 2 and "--config absent.toml: [Errno 2] No such file" in result.stderr


def test_what_is_required_is_asked_for(arrays):
    result = run(PYTHON, arrays, "select", "--labels", "labels.npy")
    assert result.returncode == 2 and "rcap: --out is missing" in result.stderr


def test_bench_measures_every_part(tmp_path):
    words = ["bench", "select", "--n", 5000, "--classes", 10, "--repeat", 2]
    found = json.loads(run(PYTHON, tmp_path, *words, "--json").stdout)
    assert found["keep_count"] == 500
    for name in ("select_ns_per_sample", "order_ns_per_selected", "observe_ns_per_sample"):
        assert 0 < found[f"{name}_min"] <= found[name] <= found[f"{name}_max"]
    assert "observe" in run(PYTHON, tmp_path, *words).stdout
    refused = run(PYTHON, tmp_path, "bench", "select", "--n", 0)
    assert refused.returncode == 2 and "--n is 0; it must be at least 1" in refused.stderr
