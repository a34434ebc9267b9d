"""Every model of examples/zoo against Hugging Face transformers: the same numbers, weights and gradients.

The configurations are tiny, random and built in memory; all axes differ in size, and no bias is 0, no gain 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc
from attnc import weights

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # whatever transformers warns of

ZOO = Path(__file__).parents[2] / "examples" / "zoo"
SOME = 3  # the batch
# Ids are drawn from 2 to 35 of 37: of what a reference takes for padding it does not learn.


@dataclass(frozen=True)
class Case:
    """A model of the zoo and its reference.

    reference: the class in transformers and its configuration's, with the settings.
    sizes:     those of the spec that differ from what is written there.
    inputs:    makes their named inputs, our inputs, and where to compare ([batch, width]).
    """

    file: str
    reference: tuple[str, str, dict[str, Any]]
    sizes: dict[str, Any]
    inputs: Callable[[Any], tuple[dict[str, Any], dict[str, Any], Any]]
    model: str | None = None
    outputs: tuple[str, ...] = ("logits",)
    map: str | None = None
    single: float = 2e-5
    double: float = 1e-10  # theirs turns by angles in float32, and norms too: then 5e-6
    prepare: Callable[[Any], None] = lambda model: None
    folder: Path = ZOO
    exact: bool = True  # whether theirs can float64: eager attention goes through float32, and gives NaN for padding

    def spec(self) -> attnc.Model:
        spec = attnc.load(self.folder / f"{self.file}.attn", sizes=self.sizes)
        assert not spec.warnings
        return spec.model(self.model or spec.models[0])

    def to_map(self) -> weights.Map:
        return weights.Map.read(self.folder / f"{self.map or self.file}.map")


def left_padded(vocab: int, length: int, **more: Any) -> Callable[[Any], Any]:
    def inputs(draw: torch.Generator) -> Any:
        ids = torch.randint(2, vocab - 1, (SOME, length), generator=draw)
        real = torch.arange(length) >= torch.tensor([0, 3, 5])[:, None]
        return {"input_ids": ids, "attention_mask": real.long(), **more}, {"ids": ids, "real": real}, real

    return inputs


def gpt2_inputs(draw: torch.Generator) -> Any:
    theirs, ours, real = left_padded(37, 11)(draw)
    place = (real.long().cumsum(-1) - 1).clamp(min=0)  # as `generate` does
    return {**theirs, "position_ids": place}, ours, real


def sentences(draw: torch.Generator) -> Any:
    """Pairs of sentences, padded at the right."""
    ids = torch.randint(2, 36, (SOME, 11), generator=draw)
    segment = (torch.arange(11) >= torch.tensor([3, 5, 7])[:, None]).long()
    real = torch.arange(11) < torch.tensor([11, 8, 9])[:, None]
    theirs = {"input_ids": ids, "attention_mask": real.long(), "token_type_ids": segment}
    return theirs, {"ids": ids, "segment": segment, "real": real}, real


BERT = dict(
    vocab_size=37, hidden_size=20, num_hidden_layers=3, num_attention_heads=4, intermediate_size=28,
    max_position_embeddings=13, type_vocab_size=3,
)  # fmt: skip
BERT_SIZES = dict(vocab=37, model=20, layers=3, heads=4, inner=28, longest=13, segments=3)

LLAMA = dict(
    vocab_size=37, hidden_size=24, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
    intermediate_size=28, max_position_embeddings=64,
)  # fmt: skip
LLAMA_SIZES = dict(vocab=37, model=24, layers=3, groups=2, sharing=3, key=10, inner=28)

T5 = dict(
    vocab_size=37, d_model=20, d_kv=6, d_ff=28, num_layers=3, num_heads=4, relative_attention_num_buckets=10,
    relative_attention_max_distance=9,
)  # fmt: skip
T5_SIZES = dict(vocab=37, model=20, key=6, inner=28, layers=3, heads=4, buckets=10, far=9)


def translation(draw: torch.Generator) -> Any:
    """A source padded at the right, and a target."""
    source, target = torch.randint(2, 36, (SOME, 13), generator=draw), torch.randint(2, 36, (SOME, 11), generator=draw)
    real = torch.arange(13) < torch.tensor([13, 9, 7])[:, None]
    theirs = {"input_ids": source, "attention_mask": real.long(), "decoder_input_ids": target}
    ours = {"source_ids": source, "target_ids": target, "real": real}
    return theirs, ours, torch.ones(SOME, 11, dtype=torch.bool)


def untie(model: Any) -> None:
    """T5 1.1: since transformers 5 the configuration ties, and only a checkpoint's own logits untie."""
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())


