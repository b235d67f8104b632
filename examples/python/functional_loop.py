#!/usr/bin/env python3
"""rcap in a functional loop, as in JAX: pure functions, all state in one value. Needs only NumPy.

`train_epoch` takes a state and returns the next one. The pruner's state is part of it, as bytes: a run can continue
from any state that was kept, with the same results.
"""

from typing import NamedTuple

import numpy as np

import rcap
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE, HIDDEN, RATE, MOMENTUM = 32, 64, 0.05, 0.9


class State(NamedTuple):
    epoch: int
    params: tuple  # weights and biases of two layers
    velocity: tuple
    pruner: bytes


def init_params(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(FEATURES, HIDDEN)) / np.sqrt(FEATURES), np.zeros(HIDDEN),
            rng.normal(size=(HIDDEN, CLASSES)) / np.sqrt(HIDDEN), np.zeros(CLASSES))


def forward(params, x):
    """The hidden layer and log probabilities."""
    w1, b1, w2, b2 = params
    hidden = np.maximum(x @ w1 + b1, 0)
    logits = hidden @ w2 + b2
    return hidden, logits - np.log(np.exp(logits).sum(1, keepdims=True))


def losses_and_gradients(params, x, y, weights):
    """The loss of each sample, and the gradients of their weighted mean."""
    hidden, log_probabilities = forward(params, x)
    at_logits = (np.exp(log_probabilities) - np.eye(CLASSES)[y]) * weights[:, None] / len(y)
    at_hidden = (at_logits @ params[2].T) * (hidden > 0)
    gradients = x.T @ at_hidden, at_hidden.sum(0), hidden.T @ at_logits, at_logits.sum(0)
    return -log_probabilities[np.arange(len(y)), y], gradients


def train_epoch(state, pruner, x, y):
    """The next state, and how many samples it trained on. The pruner only computes: its state comes with the rest."""
    pruner.set_state(state.pruner)
    params, velocity = state.params, state.velocity
    selection = pruner.select_in_order(state.epoch)
    order, weights = selection.ids, selection.weights
    if weights is None:  # all are 1
        weights = np.ones(len(order))
    for first in range(0, len(order), BATCH_SIZE):
        batch = slice(first, first + BATCH_SIZE)
        ids = order[batch]
        losses, gradients = losses_and_gradients(params, x[ids], y[ids], weights[batch])
        pruner.observe(ids, losses)
        velocity = tuple(MOMENTUM * v - RATE * g for v, g in zip(velocity, gradients, strict=True))
        params = tuple(p + v for p, v in zip(params, velocity, strict=True))
    return State(state.epoch + 1, params, velocity, pruner.state()), len(order)


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    for name, pruner in {
            "full": rcap.Full(y, seed=chosen.seed),
            "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}.items():
        params = init_params(chosen.seed)
        if pruner.needs_initial_losses:
            pruner.observe(np.arange(len(y)), losses_and_gradients(params, x, y, np.ones(len(y)))[0])
        state, seen = State(0, params, tuple(map(np.zeros_like, params)), pruner.state()), 0
        while state.epoch < chosen.epochs:
            state, count = train_epoch(state, pruner, x, y)
            seen += count
        report(name, seen, forward(state.params, test_x)[1].argmax(1), test_y)


if __name__ == "__main__":
    main()
