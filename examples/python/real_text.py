"""What the examples of language models share: text of four kinds that any Debian machine has, or this checkout."""

import argparse
import gzip
import pathlib
import sysconfig

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAD = 0  # a token is a byte; 0 is in no text
LENGTH, HELD_OUT = 96, 16  # bytes of a text at most; texts of each domain that no one trains on
# How many texts of each domain to train on, and where they come from: the first place that has enough.
DOMAINS = {
    "code": (320, [(pathlib.Path(sysconfig.get_path("stdlib")), "*.py"), (ROOT / "python", "**/*.py")]),
    "documentation": (120, [(ROOT / "docs", "*.md")]),
    "changelogs": (40, [(pathlib.Path("/usr/share/doc"), "lib[a-c]*/changelog.Debian.gz"), (ROOT, "CHANGELOG.md")]),
    "licences": (20, [(pathlib.Path("/usr/share/common-licenses"), "*"), (ROOT, "LICENSE")])}


def options(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--epochs", type=int, default=10, help="epochs of each training [10]")
    parser.add_argument("--seed", type=int, default=0, help="seed of network, order and selection [0]")
    return parser.parse_args()


def pieces(folder, pattern, count):
    """Paragraphs, the longer ones in several pieces."""
    found = []
    for path in sorted(folder.glob(pattern)):
        if len(found) >= count:
            break
        if path.is_file():
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found += [list(part[first:first + LENGTH]) for part in text.split(b"\n\n")
                      for first in range(0, len(part) - 20, LENGTH)]
    return found[:count]


def read_texts():
    """(texts to train on, domain of each), and {domain: held-out texts}; a text is a list of bytes."""
    train, labels, held_out = [], [], {}
    for number, (name, (count, places)) in enumerate(DOMAINS.items()):
        enough = count + HELD_OUT
        texts = next(found for place in places if len(found := pieces(*place, enough)) == enough)
        held_out[name] = texts[:HELD_OUT]
        train += texts[HELD_OUT:]
        labels += [number] * count
    return (train, np.array(labels)), held_out


def pad(items):
    """A collator: rows of the longest text's length."""
    length = max(len(item["input_ids"]) for item in items)
    tokens = torch.tensor([item["input_ids"] + [PAD] * (length - len(item["input_ids"])) for item in items])
    return {"input_ids": tokens, "labels": tokens.masked_fill(tokens == PAD, -100),
            "attention_mask": (tokens != PAD).long()}


@torch.no_grad()
def report(name, texts_seen, model, held_out):
    """Prints the loss of the worst domain and the mean over the domains, in nats per byte."""
    model.eval()
    losses = [model(**pad([{"input_ids": text} for text in texts])).loss.item() for texts in held_out.values()]
    print(f"{name:<12} {texts_seen:>6,} texts seen   worst domain {max(losses):.3f}   "
          f"average domain {np.mean(losses):.3f}", flush=True)
