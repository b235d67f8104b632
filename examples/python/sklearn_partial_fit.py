#!/usr/bin/env python3
"""rcap with scikit-learn: SGDClassifier.partial_fit on what the pruner selects. No PyTorch is needed.

Each epoch fits on the selected samples and then gives the pruner their losses.
"""

import numpy as np
from sklearn.linear_model import SGDClassifier

import rcap
from toy_data import CLASSES, make_data, options, report


def log_losses(model, x, y):
    """The loss of each sample, as in SGDClassifier: logistic, one class against the others, summed over classes."""
    signs = np.where(np.arange(CLASSES) == y[:, None], 1, -1)
    return np.logaddexp(0, -signs * model.decision_function(x)).sum(1)


def train(model, x, y, pruner, epochs):
    """Returns how many samples the classifier has seen."""
    seen = 0
    for epoch in range(epochs):
        selection = pruner.select(epoch)
        ids = selection.ids
        model.partial_fit(x[ids], y[ids], classes=np.arange(CLASSES), sample_weight=selection.weights)
        pruner.observe(ids, log_losses(model, x[ids], y[ids]))
        seen += len(ids)
    return seen


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    pruners = {
        "full": rcap.Full(y, seed=chosen.seed),
        "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        model = SGDClassifier(loss="log_loss", random_state=chosen.seed, average=True)
        seen = train(model, x, y, pruner, chosen.epochs)
        report(name, seen, model.predict(test_x), test_y)


if __name__ == "__main__":
    main()
