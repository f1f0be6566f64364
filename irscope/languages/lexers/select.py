"""The Pygments lexer of each language in the stage table."""

from __future__ import annotations

from pygments.lexer import Lexer

from irscope.languages.lexers.amdgcn import AmdgcnLexer
from irscope.languages.lexers.llvm import LlvmIrLexer
from irscope.languages.lexers.mlir import TritonMlirLexer
from irscope.languages.lexers.ptx import TritonPtxLexer
from irscope.languages.lexers.sass import NvidiaSassLexer

_LEXERS: dict[str, type[Lexer]] = {
    "mlir": TritonMlirLexer,
    "llvm": LlvmIrLexer,
    "ptx": TritonPtxLexer,
    "sass": NvidiaSassLexer,
    "amdgcn": AmdgcnLexer,
}


def lexer_for(language: str) -> Lexer:
    """A lexer for a stage's language (the stage table's word). Raises KeyError for another word.

    It keeps blank lines at both ends, so tokens stand where the text has them; it adds a line feed at
    the end where there is none, as Pygments does.
    """
    return _LEXERS[language](stripnl=False)
