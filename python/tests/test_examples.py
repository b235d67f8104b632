"""What a reader would copy works: every program of examples/python, and every example in docstrings and docs."""

import doctest
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
EPOCHS = 2
# Samples of the generated data, and how many of them RCAP takes an epoch at 0.9: floor(0.1 * n).
ALL, KEPT = 4958, 495
LINE = re.compile(r"(\w+) +([\d,]+) samples seen +worst class +([\d.]+) % +average class +([\d.]+) %")

# What each needs, how it is started if not by Python alone, and samples if not all are trained on.
PROGRAMS = {
    "plain_loop.py": {"needs": "torch"},
    "held_out_classes.py": {"needs": "torch", "all": 4459, "kept": 445},
    "batch_losses.py": {"needs": "torch"},
    "torchrun_loop.py": {"needs": "torch", "launcher": ["-m", "torch.distributed.run", "--standalone",
                                                        "--nproc-per-node=2"]},
    "webdataset_loop.py": {"needs": "webdataset"},
    "lightning_loop.py": {"needs": "lightning"},
    "fabric_loop.py": {"needs": "lightning"},
    "hf_trainer.py": {"needs": "transformers"},
    "accelerate_loop.py": {"needs": "accelerate"},
    "sklearn_partial_fit.py": {"needs": "sklearn"},
    "functional_loop.py": {"needs": "numpy"}}

# Of language models, on text of this machine: texts seen in an epoch of "full", "rcap" and "rcap packed".
LANGUAGE_LINE = re.compile(
    r"(full|rcap|rcap packed) +([\d,]+) texts seen +worst domain ([\d.]+) +average domain ([\d.]+)")
LANGUAGE = {"language_trainer.py": ("transformers", (500, 250, 250)), "trl_sft.py": ("trl", (500, 250, None))}


def lines_of(program, pattern, options, launcher=()):
    """What the program prints, as matches of the pattern."""
    command = [sys.executable, *launcher, str(EXAMPLES / program), *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return [match for line in result.stdout.splitlines() if (match := pattern.fullmatch(line))]


def run(program, *options):
    """{"full": (samples seen, worst, average), "rcap": ...}, as the program prints them."""
    about = PROGRAMS[program]
    pytest.importorskip(about["needs"])
    lines = lines_of(program, LINE, options, about.get("launcher", ()))
    assert [line[1] for line in lines] == ["full", "rcap"]
    return {line[1]: (int(line[2].replace(",", "")), float(line[3]), float(line[4])) for line in lines}


@pytest.mark.parametrize("program", PROGRAMS)
def test_example_trains_on_everything_and_on_a_tenth(program):
    results = run(program, "--epochs", EPOCHS)
    # Two ranks repeat a sample where they cannot share evenly.
    about = PROGRAMS[program]
    repeats = EPOCHS if "launcher" in about else 0
    for name, count in (("full", about.get("all", ALL)), ("rcap", about.get("kept", KEPT))):
        assert EPOCHS * count <= results[name][0] <= EPOCHS * count + repeats
    for _, worst, average in results.values():
        assert 0 <= worst <= average <= 100
        assert average > 20  # of ten classes; guessing gives 10


@pytest.mark.parametrize("program", LANGUAGE)
def test_language_example_trains_on_everything_on_half_and_packed(program):
    needs, counts = LANGUAGE[program]
    pytest.importorskip(needs)
    lines = lines_of(program, LANGUAGE_LINE, ("--epochs", 1))
    assert [line[1] for line in lines] == ["full", "rcap", "rcap packed"]
    for line, count in zip(lines, counts, strict=True):
        assert count is None or int(line[2]) == count
        assert 0 < float(line[4]) <= float(line[3]) < 5.5  # nats per byte; guessing has ln(256) = 5.545
    packed, alone = lines[2], lines[1]
    if counts[2] == counts[1]:  # the same texts in the same batches, without padding: the same training
        assert packed.groups()[1:] == alone.groups()[1:]


def test_the_text_of_the_language_examples_is_in_this_checkout_too(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    text = importlib.import_module("real_text")
    domains = {name: (count, places[1:] or places) for name, (count, places) in text.DOMAINS.items()}
    monkeypatch.setattr(text, "DOMAINS", domains)
    (texts, labels), held_out = text.read_texts()
    assert len(texts) == len(labels) == 500 and {len(part) for part in held_out.values()} == {text.HELD_OUT}


def test_the_seed_decides_the_result():
    first = run("functional_loop.py", "--epochs", 1, "--seed", 1)
    assert run("functional_loop.py", "--epochs", 1, "--seed", 1) == first
    assert run("functional_loop.py", "--epochs", 1, "--seed", 2) != first


def test_every_program_is_tested_and_described():
    programs = {path.name for path in EXAMPLES.glob("*.py")} - {"toy_data.py", "real_text.py"}
    described = set(re.findall(r"^\| \[(\w+\.py)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert programs == described == {*PROGRAMS, *LANGUAGE}


def modules():
    import rcap
    files = sorted(pathlib.Path(rcap.__file__).parent.glob("*.py"))
    return ["rcap", "rcap._core", *(f"rcap.{path.stem}" for path in files if path.stem not in ("__init__", "__main__"))]


@pytest.mark.parametrize("name", modules())
def test_docstrings(name):
    try:
        module = importlib.import_module(name)
    except ImportError as missing:
        if missing.name and missing.name.split(".")[0] != "rcap":
            pytest.skip(f"{missing.name} is not installed")
        raise
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_there_are_docstring_examples():
    import rcap
    finder = doctest.DocTestFinder()
    found = {test.name for test in finder.find(rcap._core) if test.examples}
    names = ("Pruner", "MarginScorer", "RecallScorer", "EL2NScorer", "ForgettingScorer", "UncertaintyScorer")
    assert {f"rcap._core.{name}" for name in names} <= found
    assert any(test.examples for test in finder.find(rcap))


@pytest.mark.parametrize("page", ["python.md", "moving.md", "advise.md", "streams.md"])
def test_docs(page, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0
