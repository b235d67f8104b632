"""What every rank of test_distributed.py runs, under torchrun: the jobs named, one after the other."""

import contextlib
import copy
import functools
import gc
import itertools
import os
import pathlib
import signal
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import rcap
from rcap.torch import Indexed, PruningBatchSampler, PruningSampler, _host, initial_losses
from ranks import of_all_ranks
from training import BATCH, DYNAMIC, EPOCHS, LABELS, Stopped, given, losses_of, make_sampler, train

POINTS = {
    "start": [lambda epoch, done, batches: epoch == 1 and done == 0],
    "middle": [lambda epoch, done, batches: epoch == 1 and done == batches // 2],
    "last batch": [lambda epoch, done, batches: epoch == 1 and done == batches - 1],
    "end of epoch": [lambda epoch, done, batches: epoch == 1 and done == batches],
    "twice in one epoch": [lambda epoch, done, batches: epoch == 1 and done == 1] * 2}


def together(seen):
    """The batches of all ranks: ids trained in an epoch, repeats that fill up included."""
    found = of_all_ranks(seen)
    epochs = set().union(*found)
    return {epoch: [id for part in found for batch in part.get(epoch, []) for id in batch] for epoch in epochs}


def make_pruner(method):
    return rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method])


def fresh(method, **options):
    return PruningSampler(given(lambda: make_pruner(method)), **options)


def state_of(sampler):
    """The state that rank 0 has: all of them load it."""
    return of_all_ranks(sampler.state_dict())[0]


def pruner_state(sampler):
    return state_of(sampler)["pruner"].numpy().tobytes()


def run_matrix(_):
    """Every way to stop and go on ends as if never stopped."""
    # Workers know nothing of ranks, so two ranks are enough to try them.
    for method, workers in itertools.product(DYNAMIC, (0, 2) if dist.get_world_size() == 2 else (0,)):
        whole = make_sampler(method)
        expected = together(train(whole, workers))
        for point, stops in POINTS.items():
            sampler, first = make_sampler(method), 0
            for stop in stops:
                with contextlib.suppress(Stopped):
                    train(sampler, workers, stop, first)
                state = state_of(sampler)
                sampler = fresh(method)
                sampler.load_state_dict(state)
                first = sampler.epoch
            rest = together(train(sampler, workers, None, first))
            where = (method, workers, point)
            assert sorted(rest.get(2, [])) == sorted(expected.get(2, [])), where
            assert pruner_state(sampler) == pruner_state(whole), where


def run_once(folder):
    """One training; rank 0 leaves the state of its end, and what was trained."""
    for method in DYNAMIC:
        sampler = make_sampler(method)
        seen = together(train(sampler))
        priors = of_all_ranks(sampler.log_prior().tolist())
        assert all(prior == priors[0] for prior in priors), method
        if dist.get_rank() == 0:
            torch.save({"state": sampler.pruner.state(), "seen": seen}, folder / f"{method}-{dist.get_world_size()}.pt")


def stop_in_the_middle(folder):
    for method in DYNAMIC:
        sampler = make_sampler(method)
        with contextlib.suppress(Stopped):
            train(sampler, 0, POINTS["middle"][0])
        if dist.get_rank() == 0:
            torch.save(sampler.state_dict(), folder / f"{method}-middle.pt")


def go_on(folder):
    """Goes on with another number of ranks."""
    for method in DYNAMIC:
        sampler = fresh(method)
        sampler.load_state_dict(torch.load(folder / f"{method}-middle.pt"))
        train(sampler, 0, None, sampler.epoch)
        expected = torch.load(folder / f"{method}-3.pt")["state"]
        assert pruner_state(sampler) == expected, method


def crash_once(folder):
    """Rank 1 is killed; torchrun starts both ranks again, which go on from the checkpoint."""
    sampler, first = make_sampler("rcap"), 0
    checkpoint = folder / "checkpoint.pt"
    killed_before = checkpoint.exists()
    dist.barrier()
    if killed_before:
        sampler.load_state_dict(torch.load(checkpoint))
        first = sampler.epoch

    def save_and_crash(epoch, done, batches):
        if epoch == 1 and done in (2, 3) and not killed_before:
            sampler.synchronize()
            if dist.get_rank() == 0 and done == 2:
                torch.save(sampler.state_dict(), folder / "new.pt")
                os.replace(folder / "new.pt", checkpoint)
            dist.barrier()
            if dist.get_rank() == 1 and done == 3:
                os.kill(os.getpid(), signal.SIGKILL)
        return False

    train(sampler, 0, save_and_crash, first)
    assert killed_before
    whole = make_sampler("rcap")
    train(whole)
    assert pruner_state(sampler) == pruner_state(whole)


