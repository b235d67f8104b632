"""Filtered streams in two real processes, started by torchrun with Gloo. What each job proves, streams_job.py says."""

import pathlib
import subprocess
import sys

import pytest
import torch

import rcap
from rcap.torch import PruningSampler
from streams import Shards, make_loader, train
from streams_job import alone
from training import DYNAMIC, LABELS

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """One start for all jobs: it takes longer than most of them."""
    folder = tmp_path_factory.mktemp("streams")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
               str(HERE / "streams_job.py"), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.mark.parametrize("method", ["rcap", "infobatch"])
def test_one_process_goes_on_from_the_state_of_two(ended, method):
    sampler = PruningSampler(rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method]))
    loader = make_loader(Shards(), sampler)
    sampler.load_state_dict(torch.load(ended / f"{method}.pt"))
    train(sampler, loader, first_epoch=sampler.epoch)
    assert sampler.pruner.state() == alone(method)[1]
