"""The changes between two aligned lines, in words: each changed piece with what it was and what it is.

    #blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], order = [1, 0]}>
    #blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], order = [1, 0]}>
    -> threadsPerWarp: [4, 8] -> [2, 16], and shortened #blocked = #ttg.blocked<{…, threadsPerWarp = ..., …}>

The pieces are larger than the changed tokens, because `4 -> 2, 8 -> 16` does not say of what.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from irscope.diff.word_diff import changed_pairs, changed_spans
from irscope.model.records import frozen
from irscope.model.text import split_entries

Span = tuple[int, int]

# A piece grows to the edges of its list or word, but not beyond this many characters on a side.
_REACH = 60
# In a longer line, changes are only looked for up to here: finding them takes quadratic time.
_LONGEST = 40_000
_ALIAS = re.compile(r"(#\w+ = #[\w.]+<\{)(.*)(\}>.*)", re.DOTALL)
_LABEL = re.compile(r"([\w.\"-]+)\s*[=:]\s*$")
_OPENING, _CLOSING = "[(", "])"
# Besides blanks, the edges of a word: `tensor<64x64xf32, #mma>` has the words 64x64xf32 and #mma.
_EDGES = frozenset(" \t,;<>[](){}=")
_ELIDED = "…"
# The start of a line: its indentation and, in SASS, the address of the instruction.
_LEAD = re.compile(r"\s*(?:/\*\w+\*/\s*)?")


@frozen
class LineChange:
    """A piece of a line that changed. `label` is the name of the attribute, if it has one."""

    label: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """Return `threadsPerWarp: [4, 8] -> [2, 16]`."""
        sides = f"{self.before or 'nothing'} -> {self.after or 'nothing'}"
        return f"{self.label}: {sides}" if self.label else sides


@lru_cache(maxsize=256)
def line_spans(left: str, right: str, raw: bool) -> tuple[Sequence[Span], Sequence[Span]]:
    """Return the spans in which two lines differ.

    `raw`: every difference counts, even of names and locations; the spans are then what is
    between the common start and the common end.
    """
    if not raw:
        return changed_spans(left, right)
    pairs = _raw_pairs(left, right)
    return tuple(ours for ours, _ in pairs), tuple(theirs for _, theirs in pairs)


@lru_cache(maxsize=256)
def first_change(left: str, right: str, raw: bool = False) -> tuple[Span, Span] | None:
    """Return the first pieces that replace each other, with the name of the attribute that they are of.

    Return None if only names and locations differ.
    """
    left, right = left[:_LONGEST], right[:_LONGEST]
    pair = next(iter(_raw_pairs(left, right) if raw else changed_pairs(left, right)), None)
    return pair and (_labeled(left, _piece(left, pair[0])), _labeled(right, _piece(right, pair[1])))


@lru_cache(maxsize=256)
def line_changes(left: str, right: str, raw: bool = False) -> tuple[LineChange, ...]:
    """Return the changed pieces of two aligned lines, in order."""
    left, right = left[:_LONGEST], right[:_LONGEST]
    changes: list[LineChange] = []
    ends = (0, 0)
    for ours, theirs in _raw_pairs(left, right) if raw else changed_pairs(left, right):
        if ours[0] < ends[0] and theirs[0] < ends[1]:
            continue  # part of the piece before
        piece, right_piece = _piece(left, ours), _piece(right, theirs)
        ends = piece[1], right_piece[1]
        label = _label(left, piece[0]) or _label(right, right_piece[0])
        changes.append(LineChange(label, left[slice(*piece)].strip(), right[slice(*right_piece)].strip()))
    return tuple(dict.fromkeys(changes))


def content_span(text: str) -> Span:
    """Return the span of a line without its indentation and address."""
    lead = _LEAD.match(text)
    end = len(text.rstrip())
    return min(lead.end() if lead else 0, end), end


@lru_cache(maxsize=512)
def elided_layouts(left: str, right: str) -> tuple[str, str]:
    """Replace fields that are equal in two lines that define layouts with an ellipsis.

    Other lines, and layouts without an equal or without a different field, stay as they are.
    """
    ours, theirs = _ALIAS.fullmatch(left), _ALIAS.fullmatch(right)
    if ours is None or theirs is None:
        return left, right
    fields = split_entries(ours[2]), split_entries(theirs[2])
    equal = set(fields[0]) & set(fields[1])
    if not equal or equal == set(fields[0]) | set(fields[1]):
        return left, right
    return _elided(ours, fields[0], equal), _elided(theirs, fields[1], equal)


def _elided(match: re.Match[str], fields: Sequence[str], equal: set[str]) -> str:
    parts: list[str] = []
    for field in fields:
        text = _ELIDED if field in equal else field
        if not (text == _ELIDED and parts and parts[-1] == _ELIDED):
            parts.append(text)
    return f"{match[1]}{', '.join(parts)}{match[3]}"


def _raw_pairs(left: str, right: str) -> list[tuple[Span, Span]]:
    """Return the part between the common start and the common end of two lines."""
    if left == right:
        return []
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    return [((head, len(left) - tail), (head, len(right) - tail))]


def _common(left: str, right: str) -> int:
    """Return the length of the common start."""
    unequal = (index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
    return next(unequal, min(len(left), len(right)))


def _piece(text: str, span: Span) -> Span:
    """Return the innermost list around a span, else its words.

    A span of several words keeps what it has of them.
    """
    start, end = span
    left, right = _list_start(text, start), _list_end(text, end)
    if left is not None and right is not None:
        return left, right
    while start > 0 and span[0] - start < _REACH and text[start - 1] not in _EDGES:
        start -= 1
    while end < len(text) and end - span[1] < _REACH and text[end] not in _EDGES:
        end += 1
    return start, end


def _list_start(text: str, place: int) -> int | None:
    """Find the opening of the list around `place`, if near; skip a list that closes before it."""
    depth = 0
    for offset in range(place - 1, max(place - 1 - _REACH, -1), -1):
        depth += (text[offset] in _CLOSING) - (text[offset] in _OPENING)
        if depth < 0:
            return offset if text[offset] == "[" else None
    return None


def _list_end(text: str, place: int) -> int | None:
    """Return the offset behind the bracket that closes the list around `place`."""
    depth = 0
    for offset in range(place, min(place + _REACH, len(text))):
        depth += (text[offset] in _OPENING) - (text[offset] in _CLOSING)
        if depth < 0:
            return offset + 1 if text[offset] == "]" else None
    return None


def _label(text: str, start: int) -> str:
    """Return the attribute whose value starts at `start`."""
    match = _LABEL.search(text, max(start - _REACH, 0), start)
    return match[1].strip('"') if match else ""


def _labeled(text: str, span: Span) -> Span:
    match = _LABEL.search(text, max(span[0] - _REACH, 0), span[0])
    return (match.start(1), span[1]) if match else span
