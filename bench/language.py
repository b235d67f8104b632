#!/usr/bin/env python3
"""A study of domain mixtures: a byte-level language model on five kinds of text of very unequal size, one pass.

    python bench/language.py tune --out runs.jsonl       # constants, on a seed and held-out text of their own
    python bench/language.py run --out runs.jsonl        # the study; what the file has already is not run again
    python bench/language.py table --out runs.jsonl      # its tables, in Markdown

The text is what a Debian machine has: Python's library, C headers, copyright files, changelogs, and the documentation
of this project. It is cut into sequences of 129 bytes; a line of more than 20 bytes counts only where it comes first,
since licences repeat each other. Blocks of eight sequences, in random order, are validation, held-out and training
text.

A run trains on 50 or 30 % of the training sequences. The mixture is renewed every 25 steps: a pruner says how many
sequences of each domain the next window gets, and which they are is the domain's next ones in a random order, so
that none comes again before its domain is used up.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import pathlib
import platform
import statistics
import sys
import sysconfig
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import rcap
from rcap.torch import PruningSampler, sequence_losses

ROOT = pathlib.Path(__file__).resolve().parent.parent
BYTES = 256
CONTEXT = 128
BATCH, WINDOW_STEPS = 8, 25
WINDOW = BATCH * WINDOW_STEPS
TRAIN = {"python": 4000, "headers": 2240, "copyright": 1120, "changelogs": 480, "documentation": 160}
DOMAINS = list(TRAIN)
HELD_OUT = VALIDATION = 128  # sequences of each domain
BLOCK = 8  # sequences that stay together: 1 kB of one text
SEEDS, TUNING_SEED = (0, 1, 2), 100
RATES = (0.7, 0.5)
LEARNING_RATE = 0.02  # of Muon
CHOSEN = {"robust": {"focus": 3.0}, "domain": {"eta": 3.0}, "bandit": {}}


# ---- text

def files_of(domain):
    """Regular files in an order that depends on nothing but their names."""
    folder, pattern = {
        "python": (pathlib.Path(sysconfig.get_path("stdlib")), "**/*.py"),
        "headers": (pathlib.Path("/usr/include"), "**/*.h"),
        "copyright": (pathlib.Path("/usr/share/doc"), "*/copyright"),
        "changelogs": (pathlib.Path("/usr/share/doc"), "*/changelog*.gz"),
        "documentation": (ROOT / "docs", "**/*.md")}[domain]
    names = [path.relative_to(folder) for path in folder.glob(pattern) if path.is_file() and not path.is_symlink()]
    unwanted = {"results", "site-packages", "dist-packages"}
    names = [name for name in names if not unwanted & set(name.parts)]
    return [folder / name for name in sorted(names, key=lambda name: hashlib.sha256(bytes(name)).digest())]


def lines_of(path):
    """Of the beginning of a file, so that no file is much of a domain."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return file.read(32 * 1024).splitlines(keepends=True)


def read_domain(domain):
    """{"validation": sequences, "held-out": ..., "train": ...} as arrays of bytes: blocks of eight, shuffled."""
    wanted = {"validation": VALIDATION, "held-out": HELD_OUT, "train": TRAIN[domain]}
    size, seen, text = sum(wanted.values()) * (CONTEXT + 1), set(), bytearray()
    for path in files_of(domain):
        new = [line for line in lines_of(path) if len(line) <= 20 or line not in seen]
        seen.update(new)
        text += b"".join(new)[:size // 16]
        if len(text) >= size:
            break
    else:
        sys.exit(f"language: this machine has too little text of {domain}: {len(text)} of {size} bytes")
    blocks = np.frombuffer(bytes(text[:size]), np.uint8).reshape(-1, BLOCK, CONTEXT + 1)
    shuffled = np.random.default_rng(0).permutation(blocks).reshape(-1, CONTEXT + 1)
    return dict(zip(wanted, np.split(shuffled, np.cumsum(list(wanted.values()))[:-1]), strict=True))


def read_text():
    domains = [read_domain(domain) for domain in DOMAINS]
    return {part: [domain[part] for domain in domains] for part in ("validation", "held-out", "train")}


def fingerprint(text):
    digest = hashlib.sha256()
    for part in sorted(text):
        for sequences in text[part]:
            digest.update(sequences.tobytes())
    return digest.hexdigest()[:16]


# ---- model

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.read, self.write = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.read(self.attention_norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.write(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm(x)), approximate="tanh"))


