"""Ranks that end, are slow, differ or do something else: an error on all of them, and never a wrong selection."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
# RCAP_TEST_KILLS=20 for all of the campaign.
KILLS = int(os.environ.get("RCAP_TEST_KILLS", "2"))


def torchrun(ranks, *jobs, folder, restarts=0, ranks_per_host=None):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
               f"--max-restarts={restarts}", str(HERE / "failures_job.py"), str(folder), *jobs]
    environment = os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # docs/python.md
    if ranks_per_host is not None:
        environment["RCAP_TEST_HOSTS"] = str(ranks_per_host)
    result = subprocess.run(command, capture_output=True, text=True, timeout=300 + 60 * restarts, cwd=HERE,
                            env=environment, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stderr


def test_two_ranks_say_what_is_wrong(tmp_path):
    torchrun(2, "differ", "out of step", "slow", folder=tmp_path)


def test_three_ranks_exchange_what_they_are_given(tmp_path):
    torchrun(3, "exchanges", folder=tmp_path)


@pytest.mark.parametrize("ranks_per_host", [None, 2])
def test_killed_ranks_are_started_again_and_select_the_same(ranks_per_host, tmp_path):
    said = torchrun(2, "campaign", folder=tmp_path, restarts=KILLS, ranks_per_host=ranks_per_host)
    assert not (tmp_path / "wrong").exists(), (tmp_path / "wrong").read_text()
    assert (tmp_path / "attempts").read_text() == str(KILLS)
    assert said.count("exitcode: -9") == KILLS
    assert "was not completed: a rank has ended, or took longer" in said  # from a rank that was left
