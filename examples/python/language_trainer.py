#!/usr/bin/env python3
"""rcap with a language model and the Trainer of transformers: domains of text in place of classes, packing off and on.

The model is a Llama of 90,000 parameters that reads bytes, made from its configuration. "packed" lays the texts of a
batch end to end in one row, without padding.
"""

import tempfile

import torch
from transformers import (
    DataCollatorWithFlattening, LlamaConfig, LlamaForCausalLM, PrinterCallback, Trainer, TrainingArguments)

import rcap
from rcap.hf import PruningMixin
from real_text import LENGTH, PAD, options, pad, read_texts, report


class PruningTrainer(PruningMixin, Trainer):
    pass


def make_model(seed):
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=LENGTH, pad_token_id=PAD, bos_token_id=None, eos_token_id=None,
        tie_word_embeddings=True))


def train(model, texts, pruner, collator, chosen, folder):
    arguments = TrainingArguments(
        folder, num_train_epochs=chosen.epochs, per_device_train_batch_size=16, learning_rate=0.005,
        lr_scheduler_type="cosine", seed=chosen.seed, report_to="none", save_strategy="no", logging_strategy="no",
        disable_tqdm=True, use_cpu=True)
    trainer = PruningTrainer(model=model, args=arguments, train_dataset=[{"input_ids": text} for text in texts],
                             data_collator=collator, pruner=pruner)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return len(trainer.sampler) * chosen.epochs


def main():
    chosen = options(__doc__.splitlines()[0])
    (texts, domains), held_out = read_texts()
    half = {"pruning_rate": 0.5, "seed": chosen.seed}
    for name, pruner, collator in (
            ("full", rcap.Full(domains, seed=chosen.seed), pad),
            ("rcap", rcap.RCAP(domains, **half), pad),
            ("rcap packed", rcap.RCAP(domains, **half), DataCollatorWithFlattening())):
        model = make_model(chosen.seed)
        with tempfile.TemporaryDirectory() as folder:
            seen = train(model, texts, pruner, collator, chosen, folder)
        report(name, seen, model, held_out)


if __name__ == "__main__":
    main()
