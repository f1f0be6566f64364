"""Syntax highlighting of what is on screen: Pygments on a piece of one line, remembered."""

from __future__ import annotations

from functools import cache, lru_cache

from pygments.lexer import Lexer
from pygments.lexers.python import PythonLexer
from pygments.token import Token, _TokenType

from irscope.languages.lexers import lexer_for

# A line can have 16,000 characters: lexing starts this far left of the screen, at the end of a word.
LEAD = 120

# A comma between two words of one colour takes that colour: a structure of 1,140 types changes it once.
_BETWEEN = 2

# The style classes of irscope.tcss, by the token types that use them; a type counts for those below it.
_CLASSES = {
    Token.Comment: "comment",
    Token.Keyword: "keyword",
    Token.Keyword.Type: "type",
    Token.Name.Attribute: "attribute",
    Token.Name.Builtin: "keyword",
    Token.Name.Class: "type",
    Token.Name.Decorator: "attribute",
    Token.Name.Function: "function",
    Token.Name.Label: "attribute",
    Token.Literal.String: "string",
    Token.Literal.Number: "number",
    Token.Operator.Word: "keyword",
}
STYLE_CLASSES = tuple(dict.fromkeys(_CLASSES.values()))

# A piece of a line in one style: start and end in characters, and the style class.
Run = tuple[int, int, str]


def runs(text: str, language: str | None, start: int, width: int) -> list[Run]:
    """The styled pieces of `text[start : start + width]`, counted from `start`."""
    if language is None:
        return []
    begin = _boundary(text, start - LEAD) if start > LEAD else 0
    end = start + width
    found = _lex(text[begin:end], language)
    shift = start - begin
    return [(max(a - shift, 0), b - shift, name) for a, b, name in found if b > shift]


def _boundary(text: str, near: int) -> int:
    """The place of the first blank from `near` on, or `near` where the next LEAD characters have none."""
    blank = text.find(" ", near, near + LEAD)
    return near if blank < 0 else blank


@lru_cache(maxsize=4096)
def _lex(piece: str, language: str) -> tuple[Run, ...]:
    found: list[Run] = []
    for place, kind, value in _lexer(language).get_tokens_unprocessed(piece):
        name = _style_class(kind)
        if name is None:
            continue
        end = place + len(value)
        if found and found[-1][2] == name and place - found[-1][1] <= _BETWEEN:
            found[-1] = (found[-1][0], end, name)
        else:
            found.append((place, end, name))
    return tuple(found)


@cache
def _lexer(language: str) -> Lexer:
    return PythonLexer() if language == "python" else lexer_for(language)


@cache
def _style_class(kind: _TokenType) -> str | None:
    while kind not in _CLASSES:
        if kind.parent is None:
            return None
        kind = kind.parent
    return _CLASSES[kind]
