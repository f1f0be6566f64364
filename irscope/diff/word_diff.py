"""Word highlighting: which parts of two aligned lines differ, token by token.

    %5 = arith.constant 64 : i32 loc(#loc3)
    %7 = arith.constant 128 : i32 loc(#loc9)      -> only 64 and 128

A comparison by character would highlight names and locations too, and cut numbers into pieces.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import accumulate, chain, compress

from irscope.languages.language import Language, known_languages

# A stage has a few thousand distinct tokens.
_CACHED_TOKENS = 65536

_LABEL = r"[$.]L\w+"
# Tokens that are ignored: blanks, locations, addresses, comments.
_VOID = re.compile(r"\s+|loc\(.*|,? !dbg.*|/\*.*|//.*")
_ALIAS = re.compile(r"#\w+")
# Lines with only names and locations: location tables, metadata, `.loc`, comments, labels.
_NO_CONTENT = re.compile(
    r"\s*(?:\.loc\b|\.file\b|#loc|!\d|//|;|\.b\d+\b|\.reg\b|\.set\b|[\w$.-]+:\s*(?:;|//|$))"
)

Span = tuple[int, int]


def changed_spans(left: str, right: str) -> tuple[list[Span], list[Span]]:
    """Return the spans (start, end) of `left` and of `right` in which the two lines differ.

    Names of values, registers and labels, locations, and the numbers of aliases are compared by
    kind only.
    """
    if left == right or (_NO_CONTENT.match(left) and _NO_CONTENT.match(right)):
        return [], []
    left_tokens, right_tokens = _Tokens(left), _Tokens(right)
    left_spans: list[Span] = []
    right_spans: list[Span] = []
    if left_tokens.keys != right_tokens.keys:
        from rapidfuzz.distance import Indel  # the app opens without a diff

        for op in Indel.opcodes(left_tokens.keys, right_tokens.keys):
            if op.tag != "equal":
                left_tokens.extend(left_spans, op.src_start, op.src_end)
                right_tokens.extend(right_spans, op.dest_start, op.dest_end)
    return left_spans, right_spans


def changed_pairs(left: str, right: str) -> list[tuple[Span, Span]]:
    """Return the spans of `left` and `right` that replace each other, in order.

    A span is empty where a line has nothing. As in `changed_spans`, names and locations do not
    count.
    """
    if left == right or (_NO_CONTENT.match(left) and _NO_CONTENT.match(right)):
        return []
    from rapidfuzz.distance import Indel  # the app opens without a diff

    left_tokens, right_tokens = _Tokens(left), _Tokens(right)
    pairs = []
    start = (0, 0)  # the first tokens after the last equal ones
    for op in [*Indel.opcodes(left_tokens.keys, right_tokens.keys), None]:
        end = (len(left_tokens.keys), len(right_tokens.keys)) if op is None else (op.src_start, op.dest_start)
        if op is None or op.tag == "equal":
            if start != end:
                pairs.append((left_tokens.span(start[0], end[0]), right_tokens.span(start[1], end[1])))
            start = end if op is None else (op.src_end, op.dest_end)
    return pairs


class _Tokens:
    """The tokens of a line that are compared: their keys, starts and ends."""

    def __init__(self, line: str) -> None:
        tokens = _token_pattern().findall(line)
        keys = list(map(_key, tokens))
        ends = list(accumulate(map(len, tokens)))
        self.keys = list(filter(None, keys))
        self.ends = list(compress(ends, keys))
        self.starts = list(compress(chain((0,), ends), keys))

    def span(self, first: int, last: int) -> Span:
        """Return the span of the tokens from `first` to before `last`; empty if there are none."""
        if first < last:
            return self.starts[first], self.ends[last - 1]
        offset = self.ends[first - 1] if first else 0
        return offset, offset

    def extend(self, spans: list[Span], first: int, last: int) -> None:
        """Add the span of the tokens from `first` to before `last`, or extend the last span by them."""
        if first == last:
            return
        start, end = self.starts[first], self.ends[last - 1]
        if spans and first and spans[-1][1] == self.ends[first - 1]:
            start = spans.pop()[0]
        spans.append((start, end))


@lru_cache(maxsize=_CACHED_TOKENS)
def _key(token: str) -> str:
    """Return the key that compares a token: its kind if its name has no meaning, "" if it is ignored."""
    if _VOID.fullmatch(token):
        return ""
    if _name_pattern().fullmatch(token):
        return token[0]
    if _ALIAS.fullmatch(token):
        return token.rstrip("0123456789")
    return token


@cache
def _registers() -> str:
    """Return a regular expression of the physical registers of all languages."""
    return "|".join(filter(None, (Language.named(name).register for name in known_languages())))


@cache
def _token_pattern() -> re.Pattern[str]:
    # Every character belongs to one token, so token lengths add up to offsets in the line.
    return re.compile(
        r'\bloc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)'  # an MLIR location
        r"|,? !dbg !\d+|/\*[0-9a-f]+\*/|//.*"  # an LLVM location, a SASS address, a comment
        rf"|{_registers()}|{_LABEL}"
        r"|%[\w$.-]*(?:#\d+|<\d+>)?|!(?:\d+|[a-z]\w*)|#\d+|#?[A-Za-z_$][\w$.]*"
        r"|0x[0-9A-Fa-f]+|\d+x(?=[\da-z!])|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\s+|."
    )


@cache
def _name_pattern() -> re.Pattern[str]:
    """Match names without a meaning: values, metadata, registers, labels."""
    return re.compile(rf"%.*|!\d+|{_registers()}|{_LABEL}")
