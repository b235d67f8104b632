"""The loss of each sequence of a batch of tokens, from the logits that are there already."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from .. import InvalidArgument

CHUNK = 2**20  # logits in single precision at a time: 4 MB


def sequence_losses(logits: torch.Tensor, labels: torch.Tensor, *, shift: bool = True, ignore_index: int = -100,
                    cu_seqlens: torch.Tensor | None = None, position_ids: torch.Tensor | None = None,
                    sequence_count: int | None = None,
                    label_smoothing: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean cross entropy of each sequence over its tokens that are not masked, and how many these are.

        losses, tokens = sequence_losses(model(ids).logits, labels)
        sampler.observe(sample_ids, losses, tokens).backward()

    A sequence is a row of the batch. In a packed batch it is a segment of a row: give `cu_seqlens` or `position_ids`.

    No second copy of the logits is made: they are read a few megabytes at a time, in single precision whatever their
    own. With gradients, the backward pass makes the gradient of the logits, as any loss does, and nothing else of that
    size. To differentiate something else, call it under `torch.no_grad()`.

    Args:
        logits: (batch, tokens, vocabulary), of any floating-point type.
        labels: (batch, tokens): the token that belongs at each place.
        shift: Whether the logits of a place are for the token of the next one, as in causal models. If not, they are
            for the token of the same place, as in masked and sequence-to-sequence models.
        ignore_index: The label of tokens that do not count.
        cu_seqlens: Where the segments begin in the batch laid end to end, and its length: 0, ..., batch * tokens.
        position_ids: (batch, tokens), or (1, tokens) for all rows: a segment begins where they do not go up by one.
            Padding that begins anew counts as segments, too; `cu_seqlens` leaves no doubt.
        sequence_count: How many sequences there have to be: as many as ids.
        label_smoothing: As in `torch.nn.functional.cross_entropy`.

    Returns:
        One loss for each sequence, in single precision, 0 if all its tokens are masked; and the count of its tokens.

    Raises:
        InvalidArgument: If shapes do not fit, a label is no token, segments do not cover the batch, or there are not
            `sequence_count` of them.
    """
    _check(logits, labels, label_smoothing)
    sequence, count = sequence_of_each_token(labels, cu_seqlens, position_ids)
    if sequence_count is not None and count != sequence_count:
        raise InvalidArgument(f"sequence_losses: the batch has {count} sequences, but {sequence_count} ids belong to "
                              "it; give cu_seqlens or position_ids of a packed batch, and one id for each segment")
    targets = _targets(labels, sequence, ignore_index) if shift else labels.reshape(-1)
    masked = targets == ignore_index
    _check_targets(targets, masked, logits.shape[-1])
    tokens = torch.zeros(count, dtype=torch.int64, device=labels.device).index_add_(0, sequence, (~masked).long())
    token_losses: Callable[..., torch.Tensor] = _TokenLosses.apply
    by_token = token_losses(logits.reshape(-1, logits.shape[-1]), targets.masked_fill(masked, 0), masked,
                            label_smoothing)
    return mean_of_each(by_token, tokens, sequence), tokens


def mean_of_each(by_token: torch.Tensor, tokens: torch.Tensor, sequence: torch.Tensor) -> torch.Tensor:
    """The mean of each sequence, from losses of tokens that are 0 where they do not count."""
    sums = torch.zeros(len(tokens), dtype=torch.float32, device=by_token.device)
    return sums.index_add(0, sequence, by_token.float()) / tokens.clamp(min=1)


def _check(logits: torch.Tensor, labels: torch.Tensor, label_smoothing: float) -> None:
    if logits.dim() != 3 or labels.dim() != 2 or logits.shape[:2] != labels.shape or logits.shape[-1] == 0:
        raise InvalidArgument(f"sequence_losses: logits of shape {tuple(logits.shape)} for labels of shape "
                              f"{tuple(labels.shape)}; logits are (batch, tokens, vocabulary), labels (batch, tokens)")
    if not logits.is_floating_point() or labels.is_floating_point() or labels.is_complex():
        raise InvalidArgument(f"sequence_losses: logits of type {logits.dtype} and labels of type {labels.dtype}; "
                              "logits are floating-point numbers, labels are integers")
    if not 0 <= label_smoothing < 1:
        raise InvalidArgument(f"sequence_losses: label_smoothing is {label_smoothing}; it must be at least 0, below 1")


def _check_targets(targets: torch.Tensor, masked: torch.Tensor, vocabulary: int) -> None:
    """On a host; an accelerator would have to be waited for, and checks its indices itself."""
    if not targets.is_cpu or bool((((targets >= 0) & (targets < vocabulary)) | masked).all()):
        return
    strays = targets[~masked & ((targets < 0) | (targets >= vocabulary))]
    raise InvalidArgument(f"sequence_losses: label {int(strays[0])} is neither one of {vocabulary} tokens nor "
                          "ignore_index; mask it, or give logits of its vocabulary")


