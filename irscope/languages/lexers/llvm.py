"""Pygments' LLVM lexer, mended for what today's LLVM prints."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import inherit
from pygments.lexers.asm import LlvmLexer
from pygments.token import Name, Number, Punctuation


class LlvmIrLexer(LlvmLexer):
    """LLVM IR whose unknown words (new attributes, fields of debug metadata) are names, not errors."""

    name = "LLVM IR"
    aliases: ClassVar[list[str]] = ["llvm-ir"]
    filenames: ClassVar[list[str]] = ["*.llir"]

    tokens: ClassVar = {
        "root": [
            (r"f0x[0-9A-Fa-f]+\b", Number),
            inherit,
            (r"[A-Za-z_][\w.]*", Name.Attribute),
            (r"[|:+-]", Punctuation),
        ],
    }
