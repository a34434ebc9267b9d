"""What a modelling file for transformers carries behind the model: read as text by `modelling`, never imported.

What stands above the line is in that file already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from ...backends.runtime.torch.decoding import unwrapped

prepare: Callable[..., Any]
step: Callable[..., Tensor]
# ---- carried ----


def by_padding(starts: list[int]) -> dict[int, list[int]]:
    """The rows of a batch, by how many items in front of them are padding."""
    found: dict[int, list[int]] = {}
    for row, start in enumerate(starts):
        found.setdefault(start, []).append(row)
    return found


def paddings(ids: Tensor, mask: Tensor | None, to_the_end: bool) -> list[int]:
    """How many items in front of each row are padding. What is padded behind is read: nothing before it sees it."""
    rows, width = ids.shape
    if mask is None:
        return [0] * rows
    real = mask.bool()
    first, count = real.int().argmax(-1), real.sum(-1)
    place = torch.arange(width, device=real.device)
    one_run = (place >= first[:, None]) & (place < (first + count)[:, None])
    if mask.shape != ids.shape or not bool((count > 0).all()) or not torch.equal(real, one_run):
        raise ValueError(f"attention_mask: one run of ones for each row of {[*ids.shape]}, with padding around it")
    if to_the_end and not bool((first + count == width).all()):
        raise ValueError('attention_mask: to go on from a prompt, pad it at the left: tokenizer.padding_side = "left"')
    return list(map(int, first))


def together(parts: list[Tensor], rows: list[list[int]]) -> Tensor:
    """Results of some rows each, as those of all rows: counted from the right, zeros where there was padding."""
    width = max(part.shape[1] for part in parts)
    padded = torch.cat([F.pad(part, (0, 0, width - part.shape[1], 0)) for part in parts])
    order = torch.tensor([row for some in rows for row in some], device=padded.device)
    return padded[order.argsort()]


class PaddedCache:
    """What decoding keeps, for `generate` of transformers. Rows with as much padding in front of them share a cache, so
    that each goes on as if it were alone.
    """

    is_compileable = False

    def __init__(self, starts: list[int]) -> None:
        self.starts = starts
        self.caches: dict[int, Any] = {}
        self.count = 0  # of the items that came, padding too

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.count

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Puts other rows of the batch in place, as beam search wants it."""
        picked = beam_idx.tolist()
        before = by_padding(self.starts)
        self.starts = [self.starts[row] for row in picked]
        for start, rows in before.items():
            kept = [rows.index(row) for row in picked if row in rows]
            if kept:
                self.caches[start].reorder(torch.tensor(kept, device=beam_idx.device))
            else:
                del self.caches[start]

    def step(self, net: nn.Module, ids: Tensor, last: int) -> Tensor:
        """The results for the next items, or for the `last` of them."""
        groups = by_padding(self.starts)
        parts = []
        with torch.no_grad():
            for start, rows in groups.items():
                if start not in self.caches:
                    self.caches[start] = unwrapped(prepare)(net)
                items = ids[:, max(start - self.count, 0) :]
                items = items if len(groups) == 1 else items[rows]
                parts.append(unwrapped(step)(net, items, self.caches[start], last))
        self.count += ids.shape[1]
        return together(parts, list(groups.values()))


class ServedModel(transformers.PreTrainedModel, transformers.GenerationMixin):  # type: ignore
    """The model with the methods of transformers: `generate` over its own cache, `from_pretrained`, `save_pretrained`.

    `net` is the model itself, whose weights have its names behind `net.`.
    """

    base_model_prefix = "net"
    main_input_name = "input_ids"
    _is_stateful = True  # what a cache has seen, it cannot forget
    built: type[nn.Module]  # the class of `net`

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.net = self.built(**config.sizes)
        if not any(weight.is_meta for weight in self.net.parameters()):
            for part in self.net.modules():  # they are drawn as the spec says, and not to be drawn again
                part._is_hf_initialized = True  # type: ignore[assignment]
        self.post_init()  # type: ignore

    def _init_weights(self, module: nn.Module) -> None:
        """Draws what a checkpoint lacks, as the spec says."""
        lacks = [
            name
            for name, weight in module.named_parameters(recurse=False)
            if not getattr(weight, "_is_hf_initialized", False)
        ]
        if lacks and module is not self:
            path = next(path for path, part in self.net.named_modules() if part is module)
            drawn = self.built(**self.config.sizes).get_submodule(path)
            for name in lacks:
                module.get_parameter(name).data.copy_(drawn.get_parameter(name))

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def prepare_inputs_for_generation(  # type: ignore[override]
        self,
        input_ids: Tensor,
        past_key_values: Any = None,
        cache: Any = None,
        attention_mask: Any = None,
        use_cache: Any = None,
        logits_to_keep: Any = 0,
        **more: Any,
    ) -> dict[str, Any]:
        """What `generate` gives to `forward`: the items that the cache has not seen. Versions differ in what is in
        `more`, which nothing here needs.
        """
        cache = past_key_values if cache is None else cache
        seen = 0 if cache is None else cache.get_seq_length()
        given = {"cache": cache, "attention_mask": attention_mask, "use_cache": use_cache}
        return {"input_ids": input_ids[:, seen:], "logits_to_keep": logits_to_keep, **given}

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        labels: Tensor | None = None,
        logits_to_keep: int = 0,
        return_dict: bool | None = None,
        cache: Any = None,
    ) -> Any:
        """Scores [batch, items, vocab] of the item after each, where attention_mask says what is no padding.

        past_key_values, or cache, as transformers calls it since 5.24: what a call before gave (`use_cache=True`):
        input_ids are then the next items alone.
        labels: the loss is that of each item after the one before it; -100 counts for nothing.
        logits_to_keep: so many of the last results; 0: all.
        """
        result = transformers.modeling_outputs.CausalLMOutputWithPast
        name = "cache" if "cache" in result.__dataclass_fields__ else "past_key_values"
        cache = past_key_values if cache is None else cache
        if cache is None and use_cache:
            cache = PaddedCache(paddings(input_ids, attention_mask, True))
        elif cache is not None and not isinstance(cache, PaddedCache):
            raise TypeError(f"{name}: what this model gave, not a {type(cache).__name__}")
        elif cache is not None and attention_mask is not None and not bool(attention_mask[:, cache.count :].all()):
            raise ValueError("attention_mask: padding stands in front of the first items alone")
        if cache is not None:
            logits = cache.step(self.net, input_ids, logits_to_keep)
        else:
            groups = by_padding(paddings(input_ids, attention_mask, False))
            each = [(input_ids if len(groups) == 1 else input_ids[rows])[:, start:] for start, rows in groups.items()]
            logits = together([self.net(ids) for ids in each], list(groups.values()))
            logits = F.pad(logits, (0, 0, input_ids.shape[1] - logits.shape[1], 0))[:, -logits_to_keep:]
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=logits.shape[-1])
        found = result(loss=loss, logits=logits, **{name: cache})
        return found if return_dict in (None, True) else found.to_tuple()
