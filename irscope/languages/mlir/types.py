"""What an operation's MLIR text says of types: shapes, element types, encodings, layout aliases.

For the diff, which tells a change of shape from one of layout or element type. All functions are pure,
take an operation's text or its `normal`, and never fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A location's alias is no layout. The string branch keeps `#` inside inline assembly out.
_ALIAS = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"?|%[\w$.-]+(?:#\d+)?|(?P<alias>#(?!loc\d*\b)[A-Za-z_][\w$-]*(?![\w$.-]))'
)
# `<64x32x`: the bracket and the dimensions of a tensor, memdesc, tensordesc or vector; `<0xFF>` is a number.
_SHAPED = re.compile(r"<((?:(?:[1-9]\d*|\?)x)+)")
_DELIMITER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|->|[\[\](){}<>,]')


@dataclass(frozen=True, slots=True)
class ShapedType:
    """A type with dimensions.

    `kind` is the word before its bracket: "tensor", "!ttg.memdesc", "!tt.tensordesc", "vector", "" where
    the assembly leaves it out (`-> <64x32xf16, #shared>`). `shape` is in elements, as text ("?" if
    dynamic). `parameters` are the rest: of a tensor its encoding, of a memdesc its encoding, memory space,
    "mutable" and the shape of the whole allocation.
    """

    kind: str
    shape: tuple[str, ...]
    element: str
    parameters: tuple[str, ...] = ()

    @property
    def encoding(self) -> str:
        """The layout that the type carries, "" if none."""
        return self.parameters[0] if self.parameters else ""


def layout_aliases(text: str) -> list[str]:
    """The layout aliases in an operation's text, in order of appearance: ["#blocked1", "#mma"].

    Those inside nested encodings count (`#ttg.slice<{dim = 1, parent = #blocked}>`), and so does the
    alias of a memory space (`#smem`).
    """
    return [match["alias"] for match in _ALIAS.finditer(text) if match["alias"]]


def split_types(text: str) -> tuple[str, list[ShapedType]]:
    """`text` with each shaped type cut down to its kind and `<>`, and those types in order.

    Two operations whose first parts are equal differ in their shaped types only.
    """
    rest: list[str] = []
    types: list[ShapedType] = []
    end = 0
    while match := _SHAPED.search(text, end):
        element, parameters, close = _parameters(text, match.end())
        kind = _word_before(text, end, match.start())
        types.append(ShapedType(kind, tuple(match[1][:-1].split("x")), element, parameters))
        rest += (text[end : match.start()], "<>")
        end = close
    rest.append(text[end:])
    return "".join(rest), types


def _word_before(text: str, begin: int, end: int) -> str:
    start = end
    while start > begin and (text[start - 1].isalnum() or text[start - 1] in "!._$"):
        start -= 1
    return text[start:end]


def _parameters(text: str, start: int) -> tuple[str, tuple[str, ...], int]:
    """The element type and parameters from `start` to the type's `>`, and the index behind that."""
    items: list[str] = []
    depth = 0
    end = len(text)
    for match in _DELIMITER.finditer(text, start):
        mark = match[0]
        if mark in "[({<":
            depth += 1
        elif depth and mark in "])}>":
            depth -= 1
        elif depth == 0 and mark in ",>":
            items.append(text[start : match.start()].strip())
            start = match.end()
            if mark == ">":
                end = start
                break
    else:
        items.append(text[start:].strip())
    return items[0], tuple(items[1:]), end
