"""rcap.hf with models of sequences and with heads other than classifiers: tiny ones, as they are made.

The losses that the sampler observes are compared with what the model itself returns for each sample alone.
"""

import types

import numpy as np
import pytest
import torch
from torch import nn

import rcap

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from transformers import (
    BertConfig, BertForMaskedLM, BertForSequenceClassification, BertForTokenClassification, DataCollatorForSeq2Seq,
    DataCollatorWithFlattening, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MixtralConfig,
    MixtralForCausalLM, PrinterCallback, T5Config, T5ForConditionalGeneration, Trainer, TrainingArguments)

from rcap.hf import PruningMixin

pytestmark = pytest.mark.filterwarnings("ignore")
COUNT, VOCABULARY, PAD, IGNORED = 24, 31, 0, -100
DOMAINS = np.arange(COUNT) % 3


def make_texts(masked=0.3):
    """Sequences of 2 to 9 tokens, part of whose labels are masked; sample 5 has only masked ones."""
    random = np.random.default_rng(4)
    texts = []
    for number in range(COUNT):
        tokens = random.integers(1, VOCABULARY, random.integers(2, 10))
        labels = np.where(random.random(len(tokens)) < (1.0 if number == 5 else masked), IGNORED, tokens)
        texts.append({"input_ids": tokens.tolist(), "labels": labels.tolist()})
    return texts


def pad(items):
    """The usual collator, without a tokenizer."""
    length = max(len(item["input_ids"]) for item in items)
    rows = {"input_ids": PAD, "labels": IGNORED}
    batch = {name: torch.tensor([item[name] + [fill] * (length - len(item[name])) for item in items])
             for name, fill in rows.items()}
    batch["attention_mask"] = (torch.arange(length) < torch.tensor([[len(item["input_ids"])] for item in items])).long()
    return batch


def stack(items):
    return {name: torch.tensor([item[name] for item in items]) for name in items[0]}


SMALL = {"vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
         "num_attention_heads": 2, "max_position_embeddings": 64, "pad_token_id": PAD}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def make_model(kind, **options):
    torch.manual_seed(3)
    if kind == "gpt2":
        return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=2, n_positions=64,
                                          resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1,
                                          eos_token_id=1, pad_token_id=PAD))
    if kind == "llama":
        return LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=2, bos_token_id=1, eos_token_id=1))
    if kind == "mixtral":
        return MixtralForCausalLM(MixtralConfig(
            **SMALL, num_key_value_heads=2, num_local_experts=4, output_router_logits=True, router_aux_loss_coef=0.5,
            bos_token_id=1, eos_token_id=1))
    if kind == "t5":
        return T5ForConditionalGeneration(T5Config(
            vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, dropout_rate=0.0,
            decoder_start_token_id=PAD, pad_token_id=PAD))
    heads = {"masked": BertForMaskedLM, "tokens": BertForTokenClassification, "bert": BertForSequenceClassification}
    return heads[kind](BertConfig(**SMALL, **NO_DROPOUT, type_vocab_size=1, **options))


