"""Pygments lexers: one for each language, and the classes that Pygments finds by entry point.

Import this module only to highlight: it imports Pygments.
"""

from __future__ import annotations

from pygments.lexer import Lexer

from irscope.languages.language import language_named

# The entry points of pyproject.toml: `pygmentize -l ttgir` works for the languages that Pygments lacks.
_ENTRY_POINTS = {"TritonMlirLexer": "mlir", "NvidiaSassLexer": "sass", "AmdgcnLexer": "amdgcn"}


def __getattr__(name: str) -> type[Lexer]:
    """Return the class of an entry point. Its language is loaded now, so that others start faster."""
    if name not in _ENTRY_POINTS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return language_named(_ENTRY_POINTS[name]).lexer()


def lexer_for(language: str) -> Lexer:
    """Return a lexer for a language of the stage table. Raises KeyError for an unknown language.

    It keeps blank lines at both ends, so offsets of tokens are offsets in the text. As every
    Pygments lexer, it adds a line feed if the text does not end with one.
    """
    return language_named(language).lexer()(stripnl=False)
