"""The same program under SLURM's variables, started as docs/launchers.md says. torchrun and Ray: test_examples.py."""

import os
import pathlib
import re
import subprocess
import sys

from page_blocks import blocks_of
from test_examples import ALL, EXAMPLES, KEPT, LINE

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "launchers.md"
# What these programs do on a cluster: the names of the hosts, and a process for each task.
SCONTROL = """#!/bin/bash
[[ "$*" == "show hostnames node[1-2]" ]] && printf '127.0.0.1\\nnode2\\n'
"""
SRUN = """#!/bin/bash
for rank in 0 1; do
  SLURM_PROCID=$rank SLURM_LOCALID=$rank SLURM_NTASKS=2 "$@" &
  tasks+=($!)
done
for task in "${tasks[@]}"; do wait "$task" || exit; done
"""


def test_a_job_of_slurm_trains_on_all_its_tasks(tmp_path):
    job = next(block for block in blocks_of(PAGE) if block.value == "train.sbatch")
    programs = {"scontrol": SCONTROL, "srun": SRUN, "python": f'#!/bin/bash\nexec {sys.executable} "$@"\n',
                "train.sbatch": job.text.replace("train.py", "torchrun_loop.py --epochs 1")}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    port = 20000 + os.getpid() % 20000
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "node[1-2]",
                                "SLURM_JOB_ID": str(port - 20000), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(["bash", str(tmp_path / "train.sbatch")], cwd=EXAMPLES, env=environment,
                            capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [match for line in result.stdout.splitlines() if (match := re.fullmatch(LINE, line))]
    seen = {line[1]: int(line[2].replace(",", "")) for line in lines}  # of rank 0 alone, which prints
    assert seen == {"full": ALL, "rcap": KEPT + 1}  # two ranks share 495 samples: one is trained twice
