"""`irscope report --slides`: a talk about a capture in one file, which loads nothing else.

Hand-written: slides.js and slides.css have 18 kB; reveal.js 5.2 with its style sheet and its notes has
240 kB and sets styles that the Content-Security-Policy of reports forbids.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from irscope import __version__
from irscope.document.html.markup import Html, element
from irscope.document.html.report_page import own_file, page_html
from irscope.document.html.slides.kernel import config_slides, inputs_slide, kernel_slides
from irscope.document.html.slides.pair import (
    Slide,
    command,
    inline_code,
    pair_slides,
    paragraph,
    slide_element,
    term_notes,
)
from irscope.document.slide_content import Chapter, SlideDeck
from irscope.model.text import pluralize

_NO_ADVICE = "No remedy is known: findings, lint rules and the other variants suggest none."
_KEYS = (
    ("\u2192 \u2190 space", "next and previous"),
    ("o", "overview"),
    ("s", "speaker window: notes, next slide, clock"),
    ("n", "notes below the slides, also in print"),
    ("f", "full screen"),
    ("d", "dark or light"),
    ("b", "black screen"),
    ("?", "this help"),
)


def slides_html(deck: SlideDeck) -> str:
    """Return the talk.

    Text of the capture is escaped; script and style are the files next to this module.
    """
    return talk_html(deck.report.title, deck.report.capture, list(_slides(deck)))


def talk_html(title: str, source: str, slides: Sequence[Slide]) -> str:
    """Return a page of slides; `source`, the name of the capture or lesson, is below each."""
    sections = [slide_element(slide, number, len(slides), source) for number, slide in enumerate(slides, 1)]
    body = [
        element("main", *sections),
        _controls(),
        _help(),
        element("noscript", element("p", "JavaScript is disabled: all slides are below each other.")),
    ]
    return page_html(f"{title}: slides", own_file("slides/slides.css"), own_file("slides/slides.js"), body)


def _controls() -> Html:
    buttons = [
        element("button", text, type="button", data_key=key, aria_label=label, title=f"{label} ({key})")
        for text, key, label in (
            ("\u2039", "ArrowLeft", "Previous"),
            ("\u203a", "ArrowRight", "Next"),
            ("\u25a6", "o", "Overview"),
            ("?", "?", "Help"),
        )
    ]
    return element("nav", *buttons, class_="controls", aria_label="Slides")


def _help() -> Html:
    rows = [element("tr", element("th", keys, scope="row"), element("td", what)) for keys, what in _KEYS]
    touch = paragraph("On a phone, swipe. Printing gives a page per slide.")
    return element("dialog", element("h2", "Keys"), element("table", *rows), touch, class_="help")


def _slides(deck: SlideDeck) -> Iterator[Slide]:
    path = shlex.quote(deck.report.capture)
    yield _title(deck)
    sources: set[str] = set()
    for chapter in deck.chapters:
        if len(deck.chapters) > 1:
            yield Slide(chapter.section.title, [paragraph(chapter.section.origin)], kind="chapter")
        if chapter.shown.kernel.source.text not in sources:
            yield from kernel_slides(chapter, path)
        sources.add(chapter.shown.kernel.source.text)
        yield inputs_slide(chapter, path)
        yield from config_slides(chapter, path)
        for pair in chapter.pairs:
            yield from pair_slides(pair, path)
        yield _advice(chapter, path)
    yield _last(deck, path)


def _title(deck: SlideDeck) -> Slide:
    versions = [
        ", ".join(f"{name} {text}" for name, text in toolchain.versions.items())
        for toolchain in deck.report.toolchains
    ]
    body = [
        paragraph("How Triton compiles it, and what differs between two configs", class_="subtitle"),
        paragraph(deck.report.summary),
        *(paragraph(text, class_="quiet") for text in versions[:2]),
    ]
    notes = [
        paragraph("? lists the keys. Press s for a window with these notes, the next slide and a clock."),
        command(f"irscope tui {shlex.quote(deck.report.capture)}"),
    ]
    return Slide(deck.report.title, body, notes, "title")


def _advice(chapter: Chapter, path: str) -> Slide:
    """Advice on the configs, and the main points about the compared variants."""
    items = [element("li", inline_code(text)) for text in chapter.advice]
    body = [element("ul", *items) if items else paragraph(_NO_ADVICE)]
    if not chapter.verdict.launch:
        pick = element("code", f'irscope pick {path} --launch "grid=(...), M=4096"')
        body.append(paragraph("With a launch, it is estimated which configs are worth measuring: ", pick))
    for verdict in chapter.verdicts:
        points = [element("li", point.text) for point in verdict.points]
        if points:
            body += [element("h3", f"#{verdict.variant.id} {verdict.name}"), element("ul", *points)]
    notes = [*term_notes("duplicate", "autotune"), command(f"irscope pick {path}")]
    return Slide(f"What to do about {chapter.section.kernel}", body, notes, "advice")


def _last(deck: SlideDeck, path: str) -> Slide:
    """Return the slide on how to look further, and on what has no slides."""
    names = [section.title for section in deck.left_out]
    listed = "; ".join(names[:8]) + (f"; and {len(names) - 8} more" if len(names) > 8 else "")
    left_out = [
        paragraph(f"Without slides: {listed}. ", element("code", "--kernel"), " selects.", class_="quiet")
    ]
    commands = (
        (f"irscope tui {path}", "every stage of every config, next to the Python"),
        (f"irscope diff {path} A B", "two configs, stage by stage"),
        (f"irscope report {path}", "one page to share, with all diffs"),
        ("irscope learn", "lessons with exercises"),
    )
    rows = [
        element("tr", element("td", element("code", text)), element("td", what)) for text, what in commands
    ]
    tables = pluralize(len(deck.report.sections), "table")
    body = [
        element("table", *rows, class_="commands"),
        *(left_out if names else ()),
        paragraph(f"Written by irscope {__version__} from {deck.report.capture} ({tables}).", class_="quiet"),
    ]
    return Slide("Look for yourself", body, [paragraph("No GPU is needed for any of these.")], "last")