def refused(action, text):
    try:
        action()
    except rcap.Error as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nobody said: {text}")


def disagree(folder):
    """Ranks with different seeds, options or labels find out at once; so do ranks that load different states."""
    rank = dist.get_rank()
    refused(lambda: PruningSampler(rcap.RS2(LABELS, seed=rank)),
            "the ranks disagree on options: rank 0 has seed=0, rank 1 has seed=1; they must be the same")
    refused(lambda: PruningSampler(rcap.RCAP(LABELS, beta=1 + rank)), "the ranks disagree on options")
    refused(lambda: PruningSampler(rcap.RS2(np.roll(LABELS, rank))), "the ranks disagree on labels")
    judge = PruningSampler(rcap.RCAP(LABELS, class_share="robust", initial_loss="log-c"))
    judge.observe_classes([0.1, 0.2, 0.3])
    refused(lambda: judge.observe_classes([0.1, 0.2, 0.3 + rank]), "the ranks disagree on the errors of the classes")
    sampler = make_sampler("rs2")
    state = make_sampler("rs2").state_dict()
    train(sampler)
    if rank == 1:
        sampler.load_state_dict(state)
    refused(sampler.synchronize, "the ranks disagree on epoch: [2, 0]")


def mistakes(folder):
    """What a rank is told when it gives a loss that is not its own."""
    sampler = make_sampler("rcap")
    mine = list(sampler)
    of_others = sorted(set(range(len(LABELS))) - set(mine))[:1]
    one = torch.ones(1)
    refused(lambda: sampler.observe(of_others, one), f"sample {of_others[0]} was not handed to this rank")
    refused(lambda: sampler.observe([len(LABELS)], one),
            f"sample {len(LABELS)} does not exist; ids lie between 0 and 204")
    refused(lambda: sampler.observe([-1], one), "sample -1 does not exist")
    refused(lambda: sampler.observe([*mine[:2], mine[0]], torch.ones(3)),
            f"sample {mine[0]} appears twice in the batch")
    refused(lambda: sampler.observe(mine[:1], one * torch.nan), f"sample {mine[0]} has a loss that is negative or not")
    refused(lambda: sampler.observe(mine[:2], torch.full((2,), torch.inf)),
            f"sample {mine[0]} has a loss that is negative or not finite (also {mine[1]});")
    refused(lambda: sampler.observe(mine[:10], torch.full((10,), -1.0)), f", {mine[8]} and 1 more); nothing")
    refused(lambda: sampler.observe(mine[:2], one), "1 losses for 2 ids")
    sampler.observe(mine[:1], one)
    refused(lambda: sampler.observe(mine[:1], one), f"sample {mine[0]} was observed before in this epoch")
    refused(sampler.state_dict, "call synchronize() on all ranks first")
    sampler.synchronize()
    sampler.state_dict()


def late(folder):
    """Losses that come after the next epoch was asked for are known to all ranks in the end."""
    sampler, twin = make_sampler("ucb"), make_pruner("ucb")
    first = list(sampler)
    sampler.observe(first[:-BATCH], losses_of(first[:-BATCH], 0))
    second = list(sampler)  # a loader that fetches ahead begins the next epoch
    sampler.observe(first[-BATCH:], losses_of(first[-BATCH:], 0))
    sampler.observe(second, losses_of(second, 1))
    sampler.synchronize()
    ids = twin.select_in_order(0).ids
    parts = [np.resize(ids, len(ids) + len(ids) % 2)[rank::2] for rank in range(2)]
    in_time, behind = (np.unique(np.concatenate([part[piece] for part in parts]))
                       for piece in (slice(None, -BATCH), slice(-BATCH, None)))
    behind = np.setdiff1d(behind, in_time)
    twin.observe(in_time, losses_of(in_time, 0).numpy())
    ids = twin.select(1).ids
    twin.observe_late(behind, losses_of(behind, 0).numpy())
    twin.observe(ids, losses_of(ids, 1).numpy())
    assert pruner_state(sampler) == twin.state() and sampler.epoch == 1 and sampler.epoch_done


