"""What the README of an exported folder says: how to load it."""

from __future__ import annotations

from collections.abc import Sequence

README = "README.md"
TESTED = {"transformers": ("5.0.0", "5.24.0"), "torch": ("2.6.0", "2.15.0"), "onnxruntime": ("1.32.0", "1.32.0")}
"""The oldest and the newest that tests/hub/test_versions.py has seen export, load, run and generate."""

_TRANSFORMERS = """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("{folder}"{trust})
model.generate(ids, attention_mask=real, max_new_tokens=20)"""
_KNOWN = """from transformers import AutoModel  # or the class that config.json names

model = AutoModel.from_pretrained("{folder}")"""
_CODE = """

The code of the model is `modeling_{model}.py`, which `trust_remote_code=True` runs: it needs PyTorch and transformers
alone. Its cache is derived from the spec; prompts of different lengths are padded at the left, and each row goes on as
if it were alone."""
_PT2 = """import torch

{loads}"""
_ONNX = """import onnxruntime

{loads}"""
_STEPS = """

`prepare` takes the first items (of which it reads the batch alone) and the model's other inputs; `step` takes the next
items and, in order, all that `prepare` gave. It gives the scores of the last item, then what the next step takes in
place of the count and what stands behind it."""


def readme(model: str, folder: str, to: str, programs: Sequence[str], own: bool) -> str:
    """programs: their names. own: whether transformers has it by a modelling file of its own."""
    used = {"transformers": ["transformers", "torch"], "onnx": ["torch", "onnxruntime"], "torch-export": ["torch"]}[to]
    tested = " and ".join(f"{name} {_span(*TESTED[name])}" for name in used)
    if to == "transformers":
        code = (_TRANSFORMERS if own else _KNOWN).format(folder=folder, trust=", trust_remote_code=True" if own else "")
        more = _CODE.format(model=model) if own else ""
    elif to == "onnx":
        loads = "\n".join(f'{name} = onnxruntime.InferenceSession("{folder}/{name}.onnx")' for name in programs)
        code, more = _ONNX.format(loads=loads), _STEPS if "step" in programs else ""
    else:
        loads = "\n".join(f'{name} = torch.export.load("{folder}/{name}.pt2").module()' for name in programs)
        code, more = _PT2.format(loads=loads), _STEPS if "step" in programs else ""
    return f"# {model}\n\nExported by attnc, whose exports are tested with {tested}.\n\n```python\n{code}\n```{more}\n"


def _span(oldest: str, newest: str) -> str:
    return oldest if oldest == newest else f"{oldest} to {newest}"
