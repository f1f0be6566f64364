"""A slide, and the pieces that several slides are made of: code, commands, notes, bars."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from irscope.report.html.markup import Html, element, joined
from irscope.workspace import RowSide, entry_for

_CODE = re.compile(r"`([^`]+)`")
# The characters of a row that fit on a slide.
_MOST_TEXT = 260


@dataclass(frozen=True)
class Slide:
    """A slide: its title (text, or markup), its content, and what the speaker may say about it.

    `kind` is a class of the style sheet.
    """

    title: str
    body: Sequence[Html]
    notes: Sequence[Html] = ()
    kind: str = ""


def slide_element(slide: Slide, number: int, total: int, source: str) -> Html:
    """A slide with its number; `source` is the name of the capture or lesson."""
    heading = element("h1" if number == 1 else "h2", slide.title)
    frame = element(
        "div",
        heading,
        element("div", *slide.body, class_="body"),
        element("footer", element("span", source), element("span", f"{number} / {total}")),
        class_="frame",
    )
    notes = element("aside", *slide.notes, class_="notes", aria_label="Speaker notes")
    return element(
        "section",
        frame,
        notes,
        id=f"s{number}",
        class_=f"slide {slide.kind}".rstrip(),
        aria_label=f"Slide {number}",
        tabindex=-1,
    )


def fragment(name: str, /, *children: str, class_: str = "") -> Html:
    """An element that a key press uncovers; printed, and without scripts, it is shown."""
    return element(name, *children, class_=f"fragment {class_}".rstrip())


def paragraph(*children: str, class_: str | None = None) -> Html:
    """A paragraph."""
    return element("p", *children, class_=class_)


def command(text: str) -> Html:
    """A note with a command that shows the slide's subject live."""
    return paragraph("Live: ", element("code", text))


def term_notes(*words: str) -> list[Html]:
    """The glossary entry of each word."""
    found = [(word, entry) for word in words if (entry := entry_for(word))]
    return [paragraph(element("b", f"{word}: "), inline_code(entry.text)) for word, entry in found]


def inline_code(text: str) -> Html:
    """Text with Markdown's code spans."""
    parts = _CODE.split(text)
    return joined(element("code", part) if place % 2 else part for place, part in enumerate(parts))


def code_lines(lines: Iterable[tuple[int | None, str]]) -> Html:
    """Lines of code with their numbers; None: a line that only says how many are left out."""
    rows = [
        element(
            "span",
            element("i", "" if number is None else str(number)),
            element("span", text or " "),
            class_="line" if number is not None else "line omitted",
        )
        for number, text in lines
    ]
    return element("pre", element("code", *rows), class_="code")


def marked_text(side: RowSide) -> Html:
    """The text of a row without its indentation; `mark` elements are the spans that changed.

    Of a long text, only the characters from shortly before the first change.
    """
    start = len(side.text) - len(side.text.lstrip())
    if side.spans and side.spans[0][0] > start + _MOST_TEXT * 2 // 3 and len(side.text) - start > _MOST_TEXT:
        start = side.spans[0][0] - _MOST_TEXT // 3
    stop = min(len(side.text), start + _MOST_TEXT)
    parts: list[str] = ["..." if side.text[:start].strip() else ""]
    at = start
    for span in side.spans:
        first, last = (min(max(place, at), stop) for place in span)
        parts += [side.text[at:first], element("mark", side.text[first:last]) if first < last else ""]
        at = last
    return joined([*parts, side.text[at:stop], "..." if stop < len(side.text) else ""])


def bar(share: float, class_: str = "") -> Html:
    """A horizontal bar; `share` is between 0 and 1."""
    width = round(100 * min(max(share, 0.0), 1.0), 1)
    return element(
        "svg",
        element("rect", width=100, height=10, class_="ground"),
        element("rect", width=width, height=10, class_=f"amount {class_}".rstrip()),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


def breakable(name: str) -> Html:
    """A name that a narrow heading may break after underscores."""
    parts = name.split("_")
    return joined([part for one in parts[:-1] for part in (f"{one}_", element("wbr"))] + parts[-1:])


def subject_of(sentence: str) -> tuple[str, str]:
    """A finding's subject, up to the first colon outside of parentheses, and the rest; "" if it has none.

    "Loads of b (line 8: b = tl.load(p)): 4 -> 8" -> ("Loads of b (line 8: b = tl.load(p)):", " 4 -> 8")
    """
    depth = 0
    for place, letter in enumerate(sentence):
        depth += (letter == "(") - (letter == ")")
        if letter == ":" and depth <= 0:
            return sentence[: place + 1], sentence[place + 1 :]
    # A quoted line of Python may be cut in the middle of its parentheses.
    subject, cut, rest = sentence.partition(" (line ")
    return (subject, f"{cut}{rest}") if cut else ("", sentence)


def capitalized(text: str) -> str:
    """`text` with a large first letter; the others stay."""
    return text[:1].upper() + text[1:]
