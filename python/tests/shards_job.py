"""What every rank of test_shards.py runs, under torchrun: the jobs named, one after the other."""

import contextlib
import itertools
import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.utils.data import TensorDataset

import rcap
from rcap.torch import PruningSampler, ShardedSampler, shard_range
from ranks import of_all_ranks
from training import EPOCHS, Stopped, losses_of

COUNT, BATCH = 700, 16
LABELS = np.random.default_rng(4).choice(5, COUNT, p=[0.5, 0.25, 0.15, 0.08, 0.02])
LABELS[:320] = np.minimum(LABELS[:320], 2)  # the first ranks do not have all classes
KINDS = {
    "rcap": ("rcap", {}), "rcap forward": ("rcap", {"initial_loss": "forward", "class_share": "paper"}),
    "rcap group-dro": ("rcap", {"class_share": "group-dro"}), "balanced": ("balanced", {}),
    "rs2": ("rs2", {}), "rs2-replace": ("rs2-replace", {}), "infobatch": ("infobatch", {"epochs": 3, "annealing": 1.0}),
    "top-loss": ("top-loss", {}), "ucb": ("ucb", {"period": 1})}
OPTIONS = {"pruning_rate": 0.7, "seed": 3}


def make(kind, **options):
    method, own = KINDS[kind]
    sampler = ShardedSampler(method, lambda first, count: LABELS[first:first + count], total=COUNT, **OPTIONS, **own,
                             **options)
    return begin(sampler, sampler.own_ids)


def make_alone(kind):
    method, own = KINDS[kind]
    pruner = rcap.make_pruner(method, LABELS, **OPTIONS, **own)
    if pruner.needs_initial_losses:
        pruner.observe(np.arange(COUNT), losses_of(np.arange(COUNT), 7).numpy())
    return pruner


def begin(sampler, ids):
    if sampler.pruner.needs_initial_losses and sampler.epoch == 0 and not sampler.any_observed:
        sampler.observe(np.array(ids, np.int64), losses_of(np.array(ids, np.int64), 7))
        sampler.synchronize()
    return sampler


def in_order(part):
    """What ranks that take every size-th sample take together, in the order of training."""
    parts = of_all_ranks(part)
    return [each for row in itertools.zip_longest(*parts) for each in row if each is not None]


def train(sampler, first=0, stop=None):
    """Trains; returns the batches of this rank by epoch. `stop` is (epoch, batches)."""
    seen, data = {}, TensorDataset(torch.arange(COUNT))
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for done, ((values,), ids) in enumerate(sampler.loader(data, batch_size=BATCH), 1):
            assert values.tolist() == ids.tolist()
            sampler.observe(ids, losses_of(ids, epoch))
            seen.setdefault(epoch, []).append(ids.tolist())
            if stop == (epoch, done):
                sampler.synchronize()
                raise Stopped
    sampler.synchronize()
    return seen


def gathered(sampler):
    """The state of all ranks together, on all of them."""
    return of_all_ranks(sampler.gather_state_dict())[0]["pruner"].numpy().tobytes()


