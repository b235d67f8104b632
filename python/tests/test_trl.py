"""rcap.hf with the real SFTTrainer of TRL and adapters of peft."""

import os

import numpy as np
import pytest
import torch

import rcap

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
pytest.importorskip("trl")
pytest.importorskip("peft")

from datasets import Dataset, concatenate_datasets
from peft import LoraConfig
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PrinterCallback, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer, pack_dataset

from rcap.hf import PruningMixin
from test_hf_language import DOMAINS, VOCABULARY, losses_alone, make_model, make_texts, observed, pad

pytestmark = pytest.mark.filterwarnings("ignore")


class PruningSFTTrainer(PruningMixin, SFTTrainer):
    pass


def make_tokenizer():
    words = {"<pad>": 0, "<end>": 1, **{str(number): number for number in range(2, VOCABULARY)}}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(words, unk_token="<pad>")),
                                   pad_token="<pad>", eos_token="<end>")


def make_dataset(texts):
    return Dataset.from_dict({name: [text[name] for text in texts] for name in ("input_ids", "labels")})


def make_trainer(folder, dataset, pruner=None, model=None, kind=PruningSFTTrainer, ours=None, **options):
    settings = dict(
        num_train_epochs=1, per_device_train_batch_size=4, learning_rate=0.0, optim="sgd", seed=1, max_grad_norm=0.0,
        report_to="none", save_strategy="no", logging_strategy="epoch", disable_tqdm=True, use_cpu=True, bf16=False,
        gradient_checkpointing=False, max_length=None)
    peft = options.pop("peft_config", None)
    trainer = kind(model=model or make_model("llama"), args=SFTConfig(str(folder), **{**settings, **options}),
                   train_dataset=dataset, processing_class=make_tokenizer(), peft_config=peft,
                   pruner=pruner or rcap.Full(DOMAINS, seed=2), **(ours or {}))
    trainer.remove_callback(PrinterCallback)
    return trainer


@pytest.mark.parametrize("padding_free", [False, True])
@pytest.mark.parametrize("adapter", [False, True])
def test_every_sample_has_its_loss(padding_free, adapter, tmp_path):
    texts, model = make_texts(), make_model("llama")
    lora = LoraConfig(target_modules=["q_proj", "v_proj"], r=2) if adapter else None
    trainer = make_trainer(tmp_path, make_dataset(texts), model=model, padding_free=padding_free, peft_config=lora)
    losses, tokens = observed(trainer)
    wanted = losses_alone(make_model("llama"), texts, pad)  # an adapter begins as nothing
    for number, text in enumerate(texts):
        assert tokens[number] == sum(label >= 0 for label in text["labels"][1:])
        assert losses[number] == (pytest.approx(wanted[number], rel=1e-4) if tokens[number] else 0.0), number


def test_metrics_of_the_trainer_stay(tmp_path):
    trainer = make_trainer(tmp_path, make_dataset(make_texts()))
    trainer.train()
    logged = trainer.state.log_history[0]
    assert {"loss", "entropy", "mean_token_accuracy", "num_tokens"} <= set(logged)
    assert logged["num_tokens"] == sum(len(text["input_ids"]) for text in make_texts())


def packs_of(texts):
    """Each domain packed by itself into rows of 12 tokens, and the domain of each pack."""
    parts = [[text for text, of in zip(texts, DOMAINS, strict=True) if of == domain] for domain in range(3)]
    packs = [pack_dataset(make_dataset(part), seq_length=12) for part in parts]
    return concatenate_datasets(packs), np.repeat(range(3), [len(pack) for pack in packs])


def test_a_pack_can_be_the_sample(tmp_path):
    texts = make_texts(0.0)
    texts[5]["labels"] = texts[5]["input_ids"]
    packs, domains = packs_of(texts)
    trainer = make_trainer(tmp_path, packs, pruner=rcap.Full(domains, seed=2), padding_free=True,
                           dataset_kwargs={"skip_prepare_dataset": True})
    losses, tokens = observed(trainer)
    assert len(losses) == len(packs) < len(texts) and max(map(len, packs["seq_lengths"])) > 1
    alone = losses_alone(make_model("llama"), texts, pad)
    by_text = {tuple(text["input_ids"]): (alone[number], len(text["input_ids"]) - 1)
               for number, text in enumerate(texts)}
    for number, pack in enumerate(packs):
        ends = np.cumsum(pack["seq_lengths"])
        parts = [by_text[tuple(part)] for part in map(np.ndarray.tolist, np.split(pack["input_ids"], ends[:-1]))]
        assert tokens[number] == sum(count for _, count in parts if count > 0)
        mean = sum(loss * count for loss, count in parts if count > 0) / tokens[number]
        assert losses[number] == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("options", [{}, {"padding_free": True, "gradient_accumulation_steps": 2}])
def test_trains_as_the_trainer_does(options, tmp_path):
    order = rcap.Full(DOMAINS, seed=2).select_in_order(0).ids.tolist()

    class Plain(SFTTrainer):
        def __init__(self, *args, pruner, **kwargs):
            super().__init__(*args, **kwargs)

        def _get_train_sampler(self, *args, **kwargs):
            return order

    ours, theirs = make_model("llama"), make_model("llama")
    for kind, model in ((PruningSFTTrainer, ours), (Plain, theirs)):
        make_trainer(tmp_path, make_dataset(make_texts()), model=model, kind=kind, learning_rate=0.5, **options).train()
    weights = theirs.state_dict()
    assert all(torch.allclose(value, weights[name], atol=1e-5) for name, value in ours.state_dict().items())
    start = make_model("llama").state_dict()
    assert not all(torch.allclose(value, start[name], atol=1e-2) for name, value in weights.items())


def test_resumes_with_an_adapter(tmp_path):
    def run(**options):
        trainer = make_trainer(
            tmp_path, make_dataset(make_texts()), pruner=rcap.RCAP(DOMAINS, pruning_rate=0.5, seed=5),
            peft_config=LoraConfig(target_modules=["q_proj", "v_proj"], r=2), num_train_epochs=3, learning_rate=0.1,
            save_strategy="steps", save_steps=2)
        trainer.train(**options)
        return trainer

    whole = run()
    rest = run(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert rest.state.global_step == whole.state.global_step == 9
    assert rest.sampler.pruner.state() == whole.sampler.pruner.state()


class TestSaysWhatIsWrong:
    def test_packing_after_the_labels(self, tmp_path):
        with pytest.raises(rcap.InvalidArgument, match="packing=True joins samples: pack them before"):
            make_trainer(tmp_path, make_dataset(make_texts(0.0)), packing=True, max_length=12)

    @pytest.mark.parametrize("options", [{"loss_type": "dft"}, {"label_smoothing_factor": 0.1}])
    def test_another_loss(self, options, tmp_path):
        with pytest.raises(rcap.InvalidArgument, match="plain cross entropy; leave out loss_type"):
            make_trainer(tmp_path, make_dataset(make_texts()), **options)

    def test_which_can_be_observed_as_a_mean(self, tmp_path):
        trainer = make_trainer(tmp_path, make_dataset(make_texts(0.0)), pruner=rcap.RCAP(DOMAINS, pruning_rate=0.5),
                               loss_type="dft", ours={"batch_losses": True})
        losses, _ = observed(trainer)
        assert len(losses) == 12 and len(set(losses.values())) == 3
