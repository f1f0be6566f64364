"""Pygments' PTX lexer, mended for predicates and for opcodes as a whole."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import inherit
from pygments.lexers.ptx import PtxLexer
from pygments.token import Keyword, Name, Number, Punctuation


class TritonPtxLexer(PtxLexer):
    """PTX with `@%p1` and with `ld.global.v4.b32`, `shared::cta` and `0f3F800000` as one word each."""

    name = "PTX (Triton)"
    aliases: ClassVar[list[str]] = ["triton-ptx"]
    filenames: ClassVar[list[str]] = []

    tokens: ClassVar = {
        "root": [
            (r"@!?", Name.Decorator),
            (r"0[fd][0-9A-Fa-f]+\b", Number),
            (r"[a-z]\w*(?:\.\w+(?:::\w+)*)+(?=[\s;])", Keyword),
            inherit,
            (r"[|:]", Punctuation),
        ],
    }
