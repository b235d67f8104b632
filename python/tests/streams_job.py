"""What both ranks of test_filtered_ranks.py run, under torchrun."""

import pathlib
import signal
import sys
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

import rcap
from ranks import check_same_state, of_all_ranks
from rcap.torch import EvenBatches, Filtered, FilterStage, PruningSampler, with_ids
from streams import Shards, make_loader, train, write_tars
from training import BATCH, DYNAMIC, EPOCHS, LABELS, losses_of, make_sampler

FOLDER = pathlib.Path(sys.argv[-1])


class Uneven(Shards):
    """Rank 1 has only the last samples."""

    def __init__(self, of_rank_1=30):
        super().__init__()
        self.cut = len(LABELS) - of_rank_1

    def __iter__(self):
        ids = range(self.cut) if dist.get_rank() == 0 else range(self.cut, len(LABELS))
        return ((torch.tensor([id]), id) for id in ids)


class Whole(Shards):
    def __iter__(self):
        return ((torch.tensor([id]), id) for id in range(len(LABELS)))


def alone(method):
    """The run of one process: the ids of each epoch, and the state."""
    pruner = rcap.make_pruner(method, LABELS, pruning_rate=0.6, seed=5, **DYNAMIC[method])
    if pruner.needs_initial_losses:
        ids = torch.arange(len(LABELS)).numpy()
        pruner.observe(ids, losses_of(ids, 7).numpy())
    epochs = []
    for epoch in range(EPOCHS):
        epochs.append(pruner.select(epoch).ids)
        pruner.observe(epochs[-1], losses_of(epochs[-1], epoch).numpy())
    return [ids.tolist() for ids in epochs], pruner.state()


def check_together(seen, sampler, expected):
    parts = of_all_ranks(seen)
    for epoch, ids in enumerate(expected[0]):
        assert sorted(set(parts[0].get(epoch, [])) | set(parts[1].get(epoch, []))) == ids
    assert sampler.pruner.state() == expected[1]
    check_same_state(sampler.pruner)


def exactly():
    """Two ranks, each with its own shards, end where one process ends."""
    for method in DYNAMIC:
        expected = alone(method)
        for workers in (0, 2) if method == "infobatch" else (0,):
            sampler = make_sampler(method)
            seen = train(sampler, make_loader(Shards(), sampler, workers))
            check_together(seen, sampler, expected)
            counts = of_all_ranks(sum(map(len, seen.values())))
            assert sum(counts) == sum(map(len, expected[0]))  # nothing twice


def stop():
    """Leaves states for another number of ranks."""
    for method in ("rcap", "infobatch"):
        sampler = make_sampler(method)
        train(sampler, make_loader(Shards(), sampler), stop=(1, 3))
        if dist.get_rank() == 0:
            torch.save(sampler.state_dict(), FOLDER / f"{method}.pt")
        assert 0 < sampler.pruner.pending_count < len(sampler.pruner.select(1).ids)


def webdataset():
    wds = pytest.importorskip("webdataset")
    if dist.get_rank() == 0:
        write_tars(FOLDER, {"npy": np.arange(len(LABELS))[:, None]})
    dist.barrier()
    sampler = make_sampler("rcap")
    stream = wds.WebDataset(sorted(map(str, FOLDER.glob("*.tar"))), shardshuffle=False,
                            nodesplitter=wds.split_by_node)
    stream = stream.compose(FilterStage(sampler, lambda sample: int(sample["__key__"]))).decode()
    stream = stream.to_tuple("npy", "__key__").map_tuple(torch.as_tensor, int)
    loader = wds.WebLoader(stream, batch_size=BATCH, num_workers=2, collate_fn=with_ids())
    check_together(train(sampler, loader), sampler, alone("rcap"))


def same_shards():
    """Ranks that read the same shards are told, all of them."""
    sampler = make_sampler("rcap")
    with pytest.raises(rcap.InvalidArgument, match=r"(\d+) of \d+ samples were observed by more than one rank"):
        train(sampler, make_loader(Whole(), sampler))
    sampler = make_sampler("rcap")
    seen = train(sampler, make_loader(Whole(), sampler, repeats="first"))
    check_together(seen, sampler, alone("rcap"))
    assert len(set(map(str, of_all_ranks(seen)))) == 1  # both trained on everything


