#!/usr/bin/env python3
"""The training loop that `rcap train` is measured against: plain PyTorch, as a careful user writes it.

All images are in memory as one tensor and are shuffled by index. A batch is cropped and flipped as a whole, with one
gather, not image by image. Prints one JSON object.
"""

import argparse
import json
import resource
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class SmallCnn(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.conv3, self.bn3 = nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x)), inplace=True), 2)
        return self.fc(F.relu(self.bn3(self.conv3(x)), inplace=True).mean((2, 3)))


class BasicBlock(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False),
                                          nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x), inplace=True)


class ResNet18(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        blocks, width = [], 64
        for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [BasicBlock(width, out, stride), BasicBlock(out, out, 1)]
            width = out
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, classes)

    def forward(self, x):
        return self.fc(self.blocks(F.relu(self.bn1(self.conv1(x)), inplace=True)).mean((2, 3)))


def crop_and_flip(padded, ids, side, padding):
    """A random window of every padded image, mirrored with probability 1/2."""
    count = len(ids)
    rows = torch.randint(2 * padding + 1, (count, 1)) + torch.arange(side)
    columns = torch.randint(2 * padding + 1, (count, 1)) + torch.arange(side)
    mirrored = torch.rand(count, 1) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    return padded[ids[:, None, None, None], torch.arange(padded.shape[1])[None, :, None, None],
                  rows[:, None, :, None], columns[:, None, None, :]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True, help="uint8 array, samples x channels x side x side (.npy)")
    parser.add_argument("--labels", required=True, help="int64 array (.npy)")
    parser.add_argument("--model", choices=["small-cnn", "resnet18-cifar"], required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--padding", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True, help="timed steps; a tenth as many go before them, untimed")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    images, labels = np.load(arguments.images), torch.from_numpy(np.load(arguments.labels))
    channels, side = images.shape[1], images.shape[2]
    mean, deviation = (0.2860, 0.3530) if channels == 1 else (0.4734, 0.2507)
    padded = F.pad(torch.from_numpy(images), (arguments.padding,) * 4)
    network = {"small-cnn": SmallCnn, "resnet18-cifar": ResNet18}[arguments.model](channels, 10)
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=5e-4)
    order = torch.randperm(len(labels))

    def train(first, steps):
        for step in range(first, first + steps):
            begin = step * arguments.batch_size % (len(labels) - arguments.batch_size)
            ids = order[begin:begin + arguments.batch_size]
            x = (crop_and_flip(padded, ids, side, arguments.padding).float() / 255 - mean) / deviation
            optimizer.zero_grad()
            F.cross_entropy(network(x), labels[ids]).backward()
            optimizer.step()

    warm_up = max(2, arguments.steps // 10)
    train(0, warm_up)
    start = time.perf_counter()
    train(warm_up, arguments.steps)
    seconds = time.perf_counter() - start
    print(json.dumps({"samples_per_second": arguments.steps * arguments.batch_size / seconds, "seconds": seconds,
                      "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
