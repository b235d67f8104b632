"""Runs the code blocks of a page of the documentation, in order, as a reader would.

- A block of `python` is run in one namespace for the whole page; one of `sh` by bash. Both share a folder, and find
  the programs `rcap` (RCAP_PROGRAM), `python` and `torchrun`.
- A block of `text` right after one of these is what it prints. `...` stands for anything, as in a doctest.
- Other blocks are read, not run.

A comment in HTML before a block, which no reader sees, says what else a test should do:

- `<!-- not run: REASON -->` leaves the block alone.
- `<!-- file: NAME -->` writes it to a file of that name, which the text asks the reader to do.
- `<!-- within: 5 -->` before a block of `text` lets its numbers be off by 5: accuracies differ between processors.
"""

import contextlib
import dataclasses
import doctest
import io
import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(
    r"(?:^<!-- (?P<order>not run|file|within): (?P<value>[^\n]+) -->\n+)?"
    r"^(?P<fence>```+)(?P<language>\w+)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
# PyTorch is in another environment's folder (scripts/test-python), its programs are not on the PATH.
PRELUDE = 'torchrun() { python -m torch.distributed.run "$@"; }\n'
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    language: str
    text: str
    order: str | None
    value: str | None
    follows: bool  # nothing but space lies between it and the block before

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"


def blocks_of(page):
    """The fenced blocks of a page."""
    page = pathlib.Path(page)
    text, end = page.read_text(), 0
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("fence")) + 1
        yield Block(page, line, match["language"], match["text"], match["order"], match["value"],
                    not text[end:match.start()].strip())
        end = match.end()


def run_python(block, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        # Line numbers as in the page, so that a traceback leads there.
        exec(compile("\n" * block.line + block.text, str(block.page), "exec"), names)
    return printed.getvalue()


def environment():
    programs = [os.path.dirname(sys.executable)]
    if "RCAP_PROGRAM" in os.environ:
        programs.insert(0, os.path.dirname(os.environ["RCAP_PROGRAM"]))
    return {**os.environ, "PATH": os.pathsep.join([*programs, os.environ["PATH"]])}


def run_shell(block):
    command = ["bash", "-euo", "pipefail", "-c", PRELUDE + block.text]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, f"{block.place}: {result.stdout}{result.stderr}"
    return result.stdout


def pattern_of(text):
    """The expected output as an expression that captures its numbers; `...` and space are as loose as in a doctest."""
    pieces = re.split(rf"({NUMBER.pattern}|\.\.\.|\s+)", text.strip())
    looser = {"...": ".*?"}
    return r"\s*" + "".join(
        looser.get(piece) or (r"\s+" if piece.isspace() else f"({NUMBER.pattern})" if NUMBER.fullmatch(piece) else
                              re.escape(piece)) for piece in pieces if piece) + r"\s*"


def check_output(block, printed):
    told = f"{block.place}: printed was\n{printed}"
    if block.order != "within":
        assert doctest.OutputChecker().check_output(block.text, printed, FLAGS), told
        return
    match = re.fullmatch(pattern_of(block.text), printed, re.DOTALL)
    assert match, told
    for shown, found in zip(NUMBER.findall(block.text), match.groups(), strict=True):
        assert abs(float(shown) - float(found)) <= float(block.value), f"{found} instead of {shown}; {told}"


def run_page(page, names=None):
    """Runs a page's blocks in the current folder; gives how many were run."""
    names = {"__name__": "__page__", **(names or {})}
    printed, count = None, 0
    for block in blocks_of(page):
        if block.order == "not run":
            printed = None
        elif block.order == "file":
            pathlib.Path(block.value).write_text(block.text)
            printed = None
        elif block.language == "text" and block.follows and printed is not None:
            check_output(block, printed)
        elif block.language in ("python", "sh"):
            printed = run_python(block, names) if block.language == "python" else run_shell(block)
            count += 1
    return count
