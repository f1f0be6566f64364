"""The Pygments lexer for Triton's MLIR (source, glir, ttir, ttgir)."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

__all__ = ["TritonMlirLexer"]

# Keywords of the assembly formats of operations.
_FORMAT_WORDS = (
    r"(?:and|at|attributes|case|default|deps|do|else|first|from|if|iter_args|mask|nested|num_warps|other"
    r"|partition\d+|private|public|step|then|to|tokens?|with)\b"
)
_CONTROL = r"(?:(?:tt|func|llvm)\.(?:func|return|call)|(?:scf|cf)\.\w+|ttg\.warp_\w+|(?:builtin\.)?module\b)"


class TritonMlirLexer(RegexLexer):
    """Triton's tile IR. No rule spans lines, so single lines can be lexed too.

    Locations are comments, so that they recede; operations of control flow are keywords.
    """

    name = "Triton MLIR"
    url = "https://triton-lang.org"
    aliases: ClassVar[list[str]] = ["ttir", "ttgir", "triton-mlir"]
    filenames: ClassVar[list[str]] = ["*.ttir", "*.ttgir", "*.source", "*.glir"]
    version_added = ""

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r"#loc\d*\b", Comment),
            (r"\bloc\(", Comment, "location"),
            (r'"[\w$.]+"(?=\()', Name.Function),
            (r"%[\w$.-]+(?:#\d+)?", Name.Variable),
            (r"\^[\w$.-]+", Name.Label),
            (r'@(?:"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\w$.-]+)', Name.Class),
            (r'"[^"\\\n]*"(?=\s*=)', Name.Attribute),
            (r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?', String),
            (r"#[A-Za-z_][\w$.]*", Name.Decorator),
            (r"![A-Za-z_][\w$.]*", Keyword.Type),
            (r"[A-Za-z_][\w$.-]*(?=\s*=)", Name.Attribute),
            (_CONTROL, Keyword),
            (r"[A-Za-z_][\w$]*(?:\.[\w$]+)+", Name.Function),
            (r"(?:tensor|vector|memref|memdesc|tuple|complex|index|none|array|opaque)\b", Keyword.Type),
            (r"(?:[su]?i\d+|b?f\d+|tf32|f\d+E\d\w*)\b", Keyword.Type),
            (r"(?:true|false|unit|unknown|dense|sparse)\b", Keyword.Constant),
            (_FORMAT_WORDS, Keyword.Reserved),
            (r"(?:[1-9]\d*|\?)(?=x[\w!?])", Number.Integer, "dimension"),
            (r"0x[0-9A-Fa-f]+", Number.Hex),
            (r"-?\d+\.\d*(?:[eE][-+]?\d+)?", Number.Float),
            (r"-?\d+", Number.Integer),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|::|[=*+/|-]", Operator),
            (r"[()\[\]{}<>,:;?]", Punctuation),
        ],
        "dimension": [(r"x", Punctuation, "#pop")],
        "location": [
            (r'[^()"\n]+', Comment),
            (r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?', Comment),
            (r"\(", Comment, "#push"),
            (r"\)", Comment, "#pop"),
        ],
    }
