"""ShardedSampler in several real processes, started by torchrun with Gloo. What each job proves, shards_job.py says."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def torchrun(ranks, *jobs, folder):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
               str(HERE / "shards_job.py"), str(folder), *jobs]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=HERE, check=False,
                            env=os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
    assert result.returncode == 0, result.stdout + result.stderr


def test_three_ranks_select_as_one_process_and_others_go_on(tmp_path):
    torchrun(3, "equal", "stays", "save", folder=tmp_path)
    torchrun(2, "mistakes", "load", folder=tmp_path)
    torchrun(1, "load", folder=tmp_path)
