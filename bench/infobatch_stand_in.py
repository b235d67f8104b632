"""InfoBatch's sampler and update, rewritten with NumPy and torch: what `bench/python.py` compares with.

The method is that of docs/algorithm.md: a random part of the samples below the mean loss is left out, the rest of them
get higher weights, and losses are stored as they come. Two forms:

- "lists": ids are gathered and shuffled as a Python list, as in the published package;
- "arrays": ids stay NumPy arrays until they are handed out, the best that a careful user would do.

Neither form checks its input, can be resumed, or gives the same selection again.
"""

import numpy as np
import torch


class InfoBatchSampler:
    """Yields the ids of an epoch; `update` records losses and returns their weighted mean."""

    def __init__(self, samples, form, prune_probability=0.5, seed=0):
        self._scores = torch.full((samples,), 3.0)
        self._weights = torch.ones(samples)
        self._kept_part = 1 - prune_probability
        self._shuffled = {"lists": self._as_list, "arrays": self._as_array}[form]
        self._legacy = np.random.RandomState(seed)
        self._rng = np.random.default_rng(seed)
        self._count = samples

    def __len__(self):
        return self._count

    def __iter__(self):
        low = (self._scores < self._scores.mean()).numpy()
        easy, hard = np.flatnonzero(low), np.flatnonzero(~low)
        kept_count = int(self._kept_part * len(easy))
        self._weights.fill_(1)
        ids, kept = self._shuffled(easy, hard, kept_count)
        self._weights[torch.from_numpy(kept)] = 1 / self._kept_part
        self._count = len(ids)
        return iter(ids)

    def _as_list(self, easy, hard, kept_count):
        kept = self._legacy.choice(easy, kept_count, replace=False)
        ids = hard.tolist()
        ids.extend(kept)
        self._legacy.shuffle(ids)
        return ids, kept

    def _as_array(self, easy, hard, kept_count):
        kept = self._rng.choice(easy, kept_count, replace=False, shuffle=False)
        ids = np.concatenate([hard, kept])
        self._rng.shuffle(ids)
        return ids.tolist(), kept

    def update(self, ids, losses):
        self._scores[ids] = losses.detach()
        return (losses * self._weights[ids]).mean()