def repeated_after_an_exchange():
    """A sample that another rank has observed before the last exchange may come again where repeats are taken."""
    for repeats in ("first", "raise"):
        sampler = make_sampler("rcap")
        make_loader(Whole(), sampler, repeats=repeats)
        sampler.set_epoch(0)
        ids = sampler.pruner.select(0).ids
        for rank in range(2):
            if dist.get_rank() == rank:
                sampler.observe(ids[:5], losses_of(ids[:5], 0) + rank)
            if repeats == "raise" and rank == 1:
                with pytest.raises(rcap.InvalidArgument, match=r"5 of 5 samples .* the first is \d+; let each rank"):
                    sampler.synchronize()
            else:
                sampler.synchronize()
        assert sampler.pruner.pending_count == len(ids) - 5


def model_of():
    torch.manual_seed(0)
    return DistributedDataParallel(torch.nn.Linear(1, 1))


def train_model(sampler, batches, model):
    """Trains an epoch; returns how many batches this rank has made."""
    count = 0
    for values, ids in batches:
        losses = (model(values.float()).flatten() * 0).square() + losses_of(ids, sampler.epoch)
        sampler.observe(ids, losses).backward()
        count += 1
    return count


def even():
    """DistributedDataParallel goes through epochs of which the ranks have parts of different sizes."""
    expected = alone("rcap")
    for workers in (0, 1):
        sampler, model = make_sampler("rcap"), model_of()
        loader = make_loader(Uneven(), sampler, workers)
        for epoch in range(EPOCHS):
            sampler.set_epoch(epoch)
            counts = of_all_ranks(train_model(sampler, EvenBatches(loader, sampler), model))
            own = [id for id in expected[0][epoch] if id < len(LABELS) - 30]
            assert counts == [-(-len(own) // BATCH)] * 2
        sampler.synchronize()
        assert sampler.epoch_done and sampler.pruner.state() == expected[1]


def joined():
    """PyTorch's own way out."""
    sampler, model = make_sampler("rcap"), model_of()
    loader = make_loader(Uneven(), sampler)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        with Join([model]):
            count = train_model(sampler, loader, model)
        counts = of_all_ranks(count)
        assert counts[0] > counts[1]
    sampler.synchronize()
    assert sampler.pruner.state() == alone("rcap")[1]


def stops():
    sampler, model = make_sampler("rcap"), model_of()
    loader = make_loader(Uneven(), sampler)
    sampler.set_epoch(0)
    count = train_model(sampler, EvenBatches(loader, sampler, "stop"), model)
    counts = of_all_ranks(count)
    assert counts[0] == counts[1] > 0
    with pytest.warns(RuntimeWarning, match=r"epoch 0: \d+ of \d+ samples that it keeps were never observed"):
        sampler.set_epoch(1)


def nothing_to_repeat():
    sampler = make_sampler("rcap")
    loader = make_loader(Uneven(of_rank_1=0), sampler)
    sampler.set_epoch(0)
    with pytest.raises(rcap.InvalidArgument, match="rank 1 has no batch in epoch 0, so it has nothing to repeat"):
        list(EvenBatches(loader, sampler))
    assert list(EvenBatches(loader, sampler, "stop")) == []


def fails():
    """A rank whose loader fails ends the other, too."""
    sampler, fails = make_sampler("rs2"), dist.get_rank() == 1
    loader = make_loader(Shards(wrong=dict.fromkeys(range(100, 130), 205) if fails else {}), sampler)
    sampler.set_epoch(0)
    text = "sample 205 is not in the filter" if fails else "the loader of rank 1 raised an exception"
    with pytest.raises((rcap.InvalidArgument, RuntimeError), match=text):
        list(EvenBatches(loader, sampler))


def before_the_ranks():
    """A sampler that was made before there were ranks is no use to them."""
    with pytest.raises(rcap.InvalidArgument, match="it was made for 1 ranks, now there are 2; make it after"):
        made_before.set_epoch(0)


JOBS = [exactly, stop, webdataset, same_shards, repeated_after_an_exchange, even, joined, stops, nothing_to_repeat,
        fails, before_the_ranks]

if __name__ == "__main__":
    signal.alarm(200)  # a rank that waits for one that has failed ends then, too
    warnings.simplefilter("error", RuntimeWarning)
    warnings.filterwarnings("ignore", "infobatch trains on what its own rule leaves")
    made_before = PruningSampler(rcap.RS2(LABELS))
    Filtered(Shards(), made_before)
    dist.init_process_group("gloo")
    dist.barrier()
    for job in JOBS:
        job()
        dist.barrier()
    dist.destroy_process_group()
