"""What every rank of test_failures.py runs, under torchrun: the job named."""

import datetime
import itertools
import os
import pathlib
import random
import signal
import sys
import threading
import time

import numpy as np
import torch
import torch.distributed as dist

import rcap
from rcap.torch import PruningSampler
from rcap.torch._exchange import Exchange
from ranks import of_all_ranks
from training import EPOCHS, LABELS, losses_of, make_sampler, train

METHOD = "rcap"
EXCHANGES = 30  # about as many as a rank makes in a run


def raised(kind, action):
    """What an action says that must fail so."""
    try:
        action()
    except kind as error:
        return str(error)
    raise AssertionError("it did not fail")


def differ(_):
    """All ranks say what differs: the number of samples, the seed, an option."""
    rank = dist.get_rank()
    text = raised(rcap.InvalidArgument, lambda: PruningSampler(rcap.RS2(LABELS[rank:])))
    assert f"the ranks disagree on samples: here it is {len(LABELS) - rank}, but not on ranks" in text, text
    text = raised(rcap.InvalidArgument, lambda: PruningSampler(rcap.RS2(LABELS, seed=rank)))
    assert text.endswith("the ranks disagree on options: rank 0 has seed=0, rank 1 has seed=1; they must be the same "
                         "on all"), text
    pruner = rcap.RCAP(LABELS, beta=1 + rank, min_per_class=3 - rank)
    text = raised(rcap.InvalidArgument, lambda: PruningSampler(pruner))
    assert "rank 0 has beta=1, min_per_class=3, rank 1 has beta=2, min_per_class=2;" in text, text


def out_of_step(_):
    """Ranks that make their calls in another order do not take one thing for another."""
    rank, samplers = dist.get_rank(), [make_sampler("rs2"), make_sampler("rs2")]
    text = raised(rcap.InvalidArgument, samplers[rank].synchronize)
    number = samplers[0]._ranks.exchange._number
    assert (f'the ranks are out of step: rank 0 is at "exchange losses" of PruningSampler {number}, rank 1 is at '
            f'"exchange losses" of PruningSampler {number + 1}; all must make the same calls') in text, text
    judge = PruningSampler(rcap.RCAP(LABELS))
    action = judge.synchronize if rank else lambda: judge.observe_classes([0.1, 0.2, 0.3])
    text = raised(rcap.InvalidArgument, action)
    assert 'rank 0 is at "observe_classes", rank 1 is at "exchange losses"' in text, text
    for sampler in samplers:  # and nothing is lost
        sampler.set_epoch(0)
        assert len(list(sampler)) > 0


def exchanges(_):
    """Bytes of all lengths, sums and maxima arrive as they are, on 3 ranks."""
    exchange, size, rank = Exchange("test"), dist.get_world_size(), dist.get_rank()
    for length in (0, 1, 192, 193, 100_000):
        given = [np.full(length * of % 1000 + of * (length > 0), 7 * of + length % 5, np.uint8) for of in range(size)]
        for found, expected in zip(exchange.all_gather("gather", given[rank]), given, strict=True):
            assert np.array_equal(found, expected)
        sent = [[np.full(length * (of + to) % 1000, 10 * of + to, np.uint8) for to in range(size)]
                for of in range(size)]
        for of, found in enumerate(exchange.all_to_all("deal", sent[rank])):
            assert np.array_equal(found, sent[of][rank])
    numbers = np.array([rank, -rank, 2**62], np.int64)
    exchange.all_reduce("add", numbers)
    assert numbers.tolist() == [3, -3, 2**62 + 2**63 - 2**64]  # modulo 2^64
    numbers = np.array([rank, -rank], np.int64)
    exchange.all_reduce("highest", numbers, "max")
    assert numbers.tolist() == [2, 0]
    text = raised(rcap.InvalidArgument, lambda: exchange.all_reduce("add", np.zeros(2 + rank, np.int64)))
    assert "add: the ranks give [2, 3, 4] numbers" in text, text
    text = raised(rcap.InvalidArgument, lambda: exchange.all_reduce("add", numbers, ("sum", "max", "max")[rank]))
    assert 'rank 0 is at "add (sum)", rank 1 is at "add (max)"' in text, text
    among = exchange.among([0, 2]) if rank != 1 else None
    if among is not None:
        assert among.gather_numbers("ask", [rank])[:, 0].tolist() == [0, 2]