BART = dict(
    vocab_size=37, d_model=20, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=28, decoder_ffn_dim=28, max_position_embeddings=15, pad_token_id=36,
)  # fmt: skip
BART_SIZES = dict(vocab=37, model=20, layers=3, heads=4, inner=28)
CONDITIONAL = ("BartForConditionalGeneration", "BartConfig", BART)
MARIAN = dict(**BART, activation_function="swish", scale_embedding=True)

VIT = dict(
    num_hidden_layers=3, hidden_size=20, num_attention_heads=4, intermediate_size=28, image_size=(8, 15),
    patch_size=(4, 3), num_labels=7, num_channels=2,
)  # fmt: skip
VIT_SIZES = dict(model=20, layers=3, heads=4, inner=28, high=8, wide=15, down=4, across=3, label=7, colour=2)


def images(draw: torch.Generator) -> Any:
    image = torch.randn(SOME, 2, 8, 15, generator=draw)
    return {"pixel_values": image}, {"image": image}, torch.ones(SOME, dtype=torch.bool)


CASES = {
    "gpt2": Case(
        "gpt2",
        (
            "GPT2LMHeadModel",
            "GPT2Config",
            dict(vocab_size=37, n_positions=13, n_embd=20, n_layer=3, n_head=4, n_inner=28),
        ),
        dict(vocab=37, longest=13, model=20, layers=3, heads=4, inner=28),
        gpt2_inputs,
    ),
    "bert": Case(
        "bert", ("BertModel", "BertConfig", BERT), BERT_SIZES, sentences, "bert", ("last_hidden_state", "pooler_output")
    ),
    "bert_words": Case(
        "bert", ("BertForMaskedLM", "BertConfig", BERT), BERT_SIZES, sentences, "words", map="bert_words"
    ),
    "llama": Case(
        "llama",
        ("LlamaForCausalLM", "LlamaConfig", dict(**LLAMA, rms_norm_eps=1e-5, rope_theta=5000.0)),
        dict(**LLAMA_SIZES, base=5000),
        left_padded(37, 11),
        double=5e-6,
    ),
    "mistral": Case(
        "mistral",
        ("MistralForCausalLM", "MistralConfig", dict(**LLAMA, rms_norm_eps=1e-5, rope_theta=5000.0, sliding_window=4)),
        dict(**LLAMA_SIZES, base=5000, near=4),
        left_padded(37, 11),
        double=5e-6,
    ),
    "t5": Case("t5", ("T5ForConditionalGeneration", "T5Config", T5), T5_SIZES, translation, single=1e-4, double=2e-5),
    "t5_gated": Case(
        "t5",
        (
            "T5ForConditionalGeneration",
            "T5Config",
            dict(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        ),
        dict(**T5_SIZES, gated=True, tied=False),
        translation,
        single=1e-4,
        double=2e-5,
        prepare=untie,
    ),
    "bart": Case("bart", CONDITIONAL, dict(**BART_SIZES, longest=15), translation),
    "marian": Case("marian", ("MarianMTModel", "MarianConfig", MARIAN), BART_SIZES, translation, double=1e-5),
    "vit": Case("vit", ("ViTForImageClassification", "ViTConfig", VIT), VIT_SIZES, images),
    "mixtral": Case(
        "mixtral",
        (
            "MixtralForCausalLM",
            "MixtralConfig",
            dict(**LLAMA, rms_norm_eps=1e-5, rope_theta=5000.0, num_local_experts=5, num_experts_per_tok=3),
        ),
        dict(**LLAMA_SIZES, base=5000, expert=5, chosen=3),
        left_padded(37, 11),
        double=5e-6,
        prepare=lambda model: model.set_experts_implementation("eager"),  # the default has no float64
    ),
}

# Models that are not in the zoo, written to see that the library and the maps serve more than what they were made for.
MORE = Path(__file__).parent / "more"
SMALL = dict(vocab_size=37, hidden_size=24)
GEMMA2 = dict(
    **LLAMA, sliding_window=4, query_pre_attn_scalar=7, attn_logit_softcapping=5.0, final_logit_softcapping=3.0
)  # fmt: skip


SMALL_GPT = dict(vocab_size=37, n_embd=24, n_layer=3, n_head=2)
PHI3 = {name: value for name, value in LLAMA.items() if name != "head_dim"} | {"pad_token_id": 36}
OPT = dict(
    **SMALL, num_hidden_layers=3, num_attention_heads=4, ffn_dim=28, max_position_embeddings=16, pad_token_id=36,
    word_embed_proj_dim=24,
)  # fmt: skip
WHISPER = dict(
    vocab_size=37, d_model=24, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=28, decoder_ffn_dim=28, num_mel_bins=5, max_source_positions=13, max_target_positions=16,
    pad_token_id=36, bos_token_id=1, eos_token_id=1, decoder_start_token_id=1,
)  # fmt: skip


def speech(draw: torch.Generator) -> Any:
    sound, ids = torch.randn(SOME, 5, 26, generator=draw), torch.randint(2, 36, (SOME, 11), generator=draw)
    theirs = {"input_features": sound, "decoder_input_ids": ids}
    return theirs, {"sound": sound, "ids": ids}, torch.ones(SOME, 11, dtype=torch.bool)


def more(file: str, kind: str, settings: dict[str, Any], **other: Any) -> Case:
    reference = (f"{kind}ForCausalLM", f"{kind}Config", settings)
    return Case(file, reference, {}, left_padded(37, 11), folder=MORE, double=5e-6, **other)


CASES |= {
    "qwen2": more("qwen2", "Qwen2", dict(**LLAMA, rms_norm_eps=1e-6, rope_theta=5000.0, tie_word_embeddings=True)),
    "gemma2": more("gemma2", "Gemma2", GEMMA2, exact=False),
    "neox": more(
        "neox",
        "GPTNeoX",
        dict(**SMALL, num_hidden_layers=3, num_attention_heads=2, intermediate_size=28, rotary_pct=0.5),
    ),
    "qwen3": more("qwen3", "Qwen3", LLAMA),
    "phi3": more("phi3", "Phi3", dict(**PHI3, sliding_window=5, rms_norm_eps=1e-5)),
    "opt": more("opt", "OPT", OPT),
    "gptj": more("gptj", "GPTJ", dict(SMALL_GPT, n_inner=28, rotary_dim=6), exact=False),
    "whisper": Case("whisper", ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER), {}, speech, folder=MORE),
    "bloom": more("bloom", "Bloom", dict(**SMALL, n_layer=3, n_head=4), exact=False),
}


