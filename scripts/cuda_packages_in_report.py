#!/usr/bin/env python3
"""Prints the CUDA packages in a pip installation report, one name per line.

Reads the output of `pip install --dry-run --report -` from standard input. Prints nothing if pip would install none.
"""

import json
import re
import sys

CUDA_PREFIXES = ("nvidia-", "cuda-", "triton")


def cuda_packages(report: dict) -> list[str]:
    """The names of the CUDA packages pip would install, normalised and sorted."""
    # Projects spell their names as they like (nvidia_nccl, NVIDIA.nccl); pip treats these as one, and so must we.
    names = (re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower() for item in report["install"])
    return sorted(name for name in names if name.startswith(CUDA_PREFIXES))


if __name__ == "__main__":
    for package in cuda_packages(json.load(sys.stdin)):
        print(package)
