"""The types that an editor or mypy sees."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

USER = """
import numpy as np
import torch
import rcap
from rcap.torch import Indexed, PruningSampler, total_steps

pruner = rcap.RCAP(np.arange(10) % 2, pruning_rate=0.5, class_share="group")
selection = pruner.select(0)
reveal_type(selection.ids)
reveal_type(selection.weights)
reveal_type(pruner.class_sizes)
reveal_type(pruner.planned_batches(3, 2))
sampler = PruningSampler(pruner)
reveal_type(sampler.observe([1, 2], torch.ones(2)))
reveal_type(total_steps(sampler, 3, 2))
reveal_type(Indexed([1, 2])[0])
filter = rcap.Filter.load("epoch.filter", epoch=3)
reveal_type(filter.keep([1, 2]))
reveal_type(filter.weights([1, 2]))
reveal_type(1 in pruner.filter(1))
advice = rcap.advise([0, 1], pruning_rates=[0.5])
reveal_type(advice.rates[0].rules["rcap"].speed_up)
reveal_type(advice.suggestion.verdict)
errors: list[type[rcap.Error]] = [rcap.InvalidArgument, rcap.BadFile, rcap.StateMismatch, rcap.InternalError]
"""
CONFIGURATION = pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One for all: mypy takes half a minute to read PyTorch, and keeps what it has read."""
    return tmp_path_factory.mktemp("types")


def mypy(folder, *words):
    result = subprocess.run([sys.executable, "-m", "mypy", "--strict", *words], cwd=folder, capture_output=True,
                            text=True, check=False)
    return result.returncode, result.stdout


def check(folder, text):
    (folder / "user.py").write_text(text)
    return mypy(folder, "user.py")


def test_the_package_is_typed_throughout(folder):
    code, found = mypy(folder, "--config-file", str(CONFIGURATION), "-p", "rcap")
    assert code == 0, found


def test_a_program_of_a_user_is_understood(folder):
    code, found = check(folder, USER)
    assert code == 0, found
    types = [line.split('Revealed type is "')[1].rstrip('"') for line in found.splitlines() if "Revealed" in line]
    assert [kind.replace("builtins.", "").replace("torch._tensor.", "torch.") for kind in types] == [
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.signedinteger[numpy._typing._nbit_base._64Bit]]]",
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.floating[numpy._typing._nbit_base._32Bit]]] | None",
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.signedinteger[numpy._typing._nbit_base._64Bit]]]",
        "int | None", "torch.Tensor", "int", "tuple[Any, int]",
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.bool[bool]]]",
        "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.floating[numpy._typing._nbit_base._32Bit]]]", "bool",
        "float", "Literal['likely'] | Literal['at a price'] | Literal['hardly']"]


MISTAKES = ["rcap.RCAP([0, 1], betta=1.0)", "rcap.RCAP([0, 1], beta='warm')", "rcap.InfoBatch([0, 1])",
            "rcap.RS2([0, 1]).select('first')", "rcap.advise([0, 1], pruning_rates='many')",
            "rcap.InvalidArgument().absent"]


def test_mistakes_are_found(folder):
    code, found = check(folder, "\n".join(["import rcap", *MISTAKES]))  # one run: mypy takes seconds to start
    assert code == 1
    for line, mistake in enumerate(MISTAKES, 2):
        assert f"user.py:{line}: error" in found, mistake
