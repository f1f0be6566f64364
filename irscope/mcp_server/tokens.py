"""How many tokens a text has for a language model, from above, because no tokenizer is a dependency.

Byte-pair encodings split a text into words, groups of at most three digits, punctuation and line ends, and
keep frequent pieces whole. `tokens` counts the pieces that such a split cannot exceed on the texts that
irscope sends: `benchmarks/mcp_session.py` prints both for a real tokenizer if one is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Letters, digits, blanks (one blank is part of the word after it), a character beyond ASCII, any other.
_PIECE = re.compile(r"([A-Za-z]+)|([0-9]+)|(\n+)|( {2,}|\t+)|( )|([^\x00-\x7f])|(.)", re.S)
# Identifiers and opcodes are split more often than words: a token has four letters.
_LETTERS, _DIGITS = 4, 2
_BEYOND_ASCII = 2


def tokens(text: str) -> int:
    """An upper estimate of the tokens of a text."""
    total = 0
    for letters, digits, lines, blanks, blank, other, _ in _PIECE.findall(text):
        if letters:
            total += -(-len(letters) // _LETTERS)
        elif digits:
            total += -(-len(digits) // _DIGITS)
        elif other:
            total += _BEYOND_ASCII
        elif lines or blanks or not blank:
            total += 1
    return total


def compact_json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON as it is sent, without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def clip_tokens(text: str, most: int) -> str:
    """The beginning of a text with at most `most` tokens; "..." replaces the rest."""
    if tokens(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) < most else (low, middle - 1)
    return text[:low] + "..."
