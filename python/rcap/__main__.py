"""`python -m rcap doctor`: versions, and what the machine has."""

import argparse
import os
import platform
from collections.abc import Sequence
from importlib import metadata

import numpy as np

from . import __revision__, __version__

_VERSION = __version__ + (f" ({__revision__})" if __revision__ else "")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m rcap", description="Shows the versions and frameworks that the Python package rcap finds.",
        epilog="All other commands, such as selecting from arrays on disk, belong to the program: rcap select --help.")
    parser.add_argument("--version", action="version", version=f"rcap {_VERSION}")
    parser.add_argument("command", choices=["doctor"], help="show versions and what the machine has")
    parser.parse_args(words)
    print(f"rcap       {_VERSION}")
    print(f"python     {platform.python_version()}, NumPy {np.__version__}")
    print(f"system     {platform.platform()}")
    print(f"threads    {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}")
    for package in ("torch", "lightning", "transformers", "accelerate"):
        print(f"{package:<10} {_version_of(package)}")


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
