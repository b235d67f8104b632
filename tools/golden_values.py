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


def robust_draw(classes, counts, losses, start):
    """The chances of the samples drawn at beta 1, by sample."""
    chances = {}
    for members, count in zip(classes, counts, strict=True):
        keys = sorted((race_key(losses[i], 1, bits(start, i)), i) for i in members)[::-1]
        threshold = keys[count][0] if count < len(keys) else -math.inf
        for _, i in keys[:count]:
            chances[i] = -math.expm1(-math.exp(losses[i] - threshold))
    return chances


def robust_errors(means, sizes, budget, epochs):
    """Of the classes on new data: allowance 50."""
    visits = [epochs * min(1, budget / len(sizes) / n) for n in sizes]
    return [m * (1 + 50 * v) for m, v in zip(means, visits, strict=True)]


def robust_split(classes, taken, means, budget, epochs):
    """Counts and lifts of the classes: focus 1, lift 10. At most one class may be full."""
    sizes = [len(members) for members in classes]
    errors = robust_errors(means, sizes, budget, epochs)
    return split(sizes, [math.sqrt(k * e) for k, e in zip(taken, errors, strict=True)], budget)


def split(sizes, weights, budget):
    """Counts and lifts of classes with these weights: lift 10. At most one class may be full."""
    shares = [budget * w / sum(weights) for w in weights]
    full = [j for j, share in enumerate(shares) if share >= sizes[j]]
    for j in full:
        others = sum(w for i, w in enumerate(weights) if i != j)
        shares = [sizes[i] if i == j else (budget - sizes[j]) * w / others for i, w in enumerate(weights)]
    counts = [math.floor(x) for x in shares]
    for j in sorted(range(len(shares)), key=lambda j: counts[j] - shares[j])[:budget - sum(counts)]:
        counts[j] += 1
    open_classes = [j for j in range(len(sizes)) if j not in full]
    level = sum(counts[j] for j in open_classes) / sum(weights[j] for j in open_classes)
    lifts = [min(max(level * weights[j] / counts[j], 1), 10) if j in full else 1 for j in range(len(sizes))]
    return counts, lifts


def robust_weights(classes, counts, lifts, chances):
    """Weights of the samples: unbias 30."""
    rates = [k / len(members) for k, members in zip(counts, classes, strict=True)]
    weights = {}
    for j, members in enumerate(classes):
        exponent = min(max(math.log(max(rates) / rates[j]) / math.log(30), 0), 1)
        raised = {i: chances[i] ** -exponent for i in members if i in chances}
        mean = sum(raised.values()) / len(raised)
        weights.update({i: lifts[j] * min(x / mean, 10) for i, x in raised.items()})
    mean = sum(weights.values()) / len(weights)
    return {i: x / mean for i, x in sorted(weights.items())}


def robust_cycle():
    """Classes of 30, 12 and 3; first losses 0.1 (i mod 7), observed ones 0.05 (i mod 5); nine kept."""
    classes = [range(30), range(30, 42), range(42, 45)]
    losses = [single(single(0.1) * (i % 7)) for i in range(45)]
    taken = [len(members) for members in classes]
    limits = [max(losses[i] for i in members) for members in classes]
    means = [sum(losses[i] for i in members) / len(members) for members in classes]
    for epoch in range(2):
        counts, lifts = robust_split(classes, taken, means, 9, epoch)
        chances = robust_draw(classes, counts, losses, stream_start(27, SELECTION, epoch))
        weights = robust_weights(classes, counts, lifts, chances)
        print(f"robust epoch {epoch}: counts {counts}, ids {sorted(chances)}")
        print("  weights", [round(x, 6) for x in weights.values()])
        taken, means = counts, []
        for limit, members in zip(limits, classes, strict=True):
            drawn = [i for i in members if i in chances]
            for i in drawn:
                losses[i] = min(single(single(0.05) * (i % 5)), limit)
            means.append(sum(losses[i] / chances[i] for i in drawn) / sum(1 / chances[i] for i in drawn))
    errors = robust_errors(means, [len(members) for members in classes], 9, 2)
    print("  class errors", [round(k * e, 6) for k, e in zip(taken, errors, strict=True)])


def group_dro_cycle():
    """The same data by shares that grow by exp(2 times the mean loss) each epoch, without a clip; observed losses
    0.1 (i mod 5 + twice the class)."""
    classes = [range(30), range(30, 42), range(42, 45)]
    losses = [single(single(0.1) * (i % 7)) for i in range(45)]
    means = [sum(losses[i] for i in members) / len(members) for members in classes]
    growth = [1.0] * 3
    for epoch in range(4):
        growth = [g * math.exp(2 * m) for g, m in zip(growth, means, strict=True)]
        counts, lifts = split([30, 12, 3], growth, 9)
        chances = robust_draw(classes, counts, losses, stream_start(27, SELECTION, epoch))
        weights = [lifts[j] for j, members in enumerate(classes) for i in members if i in chances]
        print(f"group-dro epoch {epoch}: counts {counts}, ids {sorted(chances)}")
        print("  weights", [round(x * len(weights) / sum(weights), 6) for x in weights])
        means = []
        for j, members in enumerate(classes):
            drawn = [i for i in members if i in chances]
            for i in drawn:
                losses[i] = single(single(0.1) * (i % 5 + 2 * j))
            means.append(sum(losses[i] / chances[i] for i in drawn) / sum(1 / chances[i] for i in drawn))
        print("  class errors", [round(m, 6) for m in means])


def window_scores(course, window):
    """The deviations of p in each window, and the same times 1 - (its mean)."""
    deviations, duals = [], []
    for first in range(len(course) - window + 1):
        part = course[first : first + window]
        mean = sum(part) / window
        deviations.append(math.sqrt(sum((p - mean) ** 2 for p in part) / (window - 1)))
        duals.append(deviations[-1] * (1 - mean))
    return deviations, duals


def dual_draw(scores, means, count, start):
    """Chances in proportion to score times Beta density; the density normalised, as published."""
    ten = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:10]
    mu = sum(means[i] for i in ten) / 10
    b = 15 * (1 - mu) * (1 - (1 - count / len(scores)) ** 4)
    a = 16 - b
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    print("  Beta", round(a, 9), round(b, 9))
    keys = {}
    for i, (score, p) in enumerate(zip(scores, means, strict=True)):
        log_density = constant + (a - 1) * math.log(p) + (b - 1) * math.log1p(-p)
        keys[i] = race_key(math.log(score) + log_density, 1, bits(start, i))
    return sorted(sorted(keys, key=keys.get, reverse=True)[:count])


def static_scores():
    """Dyn-Unc and DUAL on 12 samples over 6 epochs: windows of 3, DUAL on the first 5."""
    uncertainties, scores, means = [], [], []
    for i in range(12):
        course = [math.exp(-0.25 * ((7 * i + 3 * epoch * epoch) % 11)) for epoch in range(6)]
        uncertainties.append(sum(window_scores(course, 3)[0]) / 4)
        scores.append(single(sum(window_scores(course[:5], 3)[1]) / 3))
        means.append(single(sum(course[:5]) / 5))
    print("uncertainties", [round(x, 7) for x in uncertainties])
    print("dual scores", [round(x, 7) for x in scores])
    print("mean probabilities", [round(x, 7) for x in means])
    for count in (2, 4, 8):
        start = stream_start(27, SELECTION, 0)
        print(f"dual draw of {count}:", dual_draw(scores, means, count, start))


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

    robust_cycle()
    group_dro_cycle()
    static_scores()


if __name__ == "__main__":
    main()