class ByteModel(nn.Module):
    """A transformer of 1.1 million parameters."""

    def __init__(self, width=128, layers=5, heads=4):
        super().__init__()
        self.bytes, self.places = nn.Embedding(BYTES, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, BYTES, bias=False)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, x):
        x = self.bytes(x) + self.places.weight[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def losses_of(model, sequences):
    tokens = torch.from_numpy(sequences.astype(np.int64))
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(tokens[:, :-1])
    return sequence_losses(logits, tokens[:, 1:], shift=False)[0]


class Optimizers:
    """Muon for the matrices inside, AdamW for the rest; both warm up for 5 % of the steps and cool down over 60 %."""

    def __init__(self, model, steps, learning_rate):
        inside = [parameter for parameter in model.blocks.parameters() if parameter.dim() == 2]
        known = set(map(id, inside))
        rest = [parameter for parameter in model.parameters() if id(parameter) not in known]
        self.both = [torch.optim.Muon(inside, lr=learning_rate, weight_decay=0.01),
                     torch.optim.AdamW(rest, lr=0.004, betas=(0.9, 0.95), fused=True)]

        def factor(step):
            return min(1, (step + 1) / (0.05 * steps), (steps - step) / (0.6 * steps))

        self.schedules = [torch.optim.lr_scheduler.LambdaLR(each, factor) for each in self.both]

    def step(self, loss, model):
        for each in self.both:
            each.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for each in (*self.both, *self.schedules):
            each.step()


@torch.no_grad()
def evaluate(model, domains):
    """The mean loss of each domain, in nats per byte."""
    return [statistics.fmean(losses_of(model, part).mean().item() for part in np.split(sequences, 4))
            for sequences in domains]


# ---- mixtures

def make_pruner(method, labels, seed, references, options):
    common = {"pruning_rate": 1 - WINDOW / len(labels), "seed": seed}
    if method == "full":
        return rcap.Full(labels, seed=seed)
    if method == "proportional":
        return rcap.Balanced(labels, class_share="power", size_power=1.0, **common)
    if method == "uniform":
        return rcap.Balanced(labels, **common)
    if method == "robust":  # so high a temperature that the draw inside a domain is even
        return rcap.RCAP(labels, class_share="robust", beta=1000.0, **common, **options)
    if method == "domain":
        options = {"reference_losses": references, **options}
    return rcap.Balanced(labels, class_share=method, **common, **options)


class FreshFirst:
    """The sequences of each domain in a random order, over and over."""

    def __init__(self, domains, seed):
        self.domains, self.random = domains, np.random.default_rng((seed, 7))
        self.waiting = [iter(()) for _ in domains]

    def next_of(self, domain):
        for number in self.waiting[domain]:
            return self.domains[domain][number]
        self.waiting[domain] = iter(self.random.permutation(len(self.domains[domain])))
        return self.next_of(domain)


def windows_of(sampler, steps):
    """The ids of each batch of the run."""
    for window in itertools.count():
        sampler.set_epoch(window)
        ids = np.fromiter(sampler, np.int64)
        for batch in np.split(ids, len(ids) // BATCH):
            if steps == 0:
                return
            steps -= 1
            yield batch


def train(method, rate, seed, text, score_on, references=None, options=None, learning_rate=LEARNING_RATE):
    """A record of one run."""
    labels = np.repeat(np.arange(len(DOMAINS)), list(TRAIN.values()))
    torch.manual_seed(seed)
    model = ByteModel()
    steps = round((1 - rate) * len(labels)) // BATCH
    optimizers = Optimizers(model, steps, learning_rate)
    sampler = PruningSampler(make_pruner(method, labels, seed, references, options or {}))
    fresh, counts = FreshFirst(text["train"], seed), np.zeros(len(DOMAINS), int)
    begin, curve, paused = time.process_time(), [], 0.0
    for step, ids in enumerate(windows_of(sampler, steps)):
        batch = np.stack([fresh.next_of(domain) for domain in labels[ids]])
        counts += np.bincount(labels[ids], minlength=len(DOMAINS))
        optimizers.step(sampler.observe(ids, losses_of(model, batch)), model)
        if step + 1 == steps or method == "full" and step + 1 in {round((1 - kept) * steps) for kept in RATES}:
            before = time.process_time()
            curve.append({"tokens": (step + 1) * BATCH * CONTEXT, "seconds": before - begin - paused,
                          "losses": evaluate(model, text[score_on])})
            paused += time.process_time() - before
    return {"method": method, "rate": rate, "seed": seed, "scored_on": score_on, "options": options or {},
            "learning_rate": learning_rate, "counts": counts.tolist(), "curve": curve}


# ---- the study

def key_of(record):
    return json.dumps([record[name] for name in ("method", "rate", "seed", "scored_on", "options", "learning_rate")])


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def machine():
    cpus = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return {"processor": next((line.split(": ")[1] for line in cpus if line.startswith("model name")), ""),
            "python": platform.python_version(), "torch": torch.__version__.split("+")[0],
            "rcap": rcap.__version__, "revision": rcap.__revision__}


def run_all(wanted, out, text):
    """Runs what the file does not have yet, and adds a line for each."""
    strangers = {record["text"] for record in records_of(out)} - {fingerprint(text)}
    if strangers:
        sys.exit(f"language: {out} has runs on other text ({strangers.pop()}, here {fingerprint(text)}); documentation "
                 "and the packages of a machine change: give another file, or go on with the revision it began with")
    done = {key_of(record) for record in records_of(out)}
    parameters = sum(parameter.numel() for parameter in ByteModel().parameters())
    about = {"machine": machine(), "text": fingerprint(text), "parameters": parameters}
    for job in wanted:
        record = {"options": {}, "learning_rate": LEARNING_RATE, **job}
        references = record.pop("references", None)
        if key_of(record) in done:
            continue
        score_on = record.pop("scored_on")
        result = train(**record, text=text, score_on=score_on, references=references)
        with out.open("a") as file:
            file.write(json.dumps({**result, **about}) + "\n")
        last = result["curve"][-1]
        print(f"{result['method']:13} rate {result['rate']} seed {result['seed']} {result['options']} "
              f"lr {result['learning_rate']}: worst {max(last['losses']):.3f} "
              f"{[round(loss, 3) for loss in last['losses']]} {last['seconds']:.0f} s", flush=True)


def references_of(records):
    """What proportional training reaches on held-out text, with a seed of its own: the reference of `domain`."""
    return next(record["curve"][-1]["losses"] for record in records
                if record["method"] == "proportional" and record["scored_on"] == "held-out"
                and record["learning_rate"] == LEARNING_RATE)


TUNING = {"rate": 0.7, "seed": TUNING_SEED, "scored_on": "held-out"}
REFERENCE = {"method": "proportional", **TUNING}


def tune(out, text):
    run_all([REFERENCE], out, text)
    references = references_of(records_of(out))
    tried = [("domain", "eta", (1.0, 3.0)), ("robust", "focus", (1.0, 3.0))]
    run_all([{"method": method, "options": {name: value}, "references": references, **TUNING}
             for method, name, values in tried for value in values], out, text)
    run_all([{**REFERENCE, "learning_rate": 0.04}], out, text)


def study(out, text):
    run_all([REFERENCE], out, text)
    references = references_of(records_of(out))
    methods = ["uniform", "proportional", *CHOSEN]
    jobs = [{"method": method, "rate": rate, "seed": seed} for rate in RATES for seed in SEEDS for method in methods]
    jobs += [{"method": "full", "rate": 0.0, "seed": seed} for seed in SEEDS]
    run_all([{**job, "scored_on": "validation", "options": CHOSEN.get(job["method"], {}), "references": references}
             for job in jobs], out, text)


def spread(values, digits=3):
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.{digits}f}{deviation}"


def row(rate, method, runs):
    last = [run["curve"][-1] for run in runs]
    losses = np.array([each["losses"] for each in last])
    parts = np.mean([np.array(run["counts"]) / sum(run["counts"]) for run in runs], 0)
    return [f"{100 * rate:.0f} %", method, len(runs), f"{last[0]['tokens']:,}",
            *(f"{loss:.3f}" for loss in losses.mean(0)), spread(losses.max(1)), spread(losses.mean(1)),
            " / ".join(f"{100 * part:.0f}" for part in parts), spread([each["seconds"] for each in last], 0)]


def gain(rate, method, runs, baselines):
    """How far the worst domain lies below that of a baseline, run by run with the same seed."""
    cells = [f"{100 * rate:.0f} %", method]
    for name in ("proportional", "uniform"):
        others = {run["seed"]: max(run["curve"][-1]["losses"]) for run in baselines(rate, name)}
        differences = [others[run["seed"]] - max(run["curve"][-1]["losses"]) for run in runs if run["seed"] in others]
        cells.append(spread(differences) if differences else "")
    return cells


def markdown(head, rows):
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def page(records):
    """The tables, with what made them."""
    runs = [record for record in records if record["scored_on"] == "validation"]
    if not runs:
        sys.exit("language: there is no run of the study yet; begin with: run")

    def of(rate, method):
        return [run for run in runs if (run["rate"], run["method"]) == (rate, method)]

    order = ["full", "uniform", "proportional", *CHOSEN]
    groups = sorted({(run["rate"], order.index(run["method"])) for run in runs})
    groups = [(rate, order[place]) for rate, place in groups]
    about = runs[0]["machine"]
    return "\n".join([
        "# Mixtures of domains: tables", "",
        f"Made by `bench/language.py table`. {runs[0]['parameters']:,} parameters; {about['processor']}, one thread, "
        f"shared; rcap {about['rcap']}, torch {about['torch']}, Python {about['python']}; text {runs[0]['text']}. "
        f"Training sequences of {', '.join(DOMAINS)}: {', '.join(map(str, TRAIN.values()))}.", "",
        "Validation loss in nats per byte; mean over n seeds, ± standard deviation between them.", "",
        markdown(["pruned", "mixture", "n", "bytes trained", *DOMAINS, "worst domain", "average", "parts of the run, %",
                  "CPU s"], [row(*group, of(*group)) for group in groups]), "",
        "How far the worst domain lies below that of the same seed and bytes with", "",
        markdown(["pruned", "mixture", "proportional", "uniform"],
                 [gain(*group, of(*group), of) for group in groups if group[0] > 0])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["tune", "run", "table"])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a line of JSON for each run")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.what == "table":
        print(page(records_of(chosen.out)))
    else:
        {"tune": tune, "run": study}[chosen.what](chosen.out, read_text())


if __name__ == "__main__":
    main()
