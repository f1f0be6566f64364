"""How an aligned pair differs: the tokens of both neutral texts, each of one kind, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Indel

from irscope.diff.rows import Change

# Pairs remembered: stages repeat the same change in many operations.
_REMEMBERED = 4096

_TOKEN = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*"?)'
    r"|(?P<value>%[\w$.-]*(?::\d+)?|!\d*(?![\w.]))"
    r"|(?P<layout>#[A-Za-z_][\w$.]*)"
    r"|(?P<hexadecimal>\b0[xf][0-9A-Fa-f]+\b)"
    r"|(?P<shape>(?<=[<\s])(?:\d+|\?)(?:x(?:\d+|\?))*(?=x[a-z!])|\b\d+(?:x\d+)+\b|\b\d+(?= x ))"
    r"|(?P<attribute>\b(?:align|addrspace)\b ?\(?\d*\)?)"
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)"
    r"|(?P<type>!tt[\w.]*|\bx?(?:[uis]{1,2}\d+|b?f\d+\w*|tf32)\b"
    r"|\b(?:index|tensor|vector|memdesc|ptr|half|float|double|bfloat|void|label)\b)"
    r"|(?P<word>@?[\w$.]+)"
    r"|(?P<mark>->|\S)"
)
_DIGITS = re.compile(r"\d+")
_LITERALS = frozenset(["true", "false", "undef", "poison", "null", "zeroinitializer", "none"])
# Physical registers, as the parsers' neutral texts have them.
_REGISTERS = {
    "sass": frozenset(["R", "UR", "P", "UP", "B", "SB", "gsb"]),
    "amdgcn": frozenset(["v", "s", "a", "ttmp", "vcc", "exec", "m0"]),
}
_BRACKET = re.compile("[<>]")
_KINDS = {
    "text": Change.ATTRIBUTE,
    "value": Change.REWIRED,
    "layout": Change.LAYOUT,
    "hexadecimal": Change.CONSTANT,
    "shape": Change.SHAPE,
    "attribute": Change.ATTRIBUTE,
    "number": Change.CONSTANT,
    "type": Change.TYPE,
    "word": Change.ATTRIBUTE,
    "mark": Change.EQUAL,
}


class _Token(NamedTuple):
    text: str
    kind: Change


@lru_cache(maxsize=_REMEMBERED)
def difference(left: str, right: str, language: str) -> Change:
    """How two neutral texts of one opcode differ; EQUAL where they are the same.

    A number between braces of MLIR is an attribute; one that follows a changed dimension of the same
    operation (`end = 64` of a `tensor<64xi32>`) counts as that dimension.
    """
    if left == right:
        return Change.EQUAL
    ours, theirs = list(_tokens(left, language)), list(_tokens(right, language))
    changed = _changed(ours, theirs)
    resized = {pair for a, b in changed for pair in _dimensions(a, b)}
    change = Change.EQUAL
    for removed, added in changed:
        if (_texts(removed), _texts(added)) in resized:
            change |= Change.SHAPE
            continue
        if _same_function(removed, added):
            change |= Change.CONSTANT
            continue
        for token in (*removed, *added):
            change |= token.kind
    return change or Change.ATTRIBUTE


def _tokens(text: str, language: str) -> Iterator[_Token]:
    registers = _REGISTERS.get(language, frozenset())
    braces = at = 0
    while match := _TOKEN.search(text, at):
        at = match.end()
        name, word = match.lastgroup or "mark", match[0]
        kind = _KINDS[name]
        if name == "layout" and text.startswith("<", at):
            at = _closing(text, at)
            word = text[match.start() : at]
        elif name == "mark":
            braces += (word == "{") - (word == "}")
        elif name in ("number", "hexadecimal") and language == "mlir" and braces > 0:
            kind = Change.ATTRIBUTE
        elif word in _LITERALS:
            kind = Change.CONSTANT
        elif word in registers:
            kind = Change.REWIRED
        yield _Token(word, kind)


def _closing(text: str, at: int) -> int:
    """One past the `>` that closes the `<` at `at`; the end of the text if none does."""
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _changed(ours: list[_Token], theirs: list[_Token]) -> list[tuple[list[_Token], list[_Token]]]:
    """The stretches of tokens that differ, as (removed, added)."""
    if [token.kind for token in ours] == [token.kind for token in theirs]:
        return [([a], [b]) for a, b in zip(ours, theirs, strict=True) if a.text != b.text]
    opcodes = Indel.opcodes([token.text for token in ours], [token.text for token in theirs])
    stretches: list[tuple[list[_Token], list[_Token]]] = []
    behind = True
    for op in opcodes:
        if op.tag == "equal":
            behind = True
            continue
        removed, added = ours[op.src_start : op.src_end], theirs[op.dest_start : op.dest_end]
        if behind:
            stretches.append((removed, added))
        else:
            stretches[-1] = (stretches[-1][0] + removed, stretches[-1][1] + added)
        behind = False
    return stretches


def _texts(tokens: list[_Token]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)


def _same_function(removed: list[_Token], added: list[_Token]) -> bool:
    """Whether one function became another of its specializations: Triton's names hold the constants."""
    if len(removed) != 1 or len(added) != 1 or not removed[0].text.startswith("@"):
        return False
    return _DIGITS.sub("", removed[0].text) == _DIGITS.sub("", added[0].text)


def _dimensions(
    removed: list[_Token], added: list[_Token]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The dimensions that changed in a stretch, each as (old,), (new,)."""
    for a, b in zip(removed, added, strict=False):
        if a.kind is Change.SHAPE and b.kind is Change.SHAPE:
            for old, new in zip(a.text.split("x"), b.text.split("x"), strict=False):
                if old != new:
                    yield (old,), (new,)
