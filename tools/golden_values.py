#!/usr/bin/env python3
"""Prints the pinned values of the tests, computed from the formulas alone.

Written against docs/algorithm.md with Python's integers and math module, apart from the
library, so that agreement means something. No package is needed.
"""

import math
import struct

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
SELECTION = 1


def mix64(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def absorb(digest, word):
    return mix64((digest + GAMMA + mix64((word + GAMMA) & MASK)) & MASK)


def stream_start(seed, purpose, epoch):
    return absorb(absorb(absorb(0, seed), purpose), epoch)


def bits(start, sample):
    return mix64((start + (sample + 1) * GAMMA) & MASK)


def race_key(loss, beta, random_bits):
    return loss / beta - math.log(-math.log1p(-(random_bits + 0.5) / 2**64))


def single(x):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def best(samples, count, losses, beta, start):
    keys = {i: race_key(losses[i], beta, bits(start, i)) for i in samples}
    return sorted(sorted(samples, key=keys.get, reverse=True)[:count])


def main():
    start = stream_start(27, SELECTION, 3)
    print("RandomStream(27, Selection, 3):", bits(start, 0), bits(start, 10**9))

    # Two classes of 20 and 10, losses 0.1 (i mod 7), beta 0.5, six kept.
    losses = [single(single(0.1) * (i % 7)) for i in range(30)]
    errors = [sum(losses[:20]), sum(losses[20:])]
    weights = [math.sqrt(20 / 30 * errors[0]), math.sqrt(10 / 30 * errors[1])]
    first = round(6 * weights[0] / sum(weights))
    print("class counts:", first, 6 - first)
    for epoch in range(2):
        start = stream_start(27, SELECTION, epoch)
        chosen = best(range(20), first, losses, 0.5, start)
        chosen += best(range(20, 30), 6 - first, losses, 0.5, start)
        print(f"selection of epoch {epoch}:", chosen)


if __name__ == "__main__":
    main()
