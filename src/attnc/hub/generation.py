"""What generation_config.json asks for, in `generate`'s words: each key is honoured, harmless, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .problem import HubError, as_json

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "repetition_penalty": (1.0,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "encoder_repetition_penalty": (1.0,),
    "diversity_penalty": (0.0,),
    "num_beam_groups": (1,),
    "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
    "min_p": (0.0,),
    "top_h": (),
    "min_length": (0,),
    "min_new_tokens": (),
    "penalty_alpha": (),
    "dola_layers": (),
    "guidance_scale": (1.0,),
    "bad_words_ids": (),
    "force_words_ids": (),
    "constraints": (),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "sequence_bias": (),
    "suppress_tokens": (),
    "begin_suppress_tokens": (),
    "exponential_decay_length_penalty": (),
    "stop_strings": (),
    "watermarking_config": (),
    "renormalize_logits": (False,),
    "remove_invalid_values": (False,),
    "early_stopping": (False, True),
    "num_return_sequences": (1,),
}
"""Values that change nothing; null never does. Any other is refused."""

_HARMLESS = frozenset({
    "_from_model_config", "assistant_confidence_threshold", "bos_token_id", "cache_config",
    "cache_implementation", "compile_config", "decoder_start_token_id", "disable_compile", "is_assistant",
    "low_memory", "max_cache_len", "max_matching_ngram_size", "max_time", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "output_attentions", "output_hidden_states", "output_logits",
    "output_scores", "pad_token_id", "prefill_chunk_size", "prompt_lookup_num_tokens", "return_dict_in_generate",
    "target_lookbehind", "transformers_version", "trust_remote_code", "use_cache", "assistant_early_exit",
    "assistant_lookbehind", "assistant_ensemble_size", "token_healing",
})  # fmt: skip


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _items(value: Any) -> bool:
    return all(map(_whole, value)) if isinstance(value, list) else _whole(value)


_HONOURED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "do_sample": (lambda value: isinstance(value, bool), "true or false"),
    "temperature": (_real, "a number"),
    "top_k": (_whole, "a whole number"),
    "top_p": (_real, "a number"),
    "num_beams": (_whole, "a whole number"),
    "length_penalty": (_real, "a number"),
    "eos_token_id": (_items, "an item or a list of them"),
    "max_new_tokens": (_whole, "a whole number"),
    "max_length": (_whole, "a whole number"),
}
"""What becomes an option, what it may be, and that in words."""


def options_of(generation: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options of `generate` that a generation config means; `name` is what messages call it.

    Raises HubError for a key that is not known, or asks for what `generate` has not.
    """
    for key, value in generation.items():
        fits, what = _HONOURED.get(key, (lambda _: False, ""))
        if value is None or key in _HARMLESS or fits(value) or value in _NEUTRAL.get(key, ()):
            continue
        if what:
            raise HubError(f"{name}: `{key}` is {as_json(value)}, where {what} is needed")
        what = f"asks for `{key}` = {as_json(value)}, which `generate` has not" if key in _NEUTRAL else f"has `{key}`"
        raise HubError(f"{name}: it {what}: take it out of the file, or give your own options (`--plain`)")
    options: dict[str, Any] = {}
    if generation.get("do_sample"):
        options["temperature"] = float(generation.get("temperature") or 1.0)
        top_k = generation.get("top_k", 50)
        if top_k:
            options["top_k"] = int(top_k)
        if (generation.get("top_p") or 1.0) < 1:
            options["top_p"] = float(generation["top_p"])
    if (generation.get("num_beams") or 1) > 1:
        options["beams"] = int(generation["num_beams"])
        options["length_penalty"] = float(generation.get("length_penalty") or 1.0)
    eos = generation.get("eos_token_id")
    if isinstance(eos, list) and len(eos) == 1:
        eos = eos[0]
    if isinstance(eos, list):
        options["stops"] = eos
    elif eos is not None:
        options["eos"] = eos
    if generation.get("max_new_tokens"):
        options["max_new"] = int(generation["max_new_tokens"])
    return options
