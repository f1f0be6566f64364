"""Text for people: plurals, and untrusted text made safe to show.

Kernel names, IR and compiler messages come from captures, which are untrusted: nothing in them may command
the terminal.

HTML of values in a notebook: escaped paragraphs, lists and tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

_TAB_WIDTH = 4
# Longer numbers sort as text.
_MOST_DIGITS = 20
# The characters that nothing shows, in which a name can hide text from people, but not from agents: Unicode's
# property Default_Ignorable_Code_Point (DerivedCoreProperties.txt of Unicode 17.0, whose ranges are those of
# 14.0), with tags and variation selectors. Python's unicodedata does not have it.
_DEFAULT_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Characters for formatting (category Cf) that nothing shows either: those of interlinear annotations and of
# Egyptian hieroglyphs. The others of the category have a glyph.
_FORMATTING = "\ufff9-\ufffb\U00013430-\U0001343f"
# C0 except line feed and tab, DEL, C1 (with CSI), invisible characters (among them the bidirectional controls
# of Unicode UAX #9, which can reorder a line), separators at which terminals may break lines, and surrogates,
# which cannot be encoded.
_UNSAFE = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DEFAULT_IGNORABLE}{_FORMATTING}\u2028\u2029\ud800-\udfff]"
)
# Characters that Markdown takes for markup within a sentence (CommonMark 2.4).
_MARKUP = re.compile(r"([\\`*_\[\]<|~$])")
_OPENING, _CLOSING = "([{<", ")]}>"
_SIBILANTS = ("s", "x", "z", "ch", "sh")


def pluralize(number: int, noun: str) -> str:
    """Return a number with its regular noun: "1 variant", "1,000 variants", "2 passes", "3 entries"."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(_SIBILANTS):
        return f"{number:,} {noun}es"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Format a time in seconds, or in milliseconds if it is shorter: "1.3 s", "33 ms"."""
    return f"{seconds:.1f} s" if seconds >= 0.95 else f"{seconds * 1000:.0f} ms"


def encoded(text: str) -> bytes:
    """Encode `text` in UTF-8, with question marks for lone surrogates."""
    return text.encode("utf-8", "replace")


def microseconds_text(time: float) -> str:
    """Format a time in microseconds with three digits: "0.12", "43.7", "1,230"."""
    return f"{time:.3g}" if time < 999.5 else f"{time:,.0f}"


def printable(text: str) -> str:
    r"""`text` with what commands a terminal, or is invisible, made visible; lines and tabs stay.

    C0 and DEL become their pictures (U+2400 to U+2421), others become `\x9b`, `\u202e` or `\U000e0041`.
    """
    # `isprintable` alone takes many invisible characters for printable: U+3164 is a letter.
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_visible, text)


def one_line(text: str) -> str:
    """Return `text` printable and without line feeds or tabs, for a cell, a name or a message."""
    return printable(text).replace("\n", "\u240a").replace("\t", "\u2409")


def display_line(text: str) -> str:
    """Return `text` as one line of a screen: `one_line` with tabs expanded."""
    return one_line(text.expandtabs(_TAB_WIDTH) if "\t" in text else text)


def clipped(text: str, width: int) -> str:
    """Return at most `width` characters of `text`; "..." replaces the rest."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def base_name(path: str) -> str:
    """Return the file's name in a path of any system: captures move between machines."""
    return path.replace("\\", "/").rpartition("/")[2]


def split_entries(text: str) -> list[str]:
    """Split the entries of a list that a user wrote at commas outside of brackets and quotes."""
    entries, depth, quote, start = [], 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            entries.append(text[start:index].strip())
            start = index + 1
    rest = text[start:].strip()
    return [*entries, rest] if rest or entries else []


def code(text: str) -> str:
    """Return `text` as a Markdown code span that is also valid in a table cell.

    See CommonMark 6.1 and GFM 4.10.
    """
    text = one_line(text).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def markdown_escaped(text: str) -> str:
    """Return `text` as one line of Markdown in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _visible(match: re.Match[str]) -> str:
    character = ord(match[0])
    if character < 0x20:
        return chr(0x2400 + character)
    if character == 0x7F:
        return "\u2421"
    if character < 0x100:
        return f"\\x{character:02x}"
    return f"\\u{character:04x}" if character < 0x10000 else f"\\U{character:08x}"


def has_words(text: str, query: str) -> bool:
    """Return True if each word of `query` is in a text; ignore case."""
    return all(word in text.lower() for word in query.lower().split())


def natural_key(text: str) -> str:
    """Return a key that sorts text with its numbers as numbers: "3.8.0" before "3.10.0"."""
    return re.sub(r"[0-9]+", lambda number: number[0].zfill(_MOST_DIGITS), text)


# A notebook shows at most this many rows of a table; the value has all.
MAX_ROWS = 100


def with_nearest(problem: str, name: str, known: Collection[str]) -> str:
    """Return `problem`, and the name among `known` that was probably meant, if one is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known), 1)
    return f"{problem}; did you mean {near[0]}?" if near else problem


def html_text(text: str, *, bold: bool = False) -> str:
    """Return `text` as escaped HTML on one line."""
    from html import escape  # here: its table of entities takes a millisecond, and only notebooks need it

    escaped = escape(one_line(text))
    return f"<b>{escaped}</b>" if bold else escaped


def html_paragraph(text: str, *, bold: bool = False) -> str:
    """Return a paragraph."""
    return f"<p>{html_text(text, bold=bold)}</p>"


def html_list(texts: Iterable[str], *, ordered: bool = False) -> str:
    """Return a list; "" without items."""
    items = "".join(f"<li>{html_text(text)}</li>" for text in texts)
    tag = "ol" if ordered else "ul"
    return f"<{tag}>{items}</{tag}>" if items else ""


def html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with at most MAX_ROWS rows of HTML cells, and how many rows it leaves out."""
    heading = "".join(f"<th>{html_text(title)}</th>" for title in titles)
    lines = ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[:MAX_ROWS])
    rest = html_paragraph(f"and {len(rows) - MAX_ROWS:,} more") if len(rows) > MAX_ROWS else ""
    return f"<table><tr>{heading}</tr>{''.join(lines)}</table>{rest}"
