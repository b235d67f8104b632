"""What the site of the documentation is made by (tools/site), without building it: `scripts/docs` does that."""

import importlib
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "tools" / "site"


@pytest.fixture(autouse=True)
def find_tools(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))


def faults(folder, **pages):
    from check_links import faults_of
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return sorted(f"{path.name} {fault}" for path, fault in faults_of(folder))


def test_links_that_lead_somewhere_are_fine(tmp_path):
    (tmp_path / "a b.svg").write_text("")
    assert faults(tmp_path,
                  first='<a href="second.html#place">x</a><a href="#here" id="here">x</a><img src="a%20b.svg">',
                  second='<p id="place"><a href="https://example.org/">elsewhere</a>') == []


@pytest.mark.parametrize("text, fault", [
    ('<a href="gone.html">x</a>', "leads to gone.html, which does not exist"),
    ('<a href="#gone">x</a>', "leads to #gone; that page has no #gone"),
    ('<a href="page.html#gone">x</a>', "leads to page.html#gone; that page has no #gone"),
    ('<img src="gone.svg">', "leads to gone.svg, which does not exist"),
    ('<img src="https://example.org/a.png">', "loads https://example.org/a.png from the network"),
    ('<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css from the network"),
    ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js from the network")])
def test_a_link_that_leads_nowhere_is_told(tmp_path, text, fault):
    assert faults(tmp_path, page=text) == [f"page.html {fault}"]


def test_a_notebook_becomes_a_page():
    pytest.importorskip("sphinx")
    from repository_pages import notebook
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": ["print(1)"], "outputs": [
            {"output_type": "stream", "text": ["1\n"]},
            {"output_type": "display_data", "data": {"image/png": "AAAA\n", "text/plain": ["<Figure>"]}}]}]
    page = notebook(json.dumps({"cells": cells}))
    assert page.startswith("# Title\ntext\n\n```python\nprint(1)\n```\n\n\n```text\n1\n```")
    assert 'src="data:image/png;base64,AAAA">' in page
    assert "<Figure>" not in page


def test_a_block_with_fences_in_it_gets_a_longer_fence():
    pytest.importorskip("sphinx")
    from repository_pages import fence
    assert fence("a\n```\nb\n```", "text") == "````text\na\n```\nb\n```\n````\n"


def belongs_to(module, name, value):
    return not name.startswith("_") and callable(value) and getattr(value, "__module__", "").startswith(module)


def public_names():
    for module in ("rcap", "rcap.torch", "rcap.loggers", "rcap.lightning", "rcap.hf"):
        try:
            members = vars(importlib.import_module(module))
        except ImportError:  # of a framework that is not installed
            continue
        yield from (f"{module}.{name}" for name, value in members.items() if belongs_to(module, name, value))


def test_the_reference_has_every_public_name():
    listed = set(re.findall(r"^\.\. auto\w+:: (\S+)", (SITE / "python_reference.rst").read_text(), re.MULTILINE))
    missing = set(public_names()) - listed
    assert not missing, f"tools/site/python_reference.rst lacks {sorted(missing)}"


def test_the_reference_has_every_header():
    page = (ROOT / "docs" / "reference" / "cpp.md").read_text()
    listed = set(re.findall(r"\]\(../../(include/\S+)\)", page))
    headers = {str(path.relative_to(ROOT)) for path in (ROOT / "include").rglob("*.hpp")}
    assert listed == headers - {"include/rcap/core/export.hpp"}  # marks for the linker, nothing to call


def test_the_front_pages_count_the_methods_that_there_are():
    import rcap
    words = {20: "twenty", 21: "twenty-one", 22: "twenty-two", 23: "twenty-three"}
    table = (ROOT / "README.md").read_text().split("## Methods")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert sorted(re.findall(r"`([^`]+)`", " ".join(rows))) == sorted(rcap.METHODS)
    count = words[len(rcap.METHODS)].capitalize()
    assert f"{count}, behind one interface" in table
    assert f"{count} methods behind one interface" in (ROOT / "python" / "README.md").read_text()
    others = words[len(rcap.METHODS) - 1]
    assert f"with {others} other methods" in (ROOT / "docs" / "index.md").read_text()


def test_a_property_is_described_by_its_type_and_its_text():
    import rcap
    from docstrings import describe_property

    def described(name):
        lines = []
        describe_property(None, "property", name, vars(rcap.Pruner)[name], None, lines)
        return lines

    assert described("keep_count") == ["`int`. How many samples a pruned epoch trains on; with lengths, about how "
                                       "many."]
    assert described("method") == ["`str`. "]
