"""How pointwise ops are written in Triton, and their derivatives.

In templates `{0}` is the operand's name, `{y}` the result's; a derivative is what the result's gradient is times.
"""

from __future__ import annotations

_HALF = "tl.sigmoid(1.5957691216057308 * {0} * (1.0 + 0.044715 * {0} * {0}))"  # 0.5 (1 + tanh u) is sigmoid(2 u)
FUNCTIONS: dict[str, tuple[str, str]] = {
    "exp": ("tl.exp({0})", "{y}"),
    "log": ("tl.log({0})", "1.0 / {0}"),
    "sqrt": ("tl.sqrt({0})", "0.5 / {y}"),
    "rsqrt": ("tl.rsqrt({0})", "-0.5 * {y} * {y} * {y}"),
    "sin": ("tl.sin({0})", "tl.cos({0})"),
    "cos": ("tl.cos({0})", "-tl.sin({0})"),
    "tanh": ("tanh_of({0})", "1.0 - {y} * {y}"),
    "sigmoid": ("tl.sigmoid({0})", "{y} * (1.0 - {y})"),
    "erf": ("tl.erf({0})", "1.1283791670955126 * tl.exp(-{0} * {0})"),
    "relu": ("tl.maximum({0}, 0.0)", "tl.where({0} > 0, 1.0, 0.0)"),
    "gelu": (
        "0.5 * {0} * (1.0 + tl.erf(0.7071067811865476 * {0}))",
        "0.5 * (1.0 + tl.erf(0.7071067811865476 * {0})) + 0.3989422804014327 * {0} * tl.exp(-0.5 * {0} * {0})",
    ),
    "gelu_tanh": (
        f"{{0}} * {_HALF}",
        f"{_HALF} + {{y}} * (1.0 - {_HALF}) * 1.5957691216057308 * (1.0 + 0.134145 * {{0}} * {{0}})",
    ),
    "silu": ("{0} * tl.sigmoid({0})", "tl.sigmoid({0}) * (1.0 + {0} * (1.0 - tl.sigmoid({0})))"),
    "softplus": ("tl.maximum({0}, 0.0) + log1p_of(tl.exp(-tl.abs({0})))", "tl.sigmoid({0})"),
    "expm1": ("expm1_of({0})", "{y} + 1.0"),
    "log1p": ("log1p_of({0})", "1.0 / (1.0 + {0})"),
}
SIGNS = {"and": "&", "or": "|", "not": "~"}
LARGEST = {True: "tl.maximum", False: "tl.minimum"}
ROUNDED = {True: "tl.ceil", False: "tl.floor"}  # up, or down
STOPS = frozenset(("stop_gradient",))
