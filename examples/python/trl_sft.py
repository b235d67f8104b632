#!/usr/bin/env python3
"""rcap with SFTTrainer of TRL and a LoRA adapter of peft: domains of text in place of classes, packing off and on.

The model is a Llama of 90,000 parameters that reads bytes, made from its configuration. "packed" packs the texts of
each domain by itself into rows of 192 bytes, and these rows are what is selected.
"""

import os
import tempfile

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL would report how it is used

import numpy as np
from datasets import Dataset, concatenate_datasets
from peft import LoraConfig
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PrinterCallback, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer, pack_dataset

import rcap
from language_trainer import make_model
from rcap.hf import PruningMixin
from real_text import options, read_texts, report


class PruningSFTTrainer(PruningMixin, SFTTrainer):
    pass


def pack(texts, domains):
    """Rows of several texts of one domain, and the domain of each row."""
    parts = [[texts[number] for number in np.flatnonzero(domains == domain)] for domain in np.unique(domains)]
    packs = [pack_dataset(Dataset.from_dict({"input_ids": part}), seq_length=192) for part in parts]
    return concatenate_datasets(packs), np.repeat(np.unique(domains), [len(each) for each in packs])


def train(model, dataset, pruner, chosen, folder, **more):
    bytes_of_text = {chr(256 + byte): byte for byte in range(256)}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(bytes_of_text, unk_token=chr(256))),
                                        pad_token=chr(256), eos_token=chr(256))
    arguments = SFTConfig(
        folder, num_train_epochs=chosen.epochs, per_device_train_batch_size=8, learning_rate=0.02,
        lr_scheduler_type="cosine", seed=chosen.seed, max_length=None, gradient_checkpointing=False, bf16=False,
        report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True, use_cpu=True,
        dataset_kwargs={"skip_prepare_dataset": True}, **more)  # the texts are tokens already
    trainer = PruningSFTTrainer(
        model=model, args=arguments, train_dataset=dataset, processing_class=tokenizer, pruner=pruner,
        peft_config=LoraConfig(target_modules="all-linear", r=8))
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return len(trainer.sampler) * chosen.epochs


def main():
    chosen = options(__doc__.splitlines()[0])
    (texts, domains), held_out = read_texts()
    alone, packed = Dataset.from_dict({"input_ids": texts}), pack(texts, domains)
    half = {"pruning_rate": 0.5, "seed": chosen.seed}
    for name, dataset, pruner, more in (
            ("full", alone, rcap.Full(domains, seed=chosen.seed), {}),
            ("rcap", alone, rcap.RCAP(domains, **half), {}),
            ("rcap packed", packed[0], rcap.RCAP(packed[1], **half), {"padding_free": True})):
        model = make_model(chosen.seed)
        with tempfile.TemporaryDirectory() as folder:
            seen = train(model, dataset, pruner, chosen, folder, **more)
        report(name, seen, model, held_out)


if __name__ == "__main__":
    main()
