"""The lexer classes that Pygments finds by entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.languages.language import Language

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# The entry points of pyproject.toml: `pygmentize -l ttgir` works for the languages that Pygments lacks.
_ENTRY_POINTS = {"TritonMlirLexer": "mlir", "NvidiaSassLexer": "sass", "AmdgcnLexer": "amdgcn"}


def __getattr__(name: str) -> type[Lexer]:
    """Return the class of an entry point. Its language is loaded now, so that others start faster."""
    if name not in _ENTRY_POINTS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return Language.named(_ENTRY_POINTS[name]).lexer()