def slow(_):
    """A rank that does not come is waited for as long as the process group says."""
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    sampler = PruningSampler(rcap.RS2(LABELS), group=group)
    if dist.get_rank() == 1:
        time.sleep(2.5)
    began = time.monotonic()
    text = raised(RuntimeError, lambda: sampler.set_epoch(0))
    assert 'the exchange of "exchange losses" was not completed: a rank has ended, or took longer than' in text, text
    assert time.monotonic() - began < 60


def undisturbed():
    """What every epoch trains on, and the state at the end, of a run that nothing disturbs."""
    pruner = rcap.make_pruner(METHOD, LABELS, pruning_rate=0.6, seed=5, initial_loss="forward")
    everything = np.arange(len(LABELS))
    pruner.observe(everything, losses_of(everything, 7).numpy())
    selections = []
    for epoch in range(EPOCHS):
        ids = pruner.select_in_order(epoch).ids
        pruner.observe(ids, losses_of(ids, epoch).numpy())
        selections.append(ids.tolist())
    return selections, pruner.state()


def die_at(number, delay):
    """Kills this process so long after it has begun an exchange."""
    count, begin = itertools.count(), Exchange._run

    def run(self, step, exchange):
        if next(count) == number:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return begin(self, step, exchange)

    Exchange._run = run


def campaign(folder):
    """In each of so many attempts a random rank is killed in a random exchange; the last attempt comes to its end."""
    attempt, kills = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["TORCHELASTIC_MAX_RESTARTS"])
    moment = random.Random(1000 + attempt)
    victim, number, delay = moment.randrange(dist.get_world_size()), moment.randrange(EXCHANGES), moment.random() / 500
    if attempt < kills and dist.get_rank() == victim:
        die_at(number, delay)
    run(folder, attempt)
    while attempt < kills:  # it was not killed yet
        if dist.get_rank() == 0:
            (folder / "checkpoint.pt").unlink()
        dist.barrier()
        run(folder, attempt)
    if dist.get_rank() == 0:
        (folder / "attempts").write_text(str(attempt))


def run(folder, attempt):
    """Goes on from the checkpoint, if there is one, and writes down what is not as in a run that nothing disturbs."""
    selections, final_state = undisturbed()
    checkpoint = folder / "checkpoint.pt"
    state = of_all_ranks(torch.load(checkpoint) if checkpoint.exists() else None)[0]  # of one moment
    sampler, first = make_sampler(METHOD), 0
    if state is not None:
        sampler.load_state_dict(state)
        first = sampler.epoch

    def save(epoch, done, batches):
        if done == 0 and sampler._epoch.ids.tolist() != selections[epoch]:
            (folder / "wrong").write_text(f"attempt {attempt}, epoch {epoch}: {sampler._epoch.ids.tolist()}\n")
        if done % 2 == 1:
            sampler.synchronize()
            if dist.get_rank() == 0:
                torch.save(sampler.state_dict(), folder / "new.pt")
                os.replace(folder / "new.pt", checkpoint)
        return False

    train(sampler, 0, save, first)
    if isinstance(sampler.pruner, rcap.Pruner) and sampler.pruner.state() != final_state:
        (folder / "wrong").write_text(f"attempt {attempt}: the last state\n")


JOBS = {"differ": differ, "out of step": out_of_step, "exchanges": exchanges, "slow": slow, "campaign": campaign}

if __name__ == "__main__":
    dist.init_process_group("gloo")
    dist.barrier()
    for job in sys.argv[2:]:
        JOBS[job](pathlib.Path(sys.argv[1]))
    dist.barrier()
    dist.destroy_process_group()
