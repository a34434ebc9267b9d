"""The Pygments lexer: `pygmentize -l attn`, minted in LaTeX, Sphinx and MkDocs colour `.attn` with it."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from ..compiler.ops import WRITABLE
from ..dsl.tokens import TRUTH_WORDS

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_GAP = r"([ \t]+)"


class AttnLexer(RegexLexer):  # type: ignore[misc]
    """Attention architectures (`.attn`)."""

    name = "attn"
    aliases: ClassVar[list[str]] = ["attn", "attnc"]
    filenames: ClassVar[list[str]] = ["*.attn"]
    mimetypes: ClassVar[list[str]] = ["text/x-attn"]

    tokens: ClassVar = {
        "root": [
            (r"#[^\n]*", Comment.Single),
            (r'"[^"\n]*"', String.Double),
            # Words that are words only where they begin something: an axis may be called `model`.
            (rf"^([ \t]*)(block|model|op|config){_GAP}({_NAME})",
             bygroups(Whitespace, Keyword.Declaration, Whitespace, Name.Function)),
            (rf"^(use){_GAP}({_NAME}(?:\.{_NAME})*)", bygroups(Keyword.Namespace, Whitespace, Name.Namespace)),
            (words(("width", "depth", "const", "param"), r"\b", r"\b"), Keyword.Declaration),
            (words(("return", "repeat", "if", "else", "share", "expect", "scan"), r"\b", r"\b"), Keyword),
            (words((*TRUTH_WORDS, "where"), r"\b", r"\b"), Operator.Word),
            (words(("true", "false"), r"\b", r"\b"), Keyword.Constant),
            (rf"(?<=[\w\]]){_GAP}(as|like|in){_GAP}(?={_NAME}|\")", bygroups(Whitespace, Keyword, Whitespace)),
            (rf"(?<=\]){_GAP}(causal)\b", bygroups(Whitespace, Keyword)),
            (rf"{_GAP}(shared)(?=[ \t]*\{{)", bygroups(Whitespace, Keyword)),
            (rf"{_GAP}(ragged)(?=[ \t]*(?:,|#|$))", bygroups(Whitespace, Keyword)),
            (rf"{_GAP}(frozen)(?=[ \t]*(?:#|$))", bygroups(Whitespace, Keyword)),
            (r"\s+", Whitespace),
            (r"\b(bool|int|real)(?=[ \t]*\[)", Keyword.Type),
            (words(WRITABLE, r"\b", r"(?=[ \t]*[\[(.])"), Name.Builtin),
            (rf"(\|>)([ \t]*)({'|'.join(sorted(WRITABLE, key=len, reverse=True))})\b",
             bygroups(Operator, Whitespace, Name.Builtin)),
            (rf"(\.)({_NAME})", bygroups(Punctuation, Name.Attribute)),
            (rf"\b{_NAME}(?=[ \t]*(?:\[[^\]\n]*\])?[ \t]*\()", Name.Function),
            (r"\bpi\b", Name.Constant),
            (_NAME, Name),
            (r"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)", Number.Float),
            (r"[0-9]+", Number.Integer),
            (r"->|\|>|<=|>=|==|!=|[-+*/^%<>=~|]", Operator),
            (r"[\[\](){},:.]", Punctuation),
        ]
    }  # fmt: skip
