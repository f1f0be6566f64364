"""A function's text as lines of tokens, without comments, blank lines, docstrings and indentation.

x = tl.load(p)  # first   ->   line 3: x = tl . load ( p )
"""

from __future__ import annotations

import io
import keyword
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True)
class TokenLine:
    """The tokens that start on one line, and their columns from 0 without the function's own indentation.

    `index` is the line's index in the function's text.
    """

    index: int
    texts: tuple[str, ...]
    columns: tuple[int, ...]

    @cached_property
    def without_names(self) -> tuple[str, ...]:
        """The tokens with each name that a user can change blanked; attributes and keywords stay."""
        before = ("", *self.texts)
        return tuple(
            "_" if previous != "." and _is_own_name(text) else text
            for previous, text in zip(before, self.texts, strict=False)
        )


def _is_own_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not keyword.iskeyword(text)


def def_index(lines: Sequence[str]) -> int:
    """The index of the `def` below the decorators, as Triton finds it; 0 if there is none."""
    return next((index for index, line in enumerate(lines) if DEF.match(line)), 0)


def token_lines(text: str) -> list[TokenLine]:
    """The lines of a function from its `def` on. Never fails; takes time linear in the text."""
    lines = text.split("\n")
    first = def_index(lines)
    body = textwrap.dedent("\n".join(lines[first:]))
    try:
        tokens = list(_python_tokens(body))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        tokens = list(_plain_tokens(body))
    found: dict[int, list[tuple[str, int]]] = {}
    for row, column, token in tokens:
        found.setdefault(first + row, []).append((token, column))
    return [
        TokenLine(index, tuple(token for token, _ in own), tuple(column for _, column in own))
        for index, own in sorted(found.items())
    ]


def _python_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """(row from 0, column, token); strings that are whole statements are left out."""
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if not all(own.type == tokenize.STRING for own in statement):
                yield from ((own.start[0] - 1, own.start[1], own.string) for own in statement)
            statement = []
        elif token.type not in _IGNORED:
            statement.append(token)


def _plain_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    for row, line in enumerate(text.split("\n")):
        for match in _PLAIN.finditer(line):
            if not match[0].startswith("#"):
                yield row, match.start(), match[0]
