"""Text from captures made safe to print: kernel names, IR and compiler messages are untrusted."""

from __future__ import annotations

import re

from irscope.model.text import pluralize as pluralize  # noqa: PLC0414 - the name by which report has it

# C0 but line feed and tab, DEL, C1 (with CSI), the bidirectional controls (Unicode UAX #9) that can
# reorder a line, characters without width, separators that terminals may break lines at, and halves of
# surrogate pairs, which cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)

# What Markdown would take for markup in a sentence (CommonMark 2.4).
_MARKUP = re.compile(r"([\\`*_\[\]<|~$])")


def printable(text: str) -> str:
    r"""`text` with every character that could command a terminal made visible; lines and tabs stay.

    C0 and DEL become their pictures (U+2400 to U+2421), the others `\x9b` or `\u202e`.
    """
    return _UNSAFE.sub(_visible, text)


def one_line(text: str) -> str:
    """`text` printable and without line feeds or tabs, for a cell, a name or a message."""
    return printable(text).replace("\n", "\u240a").replace("\t", "\u2409")


def clipped(text: str, width: int) -> str:
    """At most `width` characters of `text`; what was cut shows as "..."."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def code(text: str) -> str:
    """`text` as a Markdown code span that also holds in a table cell (CommonMark 6.1, GFM 4.10)."""
    text = one_line(text).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def markdown_escaped(text: str) -> str:
    """`text` in one line of Markdown, with nothing in it taken for markup."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _visible(match: re.Match[str]) -> str:
    character = ord(match[0])
    if character < 0x20:
        return chr(0x2400 + character)
    if character == 0x7F:
        return "\u2421"
    return f"\\x{character:02x}" if character < 0x100 else f"\\u{character:04x}"