@cache
def build(name: str) -> Any:
    """The reference, with random weights: none is what it began as."""
    transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')
    kind, config, settings = CASES[name].reference
    torch.manual_seed(list(CASES).index(name))
    setup = getattr(transformers, config)(**settings)
    model = getattr(transformers, kind)(setup).eval()
    CASES[name].prepare(model)
    with torch.no_grad():
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        stored = [weight for name, weight in model.named_buffers() if name in model.state_dict()]
        for weight in [*trained, *stored]:
            weight.normal_(std=0.3) if weight.dim() > 1 else weight.add_(torch.randn_like(weight) * 0.3)
    return model


def typed(model: Any, kind: Any) -> Any:
    """Their eager attention is the plain one, their sdpa that which can float64."""
    model.set_attn_implementation("eager" if kind == torch.float32 else "sdpa")
    return model.to(kind)


def restore(model: Any) -> None:
    typed(model, torch.float32)
    model.zero_grad(set_to_none=True)


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_inventory(name: str) -> None:
    """Every weight of theirs is one of ours, and the way back gives their names and bits."""
    case, reference = CASES[name], build(name)
    map = case.to_map()
    theirs = reference.state_dict()
    ours = weights.convert(theirs, map, case.spec())
    assert {path: array.shape for path, array in ours.items()} == {
        path: spec.shape for path, spec in case.spec().weights.items()
    }
    theirs = {name: weight for name, weight in theirs.items() if name not in map.ignored}
    apart = {weight.data_ptr(): weight.numel() for weight in theirs.values()}
    assert sum(array.size for array in ours.values()) == sum(apart.values())
    back = weights.convert(ours, map, case.spec(), reverse=True, like=theirs)
    assert set(back) == set(theirs)
    assert all(np.array_equal(back[key], theirs[key].numpy()) for key in theirs)


