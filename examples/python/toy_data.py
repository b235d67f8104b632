"""What the examples share: generated long-tailed data, and the accuracy of each class on a balanced test set."""

import argparse

import numpy as np

CLASSES, FEATURES = 10, 16
LARGEST, IMBALANCE = 2000, 100  # samples of class 0, and how many times fewer the last class has


def options(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--epochs", type=int, default=20, help="epochs of each training [20]")
    parser.add_argument("--seed", type=int, default=0, help="seed of data, network, order and selection [0]")
    return parser.parse_args()


def make_data(seed):
    """(train x, train y), (test x, test y): a cloud of points for each class, 2000 of the first and 20 of the last."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=0.9, size=(CLASSES, FEATURES))
    sizes = (LARGEST * IMBALANCE ** (-np.arange(CLASSES) / (CLASSES - 1))).astype(int)

    def draw(counts):
        y = np.repeat(np.arange(CLASSES), counts)
        return (centres[y] + rng.normal(size=(len(y), FEATURES))).astype(np.float32), y

    return draw(sizes), draw(np.full(CLASSES, 200))


def report(name, samples_seen, predictions, labels):
    """Prints the accuracy of the worst class and the mean over the classes, in percent."""
    recalls = [100 * np.mean(predictions[labels == label] == label) for label in range(CLASSES)]
    print(f"{name:<5} {samples_seen:>7,} samples seen   worst class {min(recalls):5.1f} %   "
          f"average class {np.mean(recalls):5.1f} %", flush=True)
