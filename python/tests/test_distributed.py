"""PruningSampler in several real processes, started by torchrun with Gloo."""

import os
import pathlib
import subprocess
import sys

import pytest
import torch

from training import DYNAMIC, EPOCHS

HERE = pathlib.Path(__file__).parent


def torchrun(ranks, *jobs, folder, restarts=0, ranks_per_host=None):
    """With `ranks_per_host`, so many ranks share a pruner, as those of a host do; otherwise each has its own."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
               f"--max-restarts={restarts}", str(HERE / "ranks_job.py"), str(folder), *jobs]
    # By default the ranks after a restart may find the addresses of those before it, and hang (docs/python.md).
    environment = os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    if ranks_per_host is not None:
        environment["RCAP_TEST_HOSTS"] = str(ranks_per_host)
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=HERE, env=environment,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The same trainings with 1, 2 and 3 ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    for ranks in (1, 2, 3):
        torchrun(ranks, "once", folder=folder)
    return folder


@pytest.mark.parametrize("method", DYNAMIC)
def test_the_number_of_ranks_changes_nothing(ended, method):
    one, two, three = (torch.load(ended / f"{method}-{ranks}.pt") for ranks in (1, 2, 3))
    assert one["state"] == two["state"] == three["state"]
    for epoch in range(EPOCHS):
        expected = sorted(one["seen"].get(epoch, []))
        assert len(expected) == len(set(expected))
        for ranks, run in ((2, two), (3, three)):
            ids = run["seen"].get(epoch, [])
            # Every sample is trained; as few as needed are trained twice, so that all ranks make as many batches.
            assert sorted(set(ids)) == expected
            assert len(ids) == -(-len(expected) // ranks) * ranks


@pytest.mark.parametrize("ranks", [2, 3])
def test_resuming_is_exact(ranks, tmp_path):
    torchrun(ranks, "matrix", folder=tmp_path)


def test_a_state_of_three_ranks_goes_on_with_two(ended):
    torchrun(3, "stop", folder=ended)
    torchrun(2, "go-on", folder=ended)


def test_a_killed_rank_is_restarted_from_the_checkpoint(tmp_path):
    torchrun(2, "crash", folder=tmp_path, restarts=1)


def test_two_ranks(tmp_path):
    """What each job proves, ranks_job.py says. One start for all: it takes longer than the jobs."""
    torchrun(2, "disagree", "mistakes", "late", "skips", "ahead", "shared twice", "lengths", "initial", "watch",
             "refreshes", "early", folder=tmp_path)


def test_ranks_that_share_a_pruner_train_what_others_train(ended, tmp_path):
    """Three ranks on two hosts."""
    torchrun(3, "once", "matrix", "shares", "share mistakes", "share copies", folder=tmp_path, ranks_per_host=2)
    for method in DYNAMIC:
        alone, shared = (torch.load(folder / f"{method}-3.pt") for folder in (ended, tmp_path))
        assert shared == alone, method


def test_two_ranks_that_share_a_pruner(tmp_path):
    torchrun(2, "mistakes", "late", "skips", "ahead", "shared twice", "lengths", "initial", "watch", "refreshes",
             folder=tmp_path, ranks_per_host=2)


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="only Linux tells")
def test_four_ranks_that_share_a_pruner_need_the_memory_of_one(tmp_path):
    torchrun(4, "memory", folder=tmp_path, ranks_per_host=4)