def test_files(name: str, tmp_path: Path) -> None:
    """Their files, whose names are not always those of their modules, and back to the same bits."""
    case, reference, map = CASES[name], build(name), CASES[name].to_map()
    reference.save_pretrained(tmp_path)
    theirs = weights.load(tmp_path / "model.safetensors")
    ours = weights.convert(theirs, map, case.spec())
    direct = weights.convert(reference.state_dict(), map, case.spec())
    assert all(np.array_equal(ours[path], direct[path]) for path in case.spec().weights)
    back = weights.convert(ours, map, case.spec(), reverse=True, like=theirs)
    assert set(back) == set(theirs) - set(map.ignored)
    assert all(np.array_equal(back[key], theirs[key]) for key in back)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_outputs(name: str, kind: str) -> None:
    case, reference, dtype = CASES[name], build(name), getattr(torch, kind)
    if kind == "float64" and not case.exact:
        pytest.skip("theirs has no float64")
    theirs, given, where = case.inputs(torch.Generator().manual_seed(7))
    model = case.spec()
    ours = weights.convert(reference.state_dict(), case.to_map(), model)
    typed(reference, dtype)
    try:
        with torch.no_grad():
            expected = results(case, reference(**cast(theirs, dtype)), where)
    finally:
        restore(reference)
    with torch.no_grad():
        found = results(case, model.torch(weights=ours, dtype=dtype).eval()(**cast(given, dtype)), where)
    arrays = {key: value.numpy() for key, value in cast(given, dtype).items()}
    plain = results(case, model.numpy(ours, dtype=kind)(**arrays), where)
    for mine, also, wanted in zip(found, plain, expected, strict=True):
        assert mine.shape == also.shape == wanted.shape
        error = float((mine - wanted).abs().max() / wanted.std())
        apart = float((also - wanted).abs().max() / wanted.std())
        print(f"\n{name} {kind}: torch {error:.1e}, NumPy {apart:.1e}")
        assert max(error, apart) <= (case.single if kind == "float32" else case.double)


def test_gradients(name: str) -> None:
    case, reference = CASES[name], build(name)
    draw = torch.Generator().manual_seed(8)
    theirs, given, where = case.inputs(draw)
    model, map = case.spec(), case.to_map()
    # In float32 the biases of keys, whose gradient is 0, have nothing but noise.
    kind, noise = (torch.float64, 1e-6) if case.exact else (torch.float32, 0.05)
    net = model.torch(weights=weights.convert(reference.state_dict(), map, model), dtype=kind).eval()
    typed(reference, kind).zero_grad(set_to_none=True)
    found = results(case, net(**cast(given, kind)), where)
    expected = results(case, reference(**cast(theirs, kind)), where)
    for mine, wanted in zip(found, expected, strict=True):
        by = torch.randn(wanted.shape, generator=draw, dtype=kind)
        (mine * by).sum().backward(retain_graph=True)
        (wanted * by).sum().backward(retain_graph=True)
    grads = {path: torch.zeros_like(w) if w.grad is None else w.grad for path, w in net.named_parameters()}
    mine = weights.convert(grads, map, model, reverse=True, like=reference.state_dict())
    wanted = {path: w.grad for path, w in reference.named_parameters() if w.grad is not None}
    largest = max(float(grad.abs().max()) for grad in wanted.values())
    for path, grad in wanted.items():
        size = max(float(grad.abs().max()), noise * largest)
        assert float((torch.tensor(mine[path]) - grad).abs().max()) <= 1e-4 * size, path
    restore(reference)


def results(case: Case, made: Any, where: torch.Tensor) -> list[torch.Tensor]:
    """What is to be compared: those items of each result that are no padding."""
    if isinstance(made, dict):  # theirs
        all = [made[output] for output in case.outputs]
    else:
        all = [torch.as_tensor(one) for one in (made if isinstance(made, tuple) else (made,))][: len(case.outputs)]
    assert all[0].isfinite().all()
    return [one[where] if one.shape[:2] == where.shape else one for one in all]


def cast(inputs: dict[str, Any], dtype: Any) -> dict[str, Any]:
    return {
        key: value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for key, value in inputs.items()
    }
