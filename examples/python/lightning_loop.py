#!/usr/bin/env python3
"""rcap with Lightning: a sampler, a callback, and `observe` in training_step."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import rcap
from rcap.lightning import PruningCallback, PruningSampler
from rcap.torch import Indexed, total_steps
from toy_data import CLASSES, FEATURES, make_data, options, report

BATCH_SIZE = 32


class Network(L.LightningModule):
    def __init__(self, sampler, epochs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
        self.sampler, self.epochs, self.seen = sampler, epochs, 0

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, batch_idx):
        (x, y), ids = batch
        self.seen += len(ids)
        return self.sampler.observe(ids, F.cross_entropy(self(x), y, reduction="none"))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, total_steps(self.sampler, self.epochs, BATCH_SIZE))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def train(dataset, pruner, chosen, folder):
    torch.manual_seed(chosen.seed)
    sampler = PruningSampler(pruner)
    network = Network(sampler, chosen.epochs)
    callback = PruningCallback(sampler, initial_loader=DataLoader(Indexed(dataset), batch_size=256))
    trainer = L.Trainer(
        max_epochs=chosen.epochs, callbacks=[callback], use_distributed_sampler=False, devices=1, accelerator="cpu",
        default_root_dir=folder, logger=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(network, DataLoader(Indexed(dataset), sampler=sampler, batch_size=BATCH_SIZE))
    return network


def main():
    chosen = options(__doc__)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    (x, y), (test_x, test_y) = make_data(chosen.seed)
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    pruners = {
        "full": rcap.Full(y, seed=chosen.seed),
        "rcap": rcap.RCAP(y, pruning_rate=0.9, seed=chosen.seed)}
    for name, pruner in pruners.items():
        with tempfile.TemporaryDirectory() as folder:
            network = train(dataset, pruner, chosen, folder)
        with torch.no_grad():
            predictions = network(torch.from_numpy(test_x)).argmax(1).numpy()
        report(name, network.seen, predictions, test_y)


if __name__ == "__main__":
    main()
