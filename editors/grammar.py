"""What editors colour with, made from the language's own tables: the TextMate grammar of the VS Code extension, and the
highlights of the tree-sitter grammar. `make docs` writes both.

Every rule is one regular expression on one line, of the syntax that Oniguruma and Python share: tests run it in Python.
"""

from __future__ import annotations

import json
from typing import Any

from attnc.compiler.ops import WRITABLE

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
OPS = "|".join(sorted(WRITABLE, key=lambda name: (-len(name), name)))

Rule = tuple[str, str, dict[int, str]]  # expression; scope of the whole; scopes of its groups

RULES: tuple[Rule, ...] = (
    (r"#.*$", "comment.line.number-sign", {}),
    (r'"[^"]*"', "string.quoted.double", {}),
    # Words that are words only where they begin something: an axis may be called `model`.
    (rf"^\s*(block|model)\s+({NAME})", "meta.declaration", {1: "storage.type", 2: "entity.name.function"}),
    (rf"^\s*(op|config)\s+({NAME})", "meta.declaration", {1: "storage.type", 2: "entity.name.function"}),
    (rf"^\s*(use)\s+({NAME}(?:\.{NAME})*)", "meta.import", {1: "keyword.control.import", 2: "entity.name.namespace"}),
    (r"\b(?:width|depth|const|param)\b", "storage.type", {}),
    (r"\b(?:return|repeat|if|else|share|expect|scan)\b", "keyword.control", {}),
    (r"\b(?:and|or|not|where)\b", "keyword.operator.word", {}),
    (r"\b(?:true|false)\b", "constant.language", {}),
    (rf"(?<=[\w\]])\s+(as|like|in)\s+(?={NAME}|\")", "meta.word", {1: "keyword.other"}),
    (r"(?<=\])\s+(causal)\b", "meta.word", {1: "keyword.other"}),
    (r"\s+(trusted)(?=\s*\")", "meta.word", {1: "keyword.other"}),
    (r"\s+(shared)(?=\s*\{)", "meta.word", {1: "keyword.other"}),
    (r"\s+(ragged)(?=\s*(?:,|#|$))", "meta.word", {1: "keyword.other"}),
    (r"\s+(frozen)(?=\s*(?:#|$))", "meta.word", {1: "keyword.other"}),
    (r"\b(?:bool|int|real)(?=\s*\[)", "support.type", {}),
    (rf"\b(?:{OPS})(?=\s*[\[(.])", "support.function", {}),
    (rf"(\|>)\s*({OPS})\b", "meta.pipe", {1: "keyword.operator", 2: "support.function"}),
    (rf"(\.)({NAME})", "meta.label", {1: "punctuation.accessor", 2: "entity.other.attribute-name"}),
    (rf"\b{NAME}(?=\s*(?:\[[^\]]*\])?\s*\()", "entity.name.function.call", {}),
    (r"\bpi\b", "constant.language", {}),
    (NAME, "variable.other", {}),
    (r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", "constant.numeric", {}),
    (r"->|\|>|<=|>=|==|!=|[-+*/^%<>=~|]", "keyword.operator", {}),
    (r"[\[\](){}]", "punctuation.bracket", {}),
    (r"[,:.]", "punctuation.separator", {}),
)


def textmate() -> str:
    """The grammar as JSON."""
    patterns: list[dict[str, Any]] = []
    for expression, scope, groups in RULES:
        rule: dict[str, Any] = {"match": expression}
        if not scope.startswith("meta"):
            rule["name"] = f"{scope}.attn"
        if groups:
            rule["captures"] = {str(number): {"name": f"{name}.attn"} for number, name in groups.items()}
        patterns.append(rule)
    note = "Written by editors/grammar.py (`make docs`): do not edit."
    made = {"$comment": note, "name": "attn", "scopeName": "source.attn", "fileTypes": ["attn"], "patterns": patterns}
    return json.dumps(made, indent=2) + "\n"


# No two patterns meet at a node, since editors disagree on which of two holds; the names of captures are those that
# Neovim and Helix both know, or know the beginning of.
HIGHLIGHTS = """\
; Written by editors/grammar.py (`make docs`): do not edit.

(comment) @comment
(string) @string
[(integer) (float)] @constant.numeric
[(true) (false)] @constant.builtin.boolean

["use"] @keyword.import
["block" "model" "op"] @keyword.function
["width" "depth" "const" "param" "config"] @keyword.type
["if" "else"] @keyword.conditional
["repeat" "scan"] @keyword.repeat
["return"] @keyword.return
["share" "expect" "as" "like" "in" "causal" "trusted" "shared" "ragged" "frozen"] @keyword
["and" "or" "not" "where"] @keyword.operator

["->" "|>" "<=" ">=" "==" "!=" "<" ">" "+" "-" "*" "/" "%" "^" "=" "~" "|"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter

(path (identifier) @module)
(block name: (identifier) @function)
(op name: (identifier) @function)
(config name: (identifier) @label)
(formal name: (identifier) @variable.parameter)
(argument name: (identifier) @variable.parameter)
(axis name: (identifier) @type)
(axis like: (identifier) @type)
(generic name: (identifier) @type)
(generic like: (identifier) @type)
(type of: (identifier) @type.builtin (#match? @type.builtin "^(bool|int|real)$"))
(type of: (identifier) @type (#not-match? @type "^(bool|int|real)$"))
(type axis: (identifier) @type)
(result axis: (identifier) @type)
(brackets (identifier) @type)
(renamed (identifier) @type)
(selected axis: (identifier) @type)
(size (identifier) @type)
(const name: (identifier) @constant)
(setting name: (identifier) @constant)
(param name: (identifier) @property)
(init name: (identifier) @function.builtin)

(call op: (identifier) @function.builtin (#match? @function.builtin "^(OPS)$"))
(call op: (identifier) @function.call (#not-match? @function.call "^(OPS)$"))
(scan op: (identifier) @function.call)
(call label: (identifier) @property)
(scan label: (identifier) @property)
(repeat label: (identifier) @property)
"""


def highlights() -> str:
    """The query of the tree-sitter grammar, in which the ops of the language are named."""
    return HIGHLIGHTS.replace("OPS", "|".join(sorted(WRITABLE)))
