#!/usr/bin/env python3
"""Times training steps of the photo networks in plain PyTorch; prints one JSON object."""

import argparse
import json
import time

import torch
from torch.nn import functional as F

from photo_networks import NETWORKS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(NETWORKS), required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--steps", type=int, required=True, help="timed steps, after two untimed ones")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--channels-last", action="store_true")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    layout = torch.channels_last if arguments.channels_last else torch.contiguous_format
    network = NETWORKS[arguments.model](arguments.classes).train().to(memory_format=layout)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, weight_decay=5e-4)
    images = torch.randn(arguments.batch_size, 3, arguments.side, arguments.side).to(memory_format=layout)
    labels = torch.arange(arguments.batch_size) % arguments.classes
    seconds = []
    for _ in range(arguments.steps + 2):
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(network(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[2:])
    print(json.dumps({"seconds_per_step": seconds[len(seconds) // 2],
                      "parameters": sum(parameter.numel() for parameter in network.parameters())}))


if __name__ == "__main__":
    main()
