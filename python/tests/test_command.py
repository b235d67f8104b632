"""`python -m rcap`."""

import subprocess
import sys

import numpy as np

import rcap


def run(*words):
    return subprocess.run([sys.executable, "-m", "rcap", *words], capture_output=True, text=True, check=False)


def test_tells_its_version_and_what_is_there():
    revision = f" ({rcap.__revision__})" if rcap.__revision__ else ""
    assert run("--version").stdout == f"rcap {rcap.__version__}{revision}\n"
    assert f"NumPy {np.__version__}" in run("doctor").stdout


def test_selecting_is_left_to_the_program():
    refused = run("select")
    assert refused.returncode == 2 and "invalid choice: 'select'" in refused.stderr
    assert "belong to the program: rcap select --help" in " ".join(run("--help").stdout.split())
