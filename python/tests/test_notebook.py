"""The notebook of examples/notebooks runs, and holds what it prints today."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

for needed in ("nbclient", "ipykernel", "matplotlib", "torch"):
    pytest.importorskip(needed)

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "notebooks" / "fashion_mnist.ipynb"
NUMBER = re.compile(r"\d+(?:\.\d+)?")
POINTS = 15  # how far an accuracy may be off: processors round differently, and small classes swing


def code_cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def printed(cell):
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def kinds(cell):
    return [sorted(output.get("data", {"printed": ""})) for output in cell["outputs"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The cells as they are kept, beside the same cells run anew."""
    result = tmp_path_factory.mktemp("notebook") / "run.ipynb"
    subprocess.run([sys.executable, ROOT / "scripts" / "run-notebook", result], check=True, timeout=300)
    return list(zip(code_cells(NOTEBOOK), code_cells(result), strict=True))


def test_it_was_run_from_top_to_bottom():
    counts = [cell["execution_count"] for cell in code_cells(NOTEBOOK)]
    assert counts == list(range(1, len(counts) + 1))


def test_what_it_prints_is_up_to_date(run):
    for kept, new in run:
        assert kinds(kept) == kinds(new)
        if "varies" not in kept["metadata"].get("tags", []):
            assert printed(kept) == printed(new)


def test_what_varies_is_close(run):
    compared = 0
    for kept, new in run:
        assert NUMBER.sub("N", printed(kept)).split() == NUMBER.sub("N", printed(new)).split()
        if "seconds" in printed(kept):
            continue
        for shown, found in zip(NUMBER.findall(printed(kept)), NUMBER.findall(printed(new)), strict=True):
            assert abs(float(shown) - float(found)) <= POINTS, printed(new)
            compared += 1
    assert compared > 20


def test_it_draws_and_stays_small(run):
    assert [output for _, new in run for output in kinds(new) if "image/png" in output]
    assert NOTEBOOK.stat().st_size < 120_000
