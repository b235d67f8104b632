"""One pruner in several threads of Python: calls take turns, and nothing is lost."""

import itertools
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import rcap

COUNT = 200_000
ROUNDS = 12


def make_pruner():
    return rcap.RCAP(np.arange(COUNT) % 10, pruning_rate=0.5, seed=3, threads=2)


class Calls:
    """What a thread may do with a pruner that others use too: any call may find its epoch over."""

    def __init__(self):
        self.pruner = make_pruner()
        self.pruner.select(0)
        self.saved = self.pruner.state()

    def select(self, number):
        self.pruner.select(max(self.pruner.epoch, 0) + number % 2)

    def observe(self, _):
        ids = self.pruner.pending_ids()[:30_000]
        self.pruner.observe(ids, np.ones(len(ids), np.float32))

    def state(self, _):
        assert len(self.pruner.state()) == len(self.saved)

    def dumps(self, _):
        assert pickle.loads(pickle.dumps(self.pruner)).sample_count == COUNT

    def set_state(self, _):
        self.pruner.set_state(self.saved)


def run_side_by_side(*calls):
    unexpected = []

    def repeat(call):
        for number in range(ROUNDS):
            try:
                call(number)
            except rcap.InvalidArgument:
                pass  # another thread was quicker: its epoch, its observations
            except BaseException as error:  # a test must see what a thread dies of
                unexpected.append(error)
                raise

    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "two threads wait for each other"
    assert not unexpected


PAIRS = list(itertools.combinations_with_replacement(["select", "observe", "state", "dumps", "set_state"], 2))


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_any_two_calls_may_meet(names):
    calls = Calls()
    run_side_by_side(*(getattr(calls, name) for name in names))
    calls.pruner.set_state(calls.saved)
    fresh = make_pruner()
    fresh.set_state(calls.saved)
    assert np.array_equal(calls.pruner.select(5).ids, fresh.select(5).ids)


def test_observations_of_several_threads_are_all_there():
    pruner, alone = make_pruner(), make_pruner()
    ids = pruner.select(0).ids
    losses = (ids % 7).astype(np.float32)
    parts = np.array_split(np.arange(len(ids)), 8)
    run_side_by_side(*(lambda number, part=part: number or pruner.observe(ids[part], losses[part]) for part in parts))
    alone.select(0)
    alone.observe(ids, losses)
    assert pruner.pending_count == 0
    assert pruner.state() == alone.state()


SELECTS = """
import numpy as np, rcap, sys
pruner = rcap.RCAP(np.arange(200_000) % 10, pruning_rate=0.5, seed=3, threads=8)
sys.stdout.write(str(pruner.select(0).ids.sum()))
"""


@pytest.mark.skipif("RCAP_FAULTS" not in os.environ, reason="needs a system that fails, which the build of rcap makes")
@pytest.mark.parametrize("most", range(9))
def test_a_system_with_no_more_threads_to_give(most):
    # Not those of NumPy, which has its own.
    few = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "LD_PRELOAD": os.environ["RCAP_FAULTS"],
           "RCAP_FAULT": f"EAGAIN:{most + 1}+", "RCAP_FAULT_CALLS": "pthread_create"}
    told = subprocess.run([sys.executable, "-c", SELECTS], env=few, capture_output=True, text=True, timeout=60,
                          check=True)
    pruner = rcap.RCAP(np.arange(200_000) % 10, pruning_rate=0.5, seed=3)
    assert told.stdout == str(pruner.select(0).ids.sum())
