"""A function's text as lines of tokens, without comments, blank lines, docstrings and indentation.

x = tl.load(p)  # first   ->   line 3: x = tl . load ( p )
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from irscope.model.records import frozen_with_dict

DEF = re.compile(r"[ \t]*(?:async[ \t]+)?def\b")

_IGNORED = frozenset(
    [
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.ENCODING,
    ]
)
# For text that Python cannot tokenize: names and numbers, strings on one line, comments, any other character.
_PLAIN = re.compile(r"""[A-Za-z_]\w*|\d[\w.]*|"[^"\n]*"|'[^'\n]*'|#[^\n]*|\S""")
_NAME = re.compile(r"[^\W\d]\w*")
_CLOSING = frozenset(")]}")


class Token(NamedTuple):
    """A token, its row in the function's text, and its column without the function's indentation, from 0."""

    text: str
    row: int
    column: int


@frozen_with_dict
class StatementTokens:
    """The tokens of a statement, or of the first line of a compound one, on one line or several."""

    tokens: tuple[Token, ...]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Return the tokens without commas before a closing bracket, which formatters add."""
        return tuple(token.text for token in self.meaningful)

    @cached_property
    def meaningful(self) -> tuple[Token, ...]:
        """Return the tokens of `texts`."""
        after = (*self.tokens[1:], Token("", 0, 0))
        pairs = zip(self.tokens, after, strict=True)
        return tuple(token for token, then in pairs if not (token.text == "," and then.text in _CLOSING))

    @cached_property
    def without_names(self) -> tuple[str, ...]:
        """Return `texts` with each name that a user can change blanked; attributes and keywords stay."""
        before = ("", *self.texts)
        return tuple(
            "_" if previous != "." and _is_own_name(text) else text
            for previous, text in zip(before, self.texts, strict=False)
        )


def _is_own_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not keyword.iskeyword(text)


def function_node(source: str) -> ast.FunctionDef | None:
    """Return the syntax tree of a function's Python text, or None if it cannot be parsed."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Return the names in a syntax tree; with `context`, only those that are read or assigned."""
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}


def def_index(lines: Sequence[str]) -> int:
    """Return the index of the `def` below the decorators, as Triton finds it; 0 if there is none."""
    return next((index for index, line in enumerate(lines) if DEF.match(line)), 0)


def statements(text: str) -> list[StatementTokens]:
    """Return the statements of a function from its `def` on. Never fails; takes linear time."""
    lines = text.split("\n")
    first = def_index(lines)
    body = textwrap.dedent("\n".join(lines[first:]))
    try:
        return [StatementTokens(tuple(tokens)) for tokens in _python_statements(body, first)]
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return [StatementTokens(tuple(tokens)) for tokens in _plain_statements(body, first)]


@lru_cache(maxsize=64)
def statement_starts(text: str) -> tuple[int, ...]:
    """Map each row of a function's text to the row at which its statement starts; itself if none."""
    starts = list(range(text.count("\n") + 1))
    for statement in statements(text):
        first, last = statement.tokens[0].row, statement.tokens[-1].row
        starts[first : last + 1] = [first] * (last + 1 - first)
    return tuple(starts)


def _python_statements(text: str, first: int) -> Iterator[list[Token]]:
    """Yield the statements of Python text; strings that are whole statements are left out."""
    current: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if not all(part.type == tokenize.STRING for part in current):
                yield [Token(part.string, first + part.start[0] - 1, part.start[1]) for part in current]
            current = []
        elif token.type not in _IGNORED:
            current.append(token)


def _plain_statements(text: str, first: int) -> Iterator[list[Token]]:
    """Yield each line as a statement."""
    for row, line in enumerate(text.split("\n")):
        matches = [match for match in _PLAIN.finditer(line) if not match[0].startswith("#")]
        if matches:
            yield [Token(match[0], first + row, match.start()) for match in matches]
