"""What rcap.lightning and rcap.hf share: a sampler whose epochs a framework counts."""

import math

import numpy as np
from torch.utils.data import DataLoader

from .torch import PruningSampler, wants_initial_losses


class SteeredSampler(PruningSampler):
    """A sampler that leaves counting to a framework.

    Frameworks ask for the length of a loader at any time, count the batches of a resumed epoch from its beginning, and
    make iterators that they throw away. So here the length is that of a whole epoch, also when a part of it is done,
    and only `set_epoch` begins the next one.
    """

    def __init__(self, pruner, *, batch_size=None, group=None):
        super().__init__(pruner, batch_size=batch_size, group=group)
        self._group = group

    def join(self):
        """Takes its place among the ranks: a framework may start them after the sampler was made. All must call it."""
        super().__init__(self.pruner, batch_size=self._batch_size, group=self._group)

    @property
    def any_observed(self):
        """Whether this rank has given the loss of any sample of the epoch, or knows one from another rank."""
        return self._observed > 0 or (
            self._selection is not None and self.pruner.pending_count < len(self._selection.ids))

    @property
    def under_way(self):
        """Whether some samples of this epoch have been observed, and others have yet to be trained."""
        return self.any_observed and not self.epoch_done

    @property
    def epoch_done(self):
        """Whether all that this epoch trains on has been observed."""
        return self._selection is not None and len(self._part(super()._remaining())) == 0

    def batches_done(self, batch_size):
        """How many batches of the epoch have been trained."""
        rest = len(self._part(super()._remaining()))
        return math.ceil(len(self) / batch_size) - math.ceil(rest / batch_size)

    def __len__(self):
        if wants_initial_losses(self.pruner):
            return self._planned_length(self._epoch)
        return len(self._part(self._whole()))

    def __iter__(self):
        self._ended = False
        return super().__iter__()

    def _whole(self):
        if self._selection is None:
            self._select()
        return self._selection.ids


def keeps_length(pruner):
    """Whether all epochs of a method are equally long."""
    first = pruner.planned_batches(1, 1)
    return first is not None and pruner.planned_batches(2, 1) == 2 * first


def initial_loader(dataset, sampler, **options):
    """A loader of this rank's part of the pass before training, in random order: a network may normalise by batch."""
    order = np.random.default_rng(sampler.pruner.seed).permutation(sampler.pruner.sample_count)
    part = order[sampler._ranks.rank::sampler._ranks.size].tolist()
    return DataLoader(dataset, sampler=part, **options)
