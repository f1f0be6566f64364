"""An answer of a tool: text and the same as data, both bounded; what does not fit is a call away.

Clients give a model the text, the structured content, or both, so each is complete and short, and the limit
is on their sum.

How many tokens a text has for a language model, from above, because no tokenizer is a dependency.

Byte-pair encodings split a text into words, groups of at most three digits, punctuation and line ends, and
keep frequent pieces whole. `tokens` counts the pieces that such a split cannot exceed on the texts that
irscope sends: `benchmarks/mcp_session.py` prints both for a real tokenizer if one is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irscope.model.text import printable

# Letters, digits, blanks (one blank is part of the word after it), a character beyond ASCII, any other.
_PIECE = re.compile(r"([A-Za-z]+)|([0-9]+)|(\n+)|( {2,}|\t+)|( )|([^\x00-\x7f])|(.)", re.S)
# Identifiers and opcodes are split more often than words: a token has four letters.
_LETTERS, _DIGITS = 4, 2
_BEYOND_ASCII = 2


def tokens(text: str) -> int:
    """Estimate the tokens of a text from above."""
    total = 0
    for letters, digits, lines, blanks, blank, beyond_ascii, _ in _PIECE.findall(text):
        if letters:
            total += -(-len(letters) // _LETTERS)
        elif digits:
            total += -(-len(digits) // _DIGITS)
        elif beyond_ascii:
            total += _BEYOND_ASCII
        elif lines or blanks or not blank:
            total += 1
    return total


def compact_json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON as it is sent, without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def clip_tokens(text: str, most: int) -> str:
    """Return the beginning of a text with at most `most` tokens; "..." replaces the rest."""
    if tokens(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) < most else (low, middle - 1)
    return text[:low] + "..."


MOST_TOKENS = 1500
# The limits that a caller may set, in tokens: less has no room for an item, more belongs in a file.
LEAST, LARGEST = 200, 20_000
# Room for the line that says how to go on.
_MORE = 40
# The share of the limit that one item may take: a long one must not stop all others.
_ITEM_SHARE = 0.4


@dataclass(frozen=True)
class Item:
    """One of a list: a line of text, and its record in the structured content."""

    text: str
    record: object


@dataclass(frozen=True)
class ToolAnswer:
    """The answer of a tool: `head` and `data`, then `items` (in the data as the list `key`), then `tail`.

    `is_error`: the tool could not do what was asked, and `data` has `error`, one line.
    """

    head: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    items: Sequence[Item] = ()
    tail: str = ""
    is_error: bool = False


@dataclass(frozen=True)
class Rendered:
    """An answer as it is sent; `tokens` estimates both parts together."""

    text: str
    data: dict[str, Any]
    is_error: bool = False

    @property
    def tokens(self) -> int:
        """Return the tokens of the text and of the data."""
        return tokens(self.text) + tokens(compact_json(self.data))


def rendered(answer: ToolAnswer, offset: int = 0, most: int = MOST_TOKENS) -> Rendered:
    """Return an answer with the items from `offset` on that fit into `most` tokens, at least one.

    If some are left out, the text and `next_offset` say where to go on.
    """
    fixed = tokens(answer.head) + tokens(answer.tail) + tokens(compact_json(answer.data))
    room = max(most - fixed - _MORE, most // 4)
    texts, records = _fitting(answer.items[offset:], room, int(most * _ITEM_SHARE))
    data = dict(answer.data)
    if answer.key:
        data[answer.key] = records
    lines = [answer.head, *texts]
    end = offset + len(records)
    if end < len(answer.items):
        data["next_offset"] = end
        lines.append(f"... {len(answer.items) - end} more: same call with offset={end}")
    text = "\n".join(part for part in (*lines, answer.tail) if part)
    return _limited(Rendered(printable(text), _printable(data), answer.is_error), most)


def _printable(data: dict[str, Any]) -> dict[str, Any]:
    """Make all text from captures in the data printable, as the text part has it."""

    def safe(value: object) -> object:
        if isinstance(value, str):
            return printable(value)
        if isinstance(value, dict):
            return {printable(str(name)): safe(part) for name, part in value.items()}
        return [safe(part) for part in value] if isinstance(value, list | tuple) else value

    return {name: safe(part) for name, part in data.items()}


def _fitting(items: Sequence[Item], room: int, each: int) -> tuple[list[str], list[object]]:
    texts: list[str] = []
    records: list[object] = []
    for item in items:
        text = clip_tokens(item.text, each)
        record = item.record if text == item.text else _clipped(item.record, each)
        room -= tokens(text) + tokens(compact_json([record])) + 2
        if room < 0 and records:
            break
        texts.append(text)
        records.append(record)
    return texts, records


def _clipped(value: object, most: int) -> object:
    """Return a record with its texts clipped."""
    if isinstance(value, str):
        return clip_tokens(value, most)
    if isinstance(value, dict):
        return {name: _clipped(part, most) for name, part in value.items()}
    return [_clipped(part, most) for part in value] if isinstance(value, list) else value


def _limited(answer: Rendered, most: int) -> Rendered:
    """Clip the long texts of an answer whose fixed parts are too long, such as a compiler's message."""
    for share in (0.45, 0.3, 0.2, 0.1, 0.05):
        if answer.tokens <= most:
            break
        part = int(most * share)
        text = clip_tokens(answer.text, int(most * 0.5))
        answer = Rendered(
            text, {name: _clipped(value, part) for name, value in answer.data.items()}, answer.is_error
        )
    return answer


def failed(error: str, **data: object) -> ToolAnswer:
    """Return an answer that says in one line why there is no result.

    `data` may have the whole message.
    """
    more = {name: value for name, value in data.items() if value}
    text = "\n".join(str(value) for value in more.values() if isinstance(value, str))
    return ToolAnswer(
        "\n".join(part for part in (f"error: {error}", text) if part), {"error": error, **more}, is_error=True
    )
