"""A pruner whose data set is cut into shards: the crossing between Python's exchange and the core."""

import threading

import numpy as np
import pytest

import rcap
from rcap import _core

RANKS = 3
TOTAL = 1000
CLASSES = 5


class ThreadExchange:
    """An exchange between threads of this process."""

    def __init__(self, ranks, rank):
        self.rank, self.size = rank, len(ranks.slots)
        self._ranks = ranks

    def _meet(self, mine):
        self._ranks.slots[self.rank] = mine
        self._ranks.barrier.wait(timeout=60)
        everyone = list(self._ranks.slots)
        self._ranks.barrier.wait(timeout=60)
        return everyone

    def all_reduce(self, numbers, op):
        everyone = np.stack(self._meet(numbers.copy()))
        numbers[:] = everyone.sum(axis=0) if op == "sum" else everyone.max(axis=0)

    def all_gather(self, data):
        return self._meet(data.copy())

    def all_to_all(self, parts):
        everyone = self._meet([part.copy() for part in parts])
        return [theirs[self.rank] for theirs in everyone]


class Ranks:
    """Calls a function for every rank, each in a thread."""

    def __init__(self, count=RANKS):
        self.slots = [None] * count
        self.barrier = threading.Barrier(count)

    def run(self, work):
        results, errors = {}, {}

        def one(rank):
            try:
                results[rank] = work(ThreadExchange(self, rank))
            except Exception as error:
                errors[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(len(self.slots))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [results.get(rank) for rank in range(len(self.slots))], errors


LABELS = np.random.default_rng(3).integers(0, CLASSES, TOTAL).astype(np.int32)


def losses_of(ids, epoch):
    return ((ids * 7919 + epoch * 104729) % 1000 / 500).astype(np.float32)


def make(exchange, method="rcap", **options):
    first, count = _core.shard_range(TOTAL, exchange.size, exchange.rank)
    return _core.ShardedPruner(method, LABELS[first:first + count], first_id=first, total=TOTAL, exchange=exchange,
                               **{"class_count": CLASSES, "pruning_rate": 0.7, "seed": 4} | options)


def train(pruner, epochs):
    parts = []
    for epoch in range(epochs):
        ids, weights = pruner.select(epoch)
        parts.append((ids, weights))
        pruner.observe(ids, losses_of(ids, epoch))
    return parts


def alone(epochs):
    pruner = rcap.RCAP(LABELS, pruning_rate=0.7, seed=4)
    orders = []
    for epoch in range(epochs):
        orders.append(pruner.select_in_order(epoch).ids)
        pruner.observe(orders[-1], losses_of(orders[-1], epoch))
    return pruner, orders


def test_batches_are_those_of_one_process():
    _, orders = alone(3)
    parts, errors = Ranks().run(lambda exchange: train(make(exchange), 3))
    assert not errors
    for epoch, order in enumerate(orders):
        for rank in range(RANKS):
            assert np.array_equal(parts[rank][epoch][0], order[rank::RANKS])


def test_state_goes_to_one_process_and_back():
    pruner, _ = alone(2)

    def work(exchange):
        sharded = make(exchange)
        train(sharded, 2)
        gathered = sharded.gather_state()
        rows = sharded.shard_state()
        again = make(exchange)
        again.set_shard_state(rows)
        from_one = make(exchange)
        from_one.set_state(pruner.state())
        return gathered, again.select(2)[0], from_one.select(2)[0], sharded.pending_count()

    results, errors = Ranks().run(work)
    assert not errors
    gathered = [result[0] for result in results]
    assert gathered == [pruner.state(), None, None]
    order = pruner.select_in_order(2).ids
    for rank, (_, from_rows, from_one, pending) in enumerate(results):
        assert np.array_equal(from_rows, order[rank::RANKS])
        assert np.array_equal(from_one, order[rank::RANKS])
        assert pending == 0


def test_files_are_those_of_one_process(tmp_path):
    pruner, _ = alone(2)
    pruner.save(tmp_path / "alone.rcap")

    def work(exchange):
        sharded = make(exchange)
        sharded.load(tmp_path / "alone.rcap")
        sharded.save(tmp_path / "together.rcap")

    assert not Ranks().run(work)[1]
    assert (tmp_path / "together.rcap").read_bytes() == (tmp_path / "alone.rcap").read_bytes()


def test_locality_keeps_samples_where_they_are():
    def work(exchange):
        sharded = make(exchange)
        ids, _ = sharded.select(0, locality="shard")
        here = (ids >= sharded.first_id) & (ids < sharded.first_id + sharded.count)
        return ids, here.mean()

    results, errors = Ranks().run(work)
    assert not errors
    _, orders = alone(1)
    assert np.array_equal(np.sort(np.concatenate([ids for ids, _ in results])), np.sort(orders[0]))
    assert min(part for _, part in results) > 0.6  # everywhere it would be a third


@pytest.mark.parametrize(("change", "says"), [
    ({"seed": 5}, "seed=5 on rank 1"),
    ({"pruning_rate": 0.5}, "pruning_rate=0.5 on rank 1"),
    ({"class_count": 6}, "class_count is 6 on rank 1"),
    ({"method": "rs2"}, "method is rs2 on rank 1"),
])
def test_ranks_that_differ_are_told_so(change, says):
    _, errors = Ranks().run(lambda exchange: make(exchange, **(change if exchange.rank == 1 else {})))
    assert len(errors) == RANKS
    assert all(isinstance(error, rcap.InvalidArgument) and says in str(error) for error in errors.values())


def test_a_loss_that_its_owner_refuses_is_refused_everywhere():
    def work(exchange):
        sharded = make(exchange)
        ids, _ = sharded.select(0)
        sharded.observe(ids, losses_of(ids, 0))
        if exchange.rank == 2:
            sharded.observe(ids[:1], losses_of(ids[:1], 0))
        sharded.exchange_losses()

    _, errors = Ranks().run(work)
    assert len(errors) == RANKS
    assert all("observed before" in str(error) for error in errors.values())


def test_an_exchange_that_fails_ends_the_pruner():
    class Broken(ThreadExchange):
        fails = False

        def all_reduce(self, numbers, op):
            if self.fails:
                raise ConnectionError("the network is gone")
            super().all_reduce(numbers, op)

    ranks = Ranks(1)
    sharded = make(Broken(ranks, 0))
    assert len(sharded.select(0)[0]) == sharded.keep_count == sharded.selected_count  # alone it exchanges nothing
    assert sharded.bytes_exchanged == 0

    def work(exchange):
        exchange.__class__ = Broken
        pruner = make(exchange)
        exchange.fails = True
        with pytest.raises(ConnectionError, match="the network is gone"):
            pruner.select(0)
        with pytest.raises(rcap.InternalError, match="load the last state"):
            pruner.select(0)

    assert not Ranks(2).run(work)[1]


def test_other_methods_name_those_that_can():
    with pytest.raises(rcap.InvalidArgument, match="seta cannot select from shards; rcap, "):
        make(ThreadExchange(Ranks(1), 0), "seta", epochs=4)
