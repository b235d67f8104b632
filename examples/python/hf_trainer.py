#!/usr/bin/env python3
"""rcap with the Trainer of transformers: a mixin and a pruner.

The model is a small network; any that takes `labels` and returns `logits` (sample, class) will do.
"""

import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from transformers import PrinterCallback, Trainer, TrainingArguments

import rcap
from rcap.hf import PruningMixin
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE = 32


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, x, labels=None):
        logits = self.layers(x)
        return {"logits": logits} if labels is None else {"loss": F.cross_entropy(logits, labels), "logits": logits}


class Rows(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.y[index]}


class PruningTrainer(PruningMixin, Trainer):
    seen = 0

    def sample_losses(self, model, inputs):
        if torch.is_grad_enabled():  # not the pass before training
            self.seen += len(inputs["labels"])
        return super().sample_losses(model, inputs)


def train(model, dataset, pruner, chosen, folder):
    arguments = TrainingArguments(
        folder, num_train_epochs=chosen.epochs, per_device_train_batch_size=BATCH_SIZE, optim="sgd", learning_rate=0.5,
        lr_scheduler_type="cosine", seed=chosen.seed, report_to="none", save_strategy="no", logging_strategy="no",
        disable_tqdm=True, use_cpu=True)
    trainer = PruningTrainer(model=model, args=arguments, train_dataset=dataset, pruner=pruner)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer.seen


def main():
    chosen = options(__doc__.splitlines()[0])
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    dataset = Rows(torch.from_numpy(x), torch.from_numpy(y))
    pruners = {
        "full": rcap.Full(y, seed=chosen.seed),
        "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        torch.manual_seed(chosen.seed)
        model = Network()
        with tempfile.TemporaryDirectory() as folder:
            seen = train(model, dataset, pruner, chosen, folder)
        with torch.no_grad():
            predictions = model(torch.from_numpy(test_x))["logits"].argmax(1).numpy()
        report(name, seen, predictions, test_y)


if __name__ == "__main__":
    main()