def skips(folder):
    """A loss that is not finite is left out on all ranks, where that is asked for."""
    sampler = fresh("ucb", bad_losses="keep")
    ids = list(sampler)
    losses = losses_of(ids, 0)
    if dist.get_rank() == 1:
        losses[3] = torch.nan
    sampler.observe(ids, losses)
    sampler.synchronize()
    assert sampler.epoch_done and sampler.pruner.pending_count == 0
    sampler.set_epoch(1)


def ahead(folder):
    """Ranks may select ahead together."""
    expected, sampler = train(make_sampler("ucb")), make_sampler("ucb")
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        ids = list(sampler)
        assert ids == [id for batch in expected[epoch] for id in batch]
        refused(sampler.select_ahead, "have not been observed yet")
        sampler.observe(ids, losses_of(ids, epoch))
        sampler.select_ahead()


def shared_twice(folder):
    """A sampler around the sampler, as frameworks put it there, is found at the first batch."""
    sampler = make_sampler("rcap")
    part = list(sampler)
    ids = [part[place] for place in DistributedSampler(part, shuffle=False)][:BATCH]
    refused(lambda: sampler.observe(ids, losses_of(ids, 0)), "were sharded twice")


def lengths(folder):
    """One rank alone may ask for the length at any time."""
    for method in DYNAMIC:
        sampler = make_sampler(method)
        for epoch in range(EPOCHS):
            asked = None
            if dist.get_rank() == 1:
                try:
                    asked = len(sampler)
                except TypeError as error:
                    assert method == "infobatch" and f"call set_epoch({epoch}) on all ranks first" in str(error)
            ids = list(sampler)
            assert asked in (None, len(ids)), (method, epoch)
            assert len(sampler) == len(ids), (method, epoch)
            sampler.observe(ids, losses_of(ids, epoch))


def initial_pass(folder):
    """The pass before training may be shared out with repeats, or made by all ranks: every sample counts once."""
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 3)
    data = Indexed(TensorDataset(torch.arange(len(LABELS)).float()[:, None] / 100, torch.from_numpy(LABELS)))
    states = []
    for sampler_of in (lambda: None, lambda: DistributedSampler(data, shuffle=False)):
        sampler = PruningSampler(given(lambda: rcap.RCAP(LABELS, initial_loss="forward")))
        loader = DataLoader(data, sampler=sampler_of(), batch_size=10)
        initial_losses(model, loader, sampler)
        assert sampler.pruner.pending_count == 0
        sampler.set_epoch(0)
        states.append(sorted(itertools.chain(*of_all_ranks(list(sampler)))))
    assert len(DistributedSampler(data)) * dist.get_world_size() > len(LABELS)  # there were repeats
    assert states[0] == states[1]


def too_early(_):
    """A sampler made before there were ranks is no use to them."""
    refused(lambda: list(made_before), "it was made for 1 ranks, now there are 2; make it after")


def watch(folder):
    """All ranks report the same, as one process would that sees all losses; a rank may ask alone."""
    sampler = make_sampler("rcap", watch=True)
    alone, times = make_pruner("rcap"), np.zeros(len(LABELS), int)
    alone.observe(np.arange(len(LABELS)), losses_of(np.arange(len(LABELS)), 7).numpy())
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        ids = list(sampler)
        sampler.observe(ids, losses_of(ids, epoch))
        if dist.get_rank() == 1:
            assert (sampler.report().epoch, sampler.report().observed, sampler.report().loss_epoch) == (
                epoch, 0, epoch - 1)  # losses count when they were exchanged
        selected = alone.select(epoch).ids
        alone.observe(selected, losses_of(selected, epoch).numpy())
        times[selected] += 1
    sampler.synchronize()
    found = of_all_ranks(sampler.report().as_dict())
    assert found[0] == found[1]
    report, losses = sampler.report(), losses_of(selected, EPOCHS - 1).double().numpy()
    assert (report.seen, report.observed, report.loss_count) == ((times > 0).sum(), len(selected), len(selected))
    assert report.repeats == times.sum() / (times > 0).sum()
    for number, loss in enumerate(report.class_losses):
        assert abs(loss - losses[LABELS[selected] == number].mean()) < 1e-6, number
    resumed = fresh("rcap", watch=True)
    resumed.load_state_dict(state_of(sampler))
    assert resumed.report().as_dict() == report.as_dict()


