#!/usr/bin/env python3
"""What rcap adds to the steps of a language model in transformers' Trainer, on one core.

The model is a Llama of 10 million parameters. Runs of Trainer with and without rcap take turns; both train 1,024 tokens
a step, of 100,000 sequences that cost nothing to make. Times are of the CPU, since the machine may be shared, and of
whole steps with their data. The first two steps of a run do not count. Selection happens once an epoch; what it takes
is told by itself.
"""

import argparse
import json
import statistics
import tempfile
import time

import numpy as np
import torch
from transformers import (
    LlamaConfig, LlamaForCausalLM, PrinterCallback, Trainer, TrainerCallback, TrainingArguments, default_data_collator)

import rcap
from rcap.hf import PruningMixin

SEQUENCES, LENGTH, BATCH, VOCABULARY, DOMAINS = 100_000, 128, 8, 8192, 20


class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return SEQUENCES

    def __getitem__(self, index):
        tokens = (index * 7919 + torch.arange(LENGTH) * 104729) % VOCABULARY
        return {"input_ids": tokens, "labels": tokens}


class PruningTrainer(PruningMixin, Trainer):
    pass


class StepTimes(TrainerCallback):
    def __init__(self):
        self.ends = []

    def on_step_end(self, *args, **kwargs):
        self.ends.append(time.process_time())

    @property
    def seconds(self):
        return statistics.fmean(np.diff(self.ends[1:]))


def make_model():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=688, num_hidden_layers=10, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=LENGTH, tie_word_embeddings=True))


def seconds_per_step(kind, steps, folder, **more):
    arguments = TrainingArguments(
        folder, max_steps=steps + 2, per_device_train_batch_size=BATCH, report_to="none", save_strategy="no",
        logging_strategy="no", disable_tqdm=True, use_cpu=True)
    trainer = kind(model=make_model(), args=arguments, train_dataset=Noise(), data_collator=default_data_collator,
                   **more)
    times = StepTimes()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(times)
    trainer.train()
    return times.seconds


def seconds_of(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="runs of each [7]")
    parser.add_argument("--steps", type=int, default=8, help="steps of a run that count [8]")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    domains, ratios, steps = np.arange(SEQUENCES) % DOMAINS, [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(chosen.pairs):
            def plain():
                return seconds_per_step(Trainer, chosen.steps, folder)

            def pruned():
                return seconds_per_step(PruningTrainer, chosen.steps, folder,
                                        pruner=rcap.RCAP(domains, pruning_rate=0.5))

            # In turn, and each of them first every second time.
            without, within = (plain(), pruned()) if pair % 2 == 0 else (pruned(), plain())[::-1]
            ratios.append(within / without)
            steps.append(without)
            print(f"pair {pair}: {1000 * without:.1f} ms without, ratio {ratios[-1]:.4f}", flush=True)
    pruner = rcap.RCAP(domains, pruning_rate=0.5)
    print(json.dumps({
        "parameters": sum(parameter.numel() for parameter in make_model().parameters()),
        "ms_per_step_without": round(1000 * statistics.median(steps), 1),
        "ratio_median": round(statistics.median(ratios), 4), "ratio_lowest": round(min(ratios), 4),
        "ratio_highest": round(max(ratios), 4), "pairs": chosen.pairs, "steps": chosen.steps,
        "ms_per_selection": round(1000 * seconds_of(lambda: pruner.select_in_order(0)), 2),
        "torch": torch.__version__.split("+")[0]}))


if __name__ == "__main__":
    main()
