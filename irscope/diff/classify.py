"""How a matched pair differs: both normalized texts are split into tokens, each of one kind, and compared.

    % = tt.splat % : i32 -> tensor<64xi32>
    % = tt.splat % : i32 -> tensor<128xi32>        -> Change.SHAPE

A comparison of the whole texts would only say that the lines differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Indel

from irscope.diff.layout_changes import is_layout
from irscope.diff.rows import Change
from irscope.languages.brackets import closing_bracket
from irscope.languages.language import Language

# Stages repeat the same change in many operations.
_CACHED_PAIRS = 4096

_TOKEN = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*"?)'
    r"|(?P<value>%[\w$.-]*(?::\d+)?|!\d*(?![\w.]))"
    r"|(?P<layout>#[A-Za-z_][\w$.]*)"
    r"|(?P<hexadecimal>\b0[xf][0-9A-Fa-f]+\b)"
    r"|(?P<shape>(?<=[<\s])(?:\d+|\?)(?:x(?:\d+|\?))*(?=x[a-z!])|\b\d+(?:x\d+)+\b|\b\d+(?= x ))"
    r"|(?P<attribute>\b(?:align|addrspace)\b ?\(?\d*\)?)"
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)"
    r"|(?P<dimension_end>(?<=[\d?])x(?=!))"
    r"|(?P<type>!tt[\w.]*|(?:\b|(?<=[\d?]))x?(?:[uis]{1,2}\d+|b?f\d+\w*|tf32)\b"
    r"|\b(?:index|tensor|vector|memdesc|ptr|half|float|double|bfloat|void|label)\b)"
    r"|(?P<word>@?[\w$.]+)"
    r"|(?P<mark>->|\S)"
)
_DIGITS = re.compile(r"\d+")
# Tokens that are part of an attribute in `inputPrecision = tf32` and `{axis = 1 : i32}`.
_ATTRIBUTE_VALUES = frozenset(["hexadecimal", "number", "type", "shape"])
_LITERALS = frozenset(["true", "false", "undef", "poison", "null", "zeroinitializer", "none"])
_KINDS = {
    "text": Change.ATTRIBUTE,
    "value": Change.OPERANDS,
    "layout": Change.LAYOUT,
    "hexadecimal": Change.CONSTANT,
    "shape": Change.SHAPE,
    "attribute": Change.ATTRIBUTE,
    "dimension_end": Change.EQUAL,
    "number": Change.CONSTANT,
    "type": Change.TYPE,
    "word": Change.ATTRIBUTE,
    "mark": Change.EQUAL,
}


# A type that only one side has is not another shape.
_KINDS_ALONE = {Change.SHAPE: Change.TYPE}


class _Token(NamedTuple):
    text: str
    kind: Change


@lru_cache(maxsize=_CACHED_PAIRS)
def classify(left: str, right: str, language: str) -> Change:
    """Return how two normalized texts of one opcode differ; EQUAL if they are identical.

    In MLIR, everything between braces and after an equals sign is an attribute. A number that
    changes like a dimension of the same operation (`end = 64` of a `tensor<64xi32>`) counts as
    that dimension.
    """
    if left == right:
        return Change.EQUAL
    changed = _changed(list(_tokens(left, language)), list(_tokens(right, language)))
    resized = {pair for a, b in changed for pair in _dimensions(a, b)}
    change = Change.EQUAL
    for removed, added in changed:
        if (_texts(removed), _texts(added)) in resized:
            change |= Change.SHAPE
            continue
        if _is_respecialized(removed, added):
            change |= Change.CONSTANT
            continue
        for tokens, opposite_tokens in ((removed, added), (added, removed)):
            kinds = _kinds(opposite_tokens)
            for kind in _kinds(tokens):
                change |= kind if kind in kinds else _KINDS_ALONE.get(kind, kind)
    return change or Change.ATTRIBUTE


def _kinds(tokens: list[_Token]) -> set[Change]:
    # Most equal tokens are one object, and its id is found sooner than the hash of a flag.
    return {token.kind for token in {id(token): token for token in tokens}.values()}


def _tokens(text: str, language: str) -> Iterator[_Token]:
    syntax = Language.named(language)
    token_of_word: dict[str, _Token] = {}
    braces = offset = 0
    after_equals = False
    while match := _TOKEN.search(text, offset):
        offset = match.end()
        name, word = match.lastgroup or "mark", match[0]
        kind = _KINDS[name]
        if name == "layout":
            if text.startswith("<", offset):
                close = closing_bracket(text, offset, "<>")
                offset = len(text) if close is None else close + 1
                word = text[match.start() : offset]
            kind = Change.LAYOUT if is_layout(match[0].lstrip("#")) else Change.ATTRIBUTE
        elif name == "mark":
            braces += (word == "{") - (word == "}")
        elif syntax.attributes_in_braces and (braces > 0 or after_equals) and name in _ATTRIBUTE_VALUES:
            kind = Change.ATTRIBUTE
        elif word == "dense":
            kind = Change.TYPE  # a splat of the number: a tensor instead of a scalar
        elif word in _LITERALS and not (syntax.attributes_in_braces and braces > 0):
            kind = Change.CONSTANT
        elif word in syntax.register_classes:
            kind = Change.OPERANDS
        after_equals = word == "="
        token = token_of_word.get(word)
        if token is None or token.kind is not kind:
            token = token_of_word[word] = _Token(word, kind)
        yield token


def _changed(left: list[_Token], right: list[_Token]) -> list[tuple[list[_Token], list[_Token]]]:
    """Return the runs of tokens that differ, as (removed, added)."""
    if [token.kind for token in left] == [token.kind for token in right]:
        return [([a], [b]) for a, b in zip(left, right, strict=True) if a.text != b.text]
    opcodes = Indel.opcodes([token.text for token in left], [token.text for token in right])
    runs: list[tuple[list[_Token], list[_Token]]] = []
    after_equal = True
    for op in opcodes:
        if op.tag == "equal":
            after_equal = True
            continue
        removed, added = left[op.src_start : op.src_end], right[op.dest_start : op.dest_end]
        if after_equal:
            runs.append((removed, added))
        else:
            runs[-1] = (runs[-1][0] + removed, runs[-1][1] + added)
        after_equal = False
    return runs


def _texts(tokens: list[_Token]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)


def _is_respecialized(removed: list[_Token], added: list[_Token]) -> bool:
    """Check whether a callee became another specialization of itself: names contain the constants."""
    if len(removed) != 1 or len(added) != 1 or not removed[0].text.startswith("@"):
        return False
    return _DIGITS.sub("", removed[0].text) == _DIGITS.sub("", added[0].text)


def _dimensions(
    removed: list[_Token], added: list[_Token]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the dimensions that changed in a run, each as (old,), (new,)."""
    for a, b in zip(removed, added, strict=False):
        if a.kind is Change.SHAPE and b.kind is Change.SHAPE:
            for old, new in zip(a.text.split("x"), b.text.split("x"), strict=False):
                if old != new:
                    yield (old,), (new,)
