"""Which parts of two aligned lines differ, token by token, for the rows on screen."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate

from rapidfuzz.distance import Indel

# Tokens remembered with what they compare as: a stage has few thousand different ones.
_REMEMBERED = 65536

_REGISTER = r"(?:U?[RP]|S?B|gsb|[vsa]|ttmp)(?:\d+|\[\d+(?::\d+)?\])"
_LABEL = r"[$.]L\w+"
# Every character is in one token, so that token lengths add up to places in the line.
_TOKEN = re.compile(
    r'\bloc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)'  # an MLIR location
    r"|,? !dbg !\d+|/\*[0-9a-f]+\*/|//.*"  # an LLVM location, a SASS address, a comment
    rf"|\b{_REGISTER}(?!\w)|{_LABEL}"
    r"|%[\w$.-]*(?:#\d+|<\d+>)?|!(?:\d+|[a-z]\w*)|#\d+|#?[A-Za-z_$][\w$.]*"
    r"|0x[0-9A-Fa-f]+|\d+x(?=[\da-z!])|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\s+|."
)
# Names that mean nothing: values, metadata, registers, labels.
_NAME = re.compile(rf"%.*|!\d+|{_REGISTER}|{_LABEL}")
# What need not have a counterpart: blanks, locations, addresses, comments.
_VOID = re.compile(r"\s+|loc\(.*|,? !dbg.*|/\*.*|//.*")
_ALIAS = re.compile(r"#\w+")
# Lines about names and places alone: location tables, metadata, `.loc`, comments, labels.
_NO_CONTENT = re.compile(
    r"\s*(?:\.loc\b|\.file\b|#loc|!\d|//|;|\.b\d+\b|\.reg\b|\.set\b|[\w$.-]+:\s*(?:;|//|$))"
)

Span = tuple[int, int]


def changed_spans(left: str, right: str) -> tuple[list[Span], list[Span]]:
    """The stretches of `left` and of `right`, as (start, end), in which the two lines differ.

    Names of values, registers, labels, locations and the numbers of aliases differ without meaning and
    are in no stretch, unless there is no counterpart for them at all.
    """
    if left == right or (_NO_CONTENT.match(left) and _NO_CONTENT.match(right)):
        return [], []
    ours, theirs = _Tokens(left), _Tokens(right)
    left_spans: list[Span] = []
    right_spans: list[Span] = []
    if ours.keys != theirs.keys:
        for op in Indel.opcodes(ours.keys, theirs.keys):
            if op.tag != "equal":
                ours.extend(left_spans, op.src_start, op.src_end)
                theirs.extend(right_spans, op.dest_start, op.dest_end)
    return left_spans, right_spans


class _Tokens:
    """The tokens of a line that count: what they compare as, where they begin and end."""

    def __init__(self, line: str) -> None:
        tokens = _TOKEN.findall(line)
        ends = accumulate(map(len, tokens))
        kept = [(key, end, token) for token, end in zip(tokens, ends, strict=True) if (key := _key(token))]
        self.keys = [key for key, _, _ in kept]
        self.ends = [end for _, end, _ in kept]
        self.starts = [end - len(token) for _, end, token in kept]

    def extend(self, spans: list[Span], first: int, last: int) -> None:
        """Add the stretch of tokens from `first` to before `last`, or make the last stretch longer."""
        if first == last:
            return
        start, end = self.starts[first], self.ends[last - 1]
        if spans and first and spans[-1][1] == self.ends[first - 1]:
            start = spans.pop()[0]
        spans.append((start, end))


@lru_cache(maxsize=_REMEMBERED)
def _key(token: str) -> str:
    """What a token is compared as: names without meaning are all alike, "" needs no counterpart."""
    if _VOID.fullmatch(token):
        return ""
    if _NAME.fullmatch(token):
        return token[0]
    if _ALIAS.fullmatch(token):
        return token.rstrip("0123456789")
    return token
