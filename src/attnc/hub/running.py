"""`attnc run`: a prompt, and what the model makes of it, piece by piece as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .folder import GENERATION
from .generation import options_of
from .imported import Imported
from .problem import HubError

if TYPE_CHECKING:
    import tokenizers

MOST = 64  # new items where nothing says how many


def prompt_ids(imported: Imported, text: str) -> list[int]:
    """The prompt as the folder's tokenizer has it, with the special items that it adds. Raises HubError."""
    ids: list[int] = imported.tokenizer().encode(text).ids
    if not ids:
        raise HubError("the prompt has no item: write at least one")
    return ids


def continued(imported: Imported, prompt: Sequence[int], plain: bool, more: dict[str, Any]) -> Iterator[int]:
    """The new items, one by one.

    plain: whether generation_config.json is left out. more: options of `generate`, in place of its.

    Raises HubError where the model does not generate, or the file asks for what `generate` has not.
    """
    net: Any = imported.torch()
    if not hasattr(net, "generate"):
        raise HubError(f"`{imported.model.name}` generates nothing: call it from Python, `attnc.hub.open(..).torch()`")
    told = {} if plain else options_of(imported.generation, str(imported.path / GENERATION))
    options = {"max_new": MOST, **told, **more}
    stops = set(options.pop("stops", ()))
    max_new = options.pop("max_new")
    given, start = _inputs(imported, prompt)
    if "beams" in options:
        if stops:
            raise HubError("beams end at one item, and generation_config.json names several: `--plain`, `--beams 1`")
        yield from net.generate(start, max_new, **given, **options).tolist()[:max_new]
        return
    if options.get("eos") is not None:
        stops.add(options.pop("eos"))
    for item in net.stream(start, max_new, **given, **options):
        found = int(item)
        if found in stops:
            return
        yield found


def _inputs(imported: Imported, prompt: Sequence[int]) -> tuple[dict[str, Any], list[int]]:
    """What is given beside the sequence that goes on, and how that begins: with a source, as the config says."""
    source = next((ours for ours, theirs in imported.inputs.items() if theirs == "decoder_input_ids"), None)
    if source is None:
        return {}, list(prompt)
    start = imported.config.get("decoder_start_token_id", imported.generation.get("decoder_start_token_id"))
    if not isinstance(start, int):
        raise HubError(f"{imported.path}: nothing says with which item the decoder begins (`decoder_start_token_id`)")
    for ours, theirs in imported.inputs.items():
        if theirs == "input_ids":
            return {ours: list(prompt)}, [start]
    raise HubError(f"`{imported.model.name}` reads no text: call it from Python, `attnc.hub.open(..).torch()`")


class TextStream:
    """Items as text, as far as it stands: a letter may be several items."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, prompt: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._ids = list(prompt)
        self._shown = len(self._read())

    def _read(self) -> str:
        return str(self._tokenizer.decode(self._ids, skip_special_tokens=True))

    def add(self, item: int) -> str:
        """What is to be shown now."""
        self._ids.append(item)
        whole = self._read()
        if whole.endswith("\ufffd"):  # a letter that is not whole yet
            return ""
        new, self._shown = whole[self._shown :], len(whole)
        return new