def sequence_of_each_token(labels: torch.Tensor, cu_seqlens: torch.Tensor | None,
                            position_ids: torch.Tensor | None) -> tuple[torch.Tensor, int]:
    """The number of the sequence that each token of the batch, laid end to end, is part of; and how many there are."""
    if cu_seqlens is not None and position_ids is not None:
        raise InvalidArgument("sequence_losses: cu_seqlens and position_ids both say where segments begin; give one")
    rows, length = labels.shape
    if cu_seqlens is not None:
        return _segments_between(cu_seqlens, labels)
    if position_ids is not None:
        return _segments_by_position(position_ids, labels)
    return torch.arange(rows, device=labels.device).repeat_interleave(length), rows


def _segments_between(bounds: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, int]:
    bounds = torch.as_tensor(bounds).to(labels.device, torch.int64)
    if bounds.dim() != 1 or len(bounds) < 2:
        raise InvalidArgument(f"sequence_losses: cu_seqlens of shape {tuple(bounds.shape)}; it has one number for each "
                              "segment, where it begins, and the count of all tokens")
    lengths = bounds.diff()
    if int(bounds[0]) != 0 or int(bounds[-1]) != labels.numel() or int(lengths.min()) < 1:
        raise InvalidArgument(f"sequence_losses: cu_seqlens {_some(bounds)} for {labels.numel()} tokens; it must begin "
                              "with 0, rise, and end with the count of all tokens")
    return torch.arange(len(lengths), device=labels.device).repeat_interleave(lengths), len(lengths)


def _segments_by_position(positions: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, int]:
    if positions.dim() != 2 or positions.shape[1] != labels.shape[1] or positions.shape[0] not in (1, labels.shape[0]):
        raise InvalidArgument(f"sequence_losses: position_ids of shape {tuple(positions.shape)} for labels of shape "
                              f"{tuple(labels.shape)}; give one position for each token")
    begins = torch.ones(labels.shape, dtype=torch.bool, device=labels.device)
    begins[:, 1:] = positions.diff() != 1
    sequence = begins.reshape(-1).cumsum(0) - 1
    return sequence, int(sequence[-1]) + 1 if labels.numel() > 0 else 0


def _some(numbers: torch.Tensor) -> str:
    shown = ", ".join(map(str, numbers[:6].tolist()))
    return f"({shown}, ..., {int(numbers[-1])})" if len(numbers) > 7 else str(tuple(numbers.tolist()))


def _targets(labels: torch.Tensor, sequence: torch.Tensor, ignore_index: int) -> torch.Tensor:
    """What the logits of each token have to say: the next token, and nothing at the end of a sequence.

    Labels move rather than logits, of which part of each row would have to be copied.
    """
    targets = F.pad(labels.reshape(-1)[1:], (0, 1), value=ignore_index)
    ends = F.pad(sequence.diff() != 0, (0, 1), value=True)
    return targets.masked_fill(ends, ignore_index)


class _TokenLosses(torch.autograd.Function):
    """The cross entropy of each token, 0 where it is masked; keeps the logits themselves and one number per token."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: torch.Tensor, masked: torch.Tensor,
                smoothing: float) -> torch.Tensor:
        normalizers = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
        losses = torch.empty_like(normalizers)
        for part in _parts(logits):
            chunk = logits[part].float()
            torch.logsumexp(chunk, dim=1, out=normalizers[part])
            wanted = chunk.gather(1, targets[part, None]).squeeze(1)
            if smoothing > 0:
                wanted = (1 - smoothing) * wanted + smoothing * chunk.mean(1)
            torch.sub(normalizers[part], wanted, out=losses[part])
        ctx.save_for_backward(logits, targets, masked, normalizers)
        ctx.smoothing = smoothing
        return losses.masked_fill_(masked, 0.0)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        logits, targets, masked, normalizers = ctx.saved_tensors
        factors = gradients[0].masked_fill(masked, 0.0)
        result = torch.empty_like(logits)
        for part in _parts(logits):
            chunk = logits[part].float()
            chunk = torch.sub(chunk, normalizers[part, None]).exp_()
            if ctx.smoothing > 0:
                chunk -= ctx.smoothing / logits.shape[1]
            chunk.scatter_add_(1, targets[part, None], chunk.new_full((len(chunk), 1), ctx.smoothing - 1))
            chunk.mul_(factors[part, None]).masked_fill_(masked[part, None], 0.0)
            result[part] = chunk
        return result, None, None, None


def _parts(logits: torch.Tensor) -> list[slice]:
    step = max(1, CHUNK // logits.shape[1])
    return [slice(first, first + step) for first in range(0, len(logits), step)]
