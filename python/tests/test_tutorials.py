"""The code of the documentation's pages runs and prints what the pages say; page_blocks.py has the rules."""

import os
import pathlib

import pytest

pytest.importorskip("torch")

from page_blocks import blocks_of, check_output, run_page

ROOT = pathlib.Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Where a page's blocks run, and write their files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page):
    if "\nrcap " in page.read_text() and not os.path.exists(os.environ.get("RCAP_PROGRAM", "")):
        pytest.skip("RCAP_PROGRAM names no program")
    assert run_page(page) >= 2


NEWCOMER = """
from torch.nn import functional as F

dataset, epochs = train_data, 1
model = torch.nn.Linear(28 * 28, 10)
optimizer = torch.optim.Adam(model.parameters())
"""


def test_the_readme_leads_to_a_pruned_epoch_on_real_data():
    """Its loop as it stands, on the data of the first tutorial."""
    names = {}
    for block in blocks_of(ROOT / "docs" / "tutorials" / "first_loop.md"):
        if "train_data, test_data = read" in block.text:
            exec(block.text, names)
    exec(NEWCOMER, names)
    loops = [block.text for block in blocks_of(ROOT / "README.md") if block.language == "python"]
    assert len(loops) == 1
    exec(loops[0], names)
    sampler, model, test_data = names["sampler"], names["model"], names["test_data"]
    assert sampler.epoch_done and len(sampler) == sampler.pruner.keep_count == 6000
    images, labels = test_data.tensors
    assert (model(images).argmax(1) == labels).float().mean() > 0.6  # a linear layer after one epoch; by chance 0.1


def page_of(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_blocks_share_names_and_a_folder(tmp_path):
    page = page_of(tmp_path, """
```python
number = 6
```

<!-- file: answer.txt -->

```toml
forty-two
```

```sh
cat answer.txt
```

```text
forty-two
```

```python
print(7 * number)
```

```text
42
```
""")
    assert run_page(page) == 3


@pytest.mark.parametrize("block, complaint", [
    ("```python\nprint(41)\n```\n\n```text\n42\n```", "page.md:5: printed was\n41"),
    ("```sh\necho 41\n```\n```text\n42\n```", "page.md:4: printed was\n41"),
    ("```sh\necho gone >&2; false\n```", "page.md:1: gone"),
    ("```python\nprint('93 %')\n```\n<!-- within: 2 -->\n```text\n90 %\n```", "93 instead of 90"),
    ("```python\nprint('93 kg')\n```\n<!-- within: 5 -->\n```text\n90 %\n```", "printed was\n93 kg")])
def test_a_page_that_is_wrong_is_told(tmp_path, block, complaint):
    with pytest.raises(AssertionError) as caught:
        run_page(page_of(tmp_path, block + "\n"))
    assert complaint in str(caught.value)


def test_an_exception_tells_the_line_of_the_page(tmp_path):
    page = page_of(tmp_path, "Text.\n\n```python\nfirst = 1\nsecond = first / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page)
    assert caught.traceback[-1].lineno + 1 == 5


def test_what_is_marked_so_is_not_run(tmp_path):
    page = page_of(tmp_path, "<!-- not run: it would fail -->\n\n```python\n1 / 0\n```\n\n```text\nnothing\n```\n")
    assert run_page(page) == 0


def test_shown_numbers_may_be_a_little_off(tmp_path):
    page = page_of(tmp_path, "```text\n```\n<!-- within: 1.5 -->\n```text\n90.5 % after 3 epochs ... so far\n```\n")
    block = list(blocks_of(page))[1]
    check_output(block, "91.9 % after 4 epochs and 7 s   so\nfar\n")
    with pytest.raises(AssertionError, match=r"92.1 instead of 90.5"):
        check_output(block, "92.1 % after 3 epochs and so far\n")


# What the pages take for granted: a reader's own data, network and loop.
FIXTURES = """
import torch
from accelerate import Accelerator
from accelerate.data_loader import prepare_data_loader
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader

import rcap
from rcap.torch import Indexed, PruningBatchSampler, PruningSampler, with_ids

torch.manual_seed(0)
labels = torch.arange(200) % 4
dataset = TensorDataset(torch.randn(200, 8), labels)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
epochs, batch_size, path = 3, 16, "checkpoint.pt"
full_loader = DataLoader(Indexed(dataset), batch_size=64)
your_collate_fn = torch.utils.data.default_collate
pruner = rcap.RCAP(labels, pruning_rate=0.5)
"""


# The same data as streams: mappings, and tar files that the workers share.
STREAMS = """
import pathlib
from streams import write_tars

urls = write_tars(pathlib.Path(), {"x.npy": dataset.tensors[0].numpy(), "y.cls": labels.numpy()}, 25)


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, len(dataset), step):
            x, y = dataset[index]
            yield {"x": x, "y": y, "index": index}


stream = Stream()
"""


def test_streams():
    for needed in ("accelerate", "torchdata", "webdataset", "datasets"):
        pytest.importorskip(needed)
    names = {}
    exec(FIXTURES + STREAMS, names)
    assert run_page(ROOT / "docs" / "streams.md", names) == 5


@pytest.mark.filterwarnings("ignore:This DataLoader will create 8 worker processes")
@pytest.mark.parametrize("page", ["index.md", "python.md", "frameworks.md", "language.md", "moving.md"])
def test_guide(page):
    for needed in ("accelerate", "torchdata"):
        pytest.importorskip(needed)
    names = {}
    exec(FIXTURES, names)
    assert run_page(ROOT / "docs" / page, names) >= 1
