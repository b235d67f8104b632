"""What scripts/setup makes of pip's report on torch."""

import json
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "cuda_packages_in_report.py"


def cuda_packages(*names):
    report = {"install": [{"metadata": {"name": name, "version": "1"}} for name in names]}
    result = subprocess.run(
        [sys.executable, str(SCRIPT)], input=json.dumps(report), capture_output=True, text=True, check=True
    )
    return result.stdout.split()


class CudaReportTest(unittest.TestCase):
    def test_a_cpu_build_brings_none(self):
        self.assertEqual(cuda_packages("torch", "numpy", "sympy"), [])

    def test_a_cuda_build_is_recognised_by_what_it_brings(self):
        found = cuda_packages("torch", "nvidia-cublas", "triton", "cuda-bindings")
        self.assertEqual(sorted(found), ["cuda-bindings", "nvidia-cublas", "triton"])


if __name__ == "__main__":
    unittest.main()