def equal(_):
    """Selection, order, weights, prior and gathered state are those of one process."""
    for kind in KINDS:
        sampler, alone = make(kind, exchange_every=3 if kind == "rcap" else None), make_alone(kind)
        for epoch in range(EPOCHS):
            sampler.set_epoch(epoch)
            part = np.array(list(sampler), np.int64)
            chosen = alone.select_in_order(epoch)
            where = (kind, epoch, dist.get_world_size())
            found = in_order(part.tolist())
            count = len(chosen.ids)
            assert found[:count] == chosen.ids.tolist(), where
            assert found[count:] == chosen.ids.tolist()[:len(found) - count], where
            assert len(found) == -(-count // dist.get_world_size()) * dist.get_world_size(), where
            if chosen.weights is not None:
                weight_of = dict(zip(chosen.ids.tolist(), chosen.weights.tolist(), strict=True))
                assert sampler._epoch.part_weights.tolist() == [weight_of[id] for id in part.tolist()], where
            for batch in torch.from_numpy(part).split(BATCH):
                mean = sampler.observe(batch, losses_of(batch, epoch))
                assert torch.isfinite(mean), where
            sampler.synchronize()
            alone.observe(chosen.ids, losses_of(chosen.ids, epoch).numpy())
            assert gathered(sampler) == alone.state(), where
            assert sampler.log_prior().tolist() == alone.log_prior().astype(np.float32).tolist(), where


def stays(_):
    """With locality="shard" the same samples are trained, most of them where they are."""
    for kind in ("rcap", "infobatch"):
        sampler, alone = make(kind, locality="shard"), make_alone(kind)
        for epoch in range(EPOCHS):
            sampler.set_epoch(epoch)
            ids = list(sampler)
            parts, expected = of_all_ranks(ids), alone.select(epoch).ids
            assert len({len(part) for part in parts}) == 1
            assert sorted({id for part in parts for id in part}) == expected.tolist()
            assert all(len(part) == len(set(part)) for part in parts)
            here = sum(id in sampler.own_ids for id in ids)
            of_own = int(np.isin(expected, np.array(sampler.own_ids)).sum())
            assert here >= min(of_own, len(ids)) - 1, (here, of_own, len(ids))
            sampler.observe(ids, losses_of(ids, epoch))
            alone.observe(expected, losses_of(expected, epoch).numpy())
        sampler.synchronize()
        assert gathered(sampler) == alone.state()


STOP = (1, 3)


def save(folder):
    """Stops in mid-epoch, and leaves the state of all ranks."""
    for kind in KINDS:
        sampler = make(kind)
        with contextlib.suppress(Stopped):
            train(sampler, 0, STOP)
        checkpoint.save({"sampler": sampler}, checkpoint_id=folder / kind)
        sampler.save(folder / f"{kind}.state")


def load(folder):
    """Goes on with another number of ranks; ends as if nothing had stopped it."""
    for kind in KINDS:
        whole = make(kind)
        expected = train(whole)
        sampler = make(kind)
        checkpoint.load({"sampler": sampler}, checkpoint_id=folder / kind)
        assert sampler.epoch == STOP[0] and sampler.any_observed
        rest = train(sampler, sampler.epoch)
        for epoch in range(STOP[0] + 1, EPOCHS):
            assert rest[epoch] == expected[epoch], (kind, epoch)
        assert gathered(sampler) == gathered(whole), kind
        # From the gathered state a PruningSampler goes on, too, and the other way round.
        method, own = KINDS[kind]
        pruner = rcap.make_pruner(method, LABELS, **OPTIONS, **own)
        pruner.load(folder / f"{kind}.state")
        other = PruningSampler(pruner)
        left = in_order(list(other))
        sampler = make(kind)
        sampler.load_state_dict(of_all_ranks(other.state_dict())[0])
        assert in_order(list(sampler)) == left, kind


def refused(action, text):
    try:
        action()
    except rcap.Error as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nobody said: {text}")


def mistakes(_):
    """What goes wrong on one rank, all are told."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own = shard_range(COUNT)
    labels = LABELS[own.start:own.stop]
    assert of_all_ranks(own)[0].start == 0 and of_all_ranks(own)[-1].stop == COUNT
    assert np.array_equal(in_order(list(ShardedSampler("rs2", labels, **OPTIONS))), in_order(list(make("rs2"))))
    refused(lambda: ShardedSampler("rs2", labels[int(rank == 0):]), "64")
    refused(lambda: ShardedSampler("rs2", labels, seed=rank), "seed")
    refused(lambda: ShardedSampler("rs2" if rank else "rcap", labels), "rs2")
    refused(lambda: ShardedSampler("rs2", lambda first, count: labels, total=COUNT + 64 * rank), "disagree on total")
    refused(lambda: ShardedSampler("rs2", lambda *_: labels[int(rank == 1):], total=COUNT), "samples of rank 1;")
    read = [lambda first, count: labels, lambda first, count: np.load("/nowhere")][rank == 1]
    try:
        ShardedSampler("rs2", read, total=COUNT)
    except (FileNotFoundError, rcap.InvalidArgument) as error:
        assert rank == 1 or "rank 1 could not read its labels" in str(error)
    else:
        raise AssertionError("nobody said what is missing")
    refused(lambda: ShardedSampler("rs2", labels + 5 * rank, class_count=5), "5")
    refused(lambda: ShardedSampler("rs2", labels, total=COUNT), "give total with a function")
    refused(lambda: ShardedSampler("kakurenbo", labels, epochs=3), "kakurenbo")
    sampler = make("rcap")
    mine = list(sampler)
    of_others = sorted(set(range(COUNT)) - set(mine))[:1]
    refused(lambda: sampler.observe(of_others, torch.ones(1)), f"sample {of_others[0]} was not handed to this rank")
    refused(lambda: sampler.observe(mine[:1], torch.full((1,), torch.nan)), "has a loss that is negative or not")
    sampler.observe(mine[:1], torch.ones(1))
    refused(sampler.state_dict, "call synchronize() on all ranks first")
    sampler.synchronize()
    refused(sampler.report, "does not know the classes")
    refused(sampler.select_ahead, "select together")
    refused(lambda: sampler.load_state_dict({}), 'it has no "common"')
    refused(lambda: sampler.set_epoch(1) if rank else sampler.observe_classes([1] * 5), "the ranks are out of step")
    assert size > 1


JOBS = {"equal": equal, "stays": stays, "save": save, "load": load, "mistakes": mistakes}

if __name__ == "__main__":
    refused(lambda: ShardedSampler("rs2", LABELS), "torch.distributed is not initialised")
    dist.init_process_group("gloo")
    dist.barrier()
    for job in sys.argv[2:]:
        JOBS[job](pathlib.Path(sys.argv[1]))
    dist.barrier()
    dist.destroy_process_group()