class PruningTrainer(PruningMixin, Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.remove_callback(PrinterCallback)


def watch(trainer):
    """{id: loss} and {id: count of tokens} of what will be observed."""
    observe, losses, tokens = trainer.sampler.observe, {}, {}

    def watched(ids, values, *counts):
        losses.update(zip(map(int, ids), values.tolist(), strict=True))
        for each in counts:
            tokens.update(zip(map(int, ids), each.tolist(), strict=True))
        return observe(ids, values, *counts)

    trainer.sampler.observe = watched
    return losses, tokens


def arguments(folder, **options):
    settings = dict(
        num_train_epochs=1, per_device_train_batch_size=4, learning_rate=0.0, optim="sgd", seed=1, max_grad_norm=0.0,
        report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True, use_cpu=True,
        lr_scheduler_type="constant")
    return TrainingArguments(str(folder), **{**settings, **options})


def make_trainer(model, texts, collator, folder, pruner=None, **options):
    ours = {name: options.pop(name) for name in ("sample_losses", "batch_losses") if name in options}
    return PruningTrainer(model=model, args=arguments(folder, **options), train_dataset=texts, data_collator=collator,
                          pruner=pruner or rcap.Full(DOMAINS, seed=2), **ours)


def observed(trainer):
    """What is observed in an epoch at a learning rate of 0."""
    found = watch(trainer)
    trainer.train()
    return found


def losses_alone(model, texts, collator):
    """{id: what the model returns as the loss of this sample}."""
    model.eval()
    with torch.no_grad():
        return {number: float(model(**collator([text]))["loss"]) for number, text in enumerate(texts)}


def check_losses(trainer, model, texts, collator):
    found, tokens = observed(trainer)
    wanted = losses_alone(model, texts, collator)
    assert sorted(found) == list(range(COUNT))
    for number, loss in found.items():
        assert tokens[number] > 0 or loss == 0
        assert tokens[number] == 0 or loss == pytest.approx(wanted[number], rel=1e-4), number
    return tokens


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_causal_models(kind, tmp_path):
    model, texts = make_model(kind), make_texts()
    tokens = check_losses(make_trainer(model, texts, pad, tmp_path), model, texts, pad)
    assert tokens == {number: sum(label != IGNORED for label in text["labels"][1:])
                      for number, text in enumerate(texts)}


@pytest.mark.parametrize("kind", ["masked", "tokens", "t5"])
def test_models_whose_logits_are_for_the_same_token(kind, tmp_path):
    texts = make_texts()
    model = make_model(kind, **({"num_labels": VOCABULARY} if kind == "tokens" else {}))
    tokens = check_losses(make_trainer(model, texts, pad, tmp_path), model, texts, pad)
    assert tokens[5] == 0 and tokens[6] == sum(label != IGNORED for label in texts[6]["labels"])


def test_a_collator_may_make_the_inputs_of_the_decoder(tmp_path):
    model, texts = make_model("t5"), make_texts()
    def pad_inputs(items, **_):
        return pad([{"labels": [], **item} for item in items])

    tokenizer = types.SimpleNamespace(padding_side="right", pad=pad_inputs)
    collator = DataCollatorForSeq2Seq(tokenizer, model=model)
    check_losses(make_trainer(model, texts, collator, tmp_path), model, texts, pad)


def test_a_batch_laid_end_to_end_has_a_loss_for_each_sample(tmp_path):
    model, texts = make_model("llama"), make_texts()
    trainer = make_trainer(model, texts, DataCollatorWithFlattening(), tmp_path)
    check_losses(trainer, model, texts, pad)


def test_the_pass_before_training_reads_such_batches_too(tmp_path):
    model, texts = make_model("llama"), make_texts()
    pruner = rcap.RCAP(DOMAINS, pruning_rate=0.5, initial_loss="forward")
    trainer = make_trainer(model, texts, DataCollatorWithFlattening(), tmp_path, pruner=pruner)
    found, _ = watch(trainer)
    trainer._make_initial_pass()
    wanted = losses_alone(model, texts, pad)
    assert sorted(found) == sorted(wanted)
    trained = [number for number, loss in wanted.items() if not np.isnan(loss)]
    assert [found[number] for number in trained] == pytest.approx([wanted[number] for number in trained], rel=1e-4)
    assert pruner.pending_count == 0


class Plain(Trainer):
    order: list

    def _get_train_sampler(self, *args, **kwargs):
        return self.order


@pytest.mark.parametrize("kind, collator, accumulated", [
    ("gpt2", pad, 2), ("llama", DataCollatorWithFlattening(), 2),
    # Trainer adds up what these take for a number of the batch, in Mixtral the auxiliary loss, instead of averaging it.
    ("mixtral", pad, 1), ("t5", pad, 1),
], ids=["padded", "end to end", "experts", "decoder"])
def test_trains_as_trainer_does(kind, collator, accumulated, tmp_path):
    """All samples in the same order: the same weights, with gradients of two batches of unequal counts of tokens."""
    texts = make_texts()
    options = {"learning_rate": 0.5, "gradient_accumulation_steps": accumulated}
    ours, theirs = make_model(kind), make_model(kind)
    make_trainer(ours, texts, collator, tmp_path, **options).train()
    plain = Plain(model=theirs, args=arguments(tmp_path, **options), train_dataset=texts, data_collator=collator)
    plain.order = rcap.Full(DOMAINS, seed=2).select_in_order(0).ids.tolist()
    plain.train()
    start = make_model(kind)
    for name, value in ours.state_dict().items():
        assert torch.allclose(value, theirs.state_dict()[name], atol=1e-5), name
    assert not all(torch.allclose(value, start.state_dict()[name], atol=1e-2)
                   for name, value in ours.state_dict().items())


def make_rows(labels):
    return [{"input_ids": [1 + number % 5, 2, 3 + number % 7], "labels": label} for number, label in enumerate(labels)]


NUMBERS = np.linspace(-1, 1, COUNT).tolist()
HEADS = {
    "regression": ({"num_labels": 1}, NUMBERS),
    "regression of several": ({"num_labels": 3, "problem_type": "regression"}, [[x, -x, 1.0] for x in NUMBERS]),
    "several labels": ({"num_labels": 3, "problem_type": "multi_label_classification"},
                       [[1.0, 0.0, x > 0] for x in NUMBERS]),
    "several labels, not said": ({"num_labels": 3}, [[1.0, 0.0, float(x > 0)] for x in NUMBERS]),
    "classes": ({"num_labels": 3}, DOMAINS.tolist())}


@pytest.mark.parametrize("name", HEADS)
def test_heads(name, tmp_path):
    options, labels = HEADS[name]
    model, rows = make_model("bert", **options), make_rows(labels)
    found, tokens = observed(make_trainer(model, rows, stack, tmp_path))
    assert found == pytest.approx(losses_alone(model, rows, stack), rel=1e-4)
    assert tokens == {}


def test_any_head_by_a_function(tmp_path):
    def margins(model, inputs):
        outputs = model(inputs["input_ids"])
        wanted = outputs.logits.gather(1, inputs["labels"][:, None])
        return (1 + outputs.logits - wanted).clamp(min=0).sum(1), outputs

    model, rows = make_model("bert", num_labels=3), make_rows(DOMAINS.tolist())
    found, _ = observed(make_trainer(model, rows, stack, tmp_path, sample_losses=margins))
    batch = stack(rows)
    assert [found[number] for number in range(COUNT)] == pytest.approx(margins(model, batch)[0].tolist(), rel=1e-4)


class Fused(nn.Module):
    """Returns the mean of the batch and nothing else, as a fused kernel does."""

    def __init__(self):
        super().__init__()
        self.inner = make_model("llama")
        self.config = self.inner.config

    def forward(self, input_ids, labels, attention_mask=None):
        return {"loss": self.inner(input_ids=input_ids, labels=labels, attention_mask=attention_mask).loss}


@pytest.mark.parametrize("initial_loss", ["log-c", "forward"])
def test_a_kernel_that_has_only_the_mean_of_a_batch(initial_loss, tmp_path):
    pruner = rcap.RCAP(DOMAINS, pruning_rate=0.5, initial_loss=initial_loss)
    trainer = make_trainer(Fused(), make_texts(0.0), pad, tmp_path, pruner=pruner, batch_losses=True)
    found, _ = observed(trainer)
    assert pruner.averages_batches and pruner.pending_count == 0
    assert len(set(found.values())) <= (2 if initial_loss == "log-c" else 5) * 3


def test_batches_of_such_a_kernel_have_one_loss_each(tmp_path):
    texts = make_texts(0.0)
    trainer = make_trainer(Fused(), texts, pad, tmp_path, batch_losses=True)
    found, _ = observed(trainer)
    order = rcap.Full(DOMAINS, seed=2).select_in_order(0).ids.tolist()
    with torch.no_grad():
        means = [trainer.model(**pad([texts[number] for number in order[first:first + 4]]))["loss"].item()
                 for first in range(0, COUNT, 4)]
    assert [found[number] for number in order] == pytest.approx(np.repeat(means, 4).tolist(), rel=1e-5)


class TestSaysWhatIsWrong:
    def refused(self, message, trainer):
        with pytest.raises(rcap.InvalidArgument, match=message):
            trainer.train()

    def test_a_model_of_unknown_kind(self, tmp_path):
        class Unknown(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = make_model("llama")

            def forward(self, input_ids, labels=None, attention_mask=None):
                return {"logits": self.inner(input_ids).logits}

        self.refused("Unknown is not known as a causal or as a masked model",
                     make_trainer(Unknown(), make_texts(), pad, tmp_path))

    def test_labels_that_do_not_fit_the_head(self, tmp_path):
        model = make_model("bert", num_labels=3, problem_type="multi_label_classification")
        self.refused(r"labels of shape \(4,\) and the problem_type multi_label_classification",
                     make_trainer(model, make_rows(DOMAINS.tolist()), stack, tmp_path))

    def test_a_collator_that_cuts_what_it_lays_end_to_end(self, tmp_path):
        flatten = DataCollatorWithFlattening()

        def cut(items):
            return {name: value[:, :6] for name, value in flatten(items).items()}

        self.refused("one row of 6 tokens of 4 samples with", make_trainer(make_model("llama"), make_texts(), cut,
                                                                          tmp_path))