def refuse_to_refresh(sampler, ids, losses, text):
    refused(lambda: sampler.observe_refreshed(ids, torch.tensor(losses, dtype=torch.float32)), text)


def refreshes(_):
    """Each rank refreshes its part of what the epoch left out; together they know what one process would."""
    options = {"epochs": 10, "hidden": 0.5, "confidence": 0.5}
    alone = rcap.Kakurenbo(LABELS, seed=5, **options)
    sampler = PruningSampler(given(lambda: rcap.Kakurenbo(LABELS, seed=5, **options)))
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for batch in torch.tensor(list(sampler)).split(BATCH):
            sampler.observe(batch, losses_of(batch.numpy(), epoch))
        selection = alone.select(epoch)
        alone.observe(selection.ids, losses_of(selection.ids, epoch).numpy())
        alone.observe_refreshed(selection.refresh_ids, losses_of(selection.refresh_ids, epoch).numpy())
        own = sampler.refresh_ids
        assert sorted(itertools.chain(*of_all_ranks(own.tolist()))) == selection.refresh_ids.tolist()
        if epoch == 1:
            assert len(selection.refresh_ids) > 0
            refuse_to_refresh(sampler, selection.ids[:1], [1], "not one for this rank")
            refuse_to_refresh(sampler, np.repeat(own[:1], 2), [1, 1], "comes twice")
            refuse_to_refresh(sampler, own[:1], [-1], "finite loss >= 0")
        sampler.observe_refreshed(own, losses_of(own, epoch))
        assert len(sampler.refresh_ids) == 0
        sampler.synchronize()
        assert pruner_state(sampler) == alone.state(), epoch


def shares(_):
    """One rank of a host makes the pruner, the others read what it selects, and know what a loop asks for."""
    made = []

    def make(method, options):
        made.append(method)
        return rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **options)

    plans = {**DYNAMIC, "dropout": {"epochs": 4, "rule": "srd"}, "kakurenbo": {"epochs": 3},
             "infobatch": {"epochs": 3, "batch_size": 16}, "seta": {"epochs": 3}}
    for method, options in plans.items():
        sampler = PruningSampler(functools.partial(make, method, options))
        alone = rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **options)
        for epochs, batch_size in itertools.product((0, 1, 2, 3, 4, 9), (1, 7, 16)):
            found = sampler.pruner.planned_batches(epochs, batch_size)
            assert found == alone.planned_batches(epochs, batch_size), (method, epochs, batch_size)
        known = [(each.method, each.options, each.keep_count, each.pending_ids().tolist(), each.log_prior().tolist())
                 for each in (sampler.pruner, alone)]
        assert known[0] == known[1]
    leads = isinstance(sampler.pruner, rcap.Pruner)
    assert made == (list(plans) if leads else [])
    assert of_all_ranks(leads) == [True, False, True][:dist.get_world_size()]
    if leads:
        return
    try:
        sampler.pruner.select(0)
    except AttributeError as error:
        assert "pruner.select: rank 0 holds the pruner of this host" in str(error)
    else:
        raise AssertionError("selected")


def share_mistakes(_):
    """What goes wrong where the pruner is, all ranks are told."""
    refused(lambda: PruningSampler(lambda: rcap.RCAP(LABELS, pruning_rate=2)), "pruning_rate is 2")
    refused(lambda: PruningSampler(lambda: LABELS), "the pruner is ndarray; give a pruner, such as")
    own = [lambda: rcap.RS2(LABELS), rcap.RS2(LABELS)][dist.get_rank() % 2]
    refused(lambda: PruningSampler(own), "the ranks disagree on whether it is given a function")
    sampler = fresh("ucb")
    refused(lambda: sampler.observe_classes([1, 2]), "observe_classes")
    refused(lambda: sampler.load_state_dict({"pruner": torch.empty(0, dtype=torch.uint8)}), "load what rank 0 saved")
    refused(lambda: sampler.load_state_dict(state_of(fresh("rs2"))), "rs2")
    sampler.set_epoch(0)
    assert len(list(sampler)) > 0


def share_copies(_):
    """A copy of a sampler goes on as the original."""
    whole = train(make_sampler("rcap"))
    sampler = make_sampler("rcap")
    with contextlib.suppress(Stopped):
        train(sampler, 0, POINTS["middle"][0])
    copied = copy.deepcopy(sampler)
    train(sampler, 0, None, 1)
    rest = train(copied, 0, None, 1)
    assert rest[2] == whole[2] and pruner_state(copied) == pruner_state(sampler)


def memory_of_host():
    """In bytes, what all ranks together hold: of a page that several share, each counts its part."""
    gc.collect()
    dist.barrier()
    lines = pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines()
    own = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    total = torch.tensor(own)
    dist.all_reduce(total)
    return int(total)


def most_memory(sampler):
    """The largest memory of the host in two epochs."""
    found = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        handed_out = sampler._make_pass().batches(4096, False)  # without a loader, which would be most of the time
        found.append(memory_of_host())
        for ids in handed_out:
            sampler.observe(ids, torch.ones(len(ids)))
        found.append(memory_of_host())
        sampler.synchronize()
    return max(*found, memory_of_host())


def memory(_):
    """Ranks that share a pruner hold hardly more together than one rank alone."""
    count = 10_000_000
    make = functools.partial(make_large_pruner, count)
    fresh("rcap")  # whatever a first sampler loads
    alone = dist.new_group([0])
    before = memory_of_host()
    # One rank trains on everything, the others wait beside it.
    sampler = PruningSampler(make(), group=alone) if dist.get_rank() == 0 else Idle()
    of_one = most_memory(sampler) - before
    del sampler
    before = memory_of_host()
    of_all = most_memory(PruningSampler(make)) - before
    assert of_one > 6 * count  # it was seen
    assert of_all < 1.3 * of_one, (of_all, of_one)
    if dist.get_rank() == 0:
        print(f"memory of one rank {of_one / 1e6:.1f} MB, of {dist.get_world_size()} that share {of_all / 1e6:.1f} MB")


def make_large_pruner(count):
    return rcap.RCAP((np.arange(count) % 1000).astype(np.int16), pruning_rate=0.9)


class Idle:
    """In place of a sampler, on a rank that does nothing."""

    def _make_pass(self):
        return self

    def batches(self, *_):
        return iter(())

    def __getattr__(self, name):
        return lambda *_: None


def windows(folder):
    """Windows of 4 steps: the ids of every step, of all ranks; resuming in mid-window changes nothing."""
    batch_size = BATCH // dist.get_world_size()

    def fresh_windows():
        return PruningSampler(given(lambda: rcap.RCAP(LABELS, seed=5, max_repeats=1)), batch_size=batch_size,
                              window_steps=4)

    def steps_of(sampler, most=None):
        seen = []
        for ids in itertools.islice(PruningBatchSampler(sampler, batch_size), most):
            sampler.observe(ids, losses_of(ids, sampler.window))
            seen.append(sorted(id for part in of_all_ranks(ids.tolist()) for id in part))
        sampler.synchronize()
        return seen

    whole = fresh_windows()
    expected = steps_of(whole)
    assert len(expected) == 24
    for done in (4, 6, 15):
        stopped = fresh_windows()
        assert steps_of(stopped, done) == expected[:done]
        resumed = fresh_windows()
        resumed.load_state_dict(stopped.state_dict())
        assert resumed.batches_done(batch_size) == done
        assert steps_of(resumed) == expected[done:]
        assert torch.equal(resumed.state_dict()["pruner"], whole.state_dict()["pruner"])
    if dist.get_rank() == 0:
        torch.save({"steps": expected, "state": whole.pruner.state()}, folder / "windows.pt")


JOBS = {"once": run_once, "stop": stop_in_the_middle, "go-on": go_on, "crash": crash_once, "disagree": disagree,
        "mistakes": mistakes, "late": late, "skips": skips, "ahead": ahead, "shared twice": shared_twice,
        "lengths": lengths, "initial": initial_pass, "watch": watch, "refreshes": refreshes,
        "early": too_early, "matrix": run_matrix, "shares": shares, "share mistakes": share_mistakes,
        "share copies": share_copies,
        "memory": memory, "windows": windows}

if __name__ == "__main__":
    made_before = PruningSampler(rcap.RS2(LABELS))
    dist.init_process_group("gloo")
    if "RCAP_TEST_HOSTS" in os.environ:  # as if so many ranks ran on each host
        ranks_per_host = int(os.environ["RCAP_TEST_HOSTS"])
        _host.identity = lambda: f"host {dist.get_rank() // ranks_per_host}"
    dist.barrier()  # a rank that ends at once would close connections that the others have yet to make
    for job in sys.argv[2:]:
        JOBS[job](pathlib.Path(sys.argv[1]))
    dist.destroy_process_group()
