"""Screens of a terminal as one animated SVG: each distinct line is stored once, CSS moves between frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate, groupby

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

# The size of a character cell, of the bar above the screen and of the margin around it, in units of the SVG.
_WIDTH, _HEIGHT = 10, 21
_BAR, _MARGIN = 40, 12
_INK, _GROUND = ColorTriplet(216, 222, 233), ColorTriplet(18, 18, 18)
_DIM = 0.45


@dataclass(frozen=True)
class Frame:
    """A screen as text with ANSI colors, how long it stays, what happens, and the key that was pressed."""

    screen: str
    seconds: float
    caption: str = ""
    key: str = ""


@dataclass
class _Parts:
    """The classes of styles, and the id and markup of each distinct line."""

    styles: dict[str, str] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)

    def style(self, css: str) -> str:
        return self.styles.setdefault(css, f"c{len(self.styles)}")

    def line(self, markup: str) -> str:
        return self.lines.setdefault(markup, f"l{len(self.lines)}")


def film_svg(frames: Sequence[Frame], size: tuple[int, int], still: int | None = None) -> str:
    """The film of a terminal with `size` columns and lines.

    `still` is the index of the frame that is shown if the reader prefers reduced motion (None: the longest).
    """
    frames = _merged(frames)
    columns, lines = size
    width, height = columns * _WIDTH + 2 * _MARGIN, lines * _HEIGHT + _BAR + _MARGIN
    parts = _Parts()
    pictures = [_picture(frame, parts, width, lines) for frame in frames]
    if still is None:
        still = max(range(len(frames)), key=lambda place: frames[place].seconds)
    strip = "".join(
        f'<g transform="translate({place * width})">{one}</g>' for place, one in enumerate(pictures)
    )
    defined = "".join(f'<g id="{name}">{markup}</g>' for markup, name in parts.lines.items())
    dots = "".join(
        f'<circle cx="{_MARGIN + 8 + 20 * place}" cy="20" r="6" fill="{color}"/>'
        for place, color in enumerate(("#bf616a", "#ebcb8b", "#a3be8c"))
    )
    # A film of one frame is a picture: no time passes.
    bar = (
        f'<rect class="time" y="{_BAR - 3}" width="{width}" height="3" fill="#88c0d0"/>' if frames[1:] else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<style>{_css(frames, parts, width, still)}</style>"
        f"<defs>{defined}</defs>"
        f'<rect width="{width}" height="{height}" rx="9" fill="#2b303b"/>'
        f'<rect y="{_BAR}" width="{width}" height="{height - _BAR}" rx="9" fill="{_GROUND.hex}"/>{dots}'
        f'<svg width="{width}" height="{height}"><g class="strip">{strip}</g></svg>'
        f"{bar}</svg>\n"
    )


def _merged(frames: Sequence[Frame]) -> list[Frame]:
    """The frames; equal ones that follow each other become one."""
    found = []
    for (screen, caption, key), same in groupby(frames, key=lambda one: (one.screen, one.caption, one.key)):
        found.append(Frame(screen, sum(one.seconds for one in same), caption, key))
    return found


def _css(frames: Sequence[Frame], parts: _Parts, width: int, still: int) -> str:
    """The styles, and the animation: at the start of each frame, the strip jumps to it."""
    ends = list(accumulate(frame.seconds for frame in frames))
    total = ends[-1]
    starts = [0.0, *ends[:-1]]
    stops = "".join(
        f"{100 * start / total:.3f}%{{transform:translateX({-place * width}px)}}"
        for place, start in enumerate(starts)
    )
    classes = "".join(f".{name}{{{css}}}" for css, name in parts.styles.items())
    return (
        f"text{{font:16.6px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"white-space:pre;fill:{_INK.hex}}}.cap{{font:600 16px system-ui,sans-serif;fill:#e5e9f0}}"
        f".key{{font-weight:700;fill:#2b303b}}{classes}"
        f".strip{{animation:film {total:.2f}s steps(1,end) infinite}}@keyframes film{{{stops}}}"
        f".time{{transform-origin:0 0;animation:time {total:.2f}s linear infinite}}"
        "@keyframes time{from{transform:scaleX(0)}}"
        "@media (prefers-reduced-motion:reduce){.time{animation:none;opacity:0}"
        f".strip{{animation:none;transform:translateX({-still * width}px)}}}}"
    )


def _picture(frame: Frame, parts: _Parts, width: int, lines: int) -> str:
    """The lines of a frame by their ids, its caption and its key."""
    rows = Text.from_ansi(frame.screen).split("\n", allow_blank=True)[:lines]
    used = [(place, _line(row, parts)) for place, row in enumerate(rows)]
    uses = "".join(
        f'<use href="#{parts.line(markup)}" y="{_BAR + place * _HEIGHT}"/>'
        for place, markup in used
        if markup
    )
    caption = f'<text class="cap" x="88" y="26">{escape(frame.caption)}</text>' if frame.caption else ""
    return f"{uses}{caption}{_key(frame.key, width)}"


def _key(name: str, width: int) -> str:
    """The pressed key, in a box at the right of the bar."""
    if not name:
        return ""
    wide = len(name) * _WIDTH + 20
    left = width - wide - _MARGIN
    return (
        f'<rect x="{left}" y="7" width="{wide}" height="25" rx="5" fill="#e5e9f0"/>'
        f'<text class="key" x="{left + 10}" y="25" textLength="{len(name) * _WIDTH}">{escape(name)}</text>'
    )


def _line(row: Text, parts: _Parts) -> str:
    """A line of the screen: boxes of background colors, then texts, each as wide as its cells."""
    boxes, texts, at = [], [], 0
    for text, style in _runs(row):
        cells = cell_len(text)
        ink, ground = _colors(style)
        x = _MARGIN + at * _WIDTH
        if ground != _GROUND:
            box = parts.style(f"fill:{ground.hex}")
            boxes.append(f'<rect class="{box}" x="{x}" width="{cells * _WIDTH}" height="{_HEIGHT}"/>')
        shown = text.strip()
        if shown:
            start = len(text) - len(text.lstrip())
            name = parts.style(_text_css(style, ink))
            texts.append(
                f'<text class="{name}" x="{x + start * _WIDTH}" y="16" lengthAdjust="spacingAndGlyphs" '
                f'textLength="{cell_len(shown) * _WIDTH}">{escape(shown)}</text>'
            )
        at += cells
    return "".join([*boxes, *texts])


def _runs(row: Text) -> list[tuple[str, Style]]:
    """The pieces of a line with one style each."""
    styles = [Style.null()] * len(row.plain)
    for start, end, style in row.spans:
        if isinstance(style, Style):
            for place in range(start, min(end, len(styles))):
                styles[place] += style
    pairs = zip(row.plain, styles, strict=True)
    return [
        ("".join(one for one, _ in run), style) for style, run in groupby(pairs, key=lambda pair: pair[1])
    ]


def _colors(style: Style) -> tuple[ColorTriplet, ColorTriplet]:
    """The colors of a text and of what is behind it."""
    ink, ground = _triplet(style.color, _INK), _triplet(style.bgcolor, _GROUND)
    if style.reverse:
        ink, ground = ground, ink
    return (blend_rgb(ink, ground, _DIM) if style.dim else ink), ground


def _triplet(color: Color | None, default: ColorTriplet) -> ColorTriplet:
    return default if color is None or color.is_default else color.get_truecolor(SVG_EXPORT_THEME)


def _text_css(style: Style, ink: ColorTriplet) -> str:
    parts = [f"fill:{ink.hex}"]
    parts += ["font-weight:700"] if style.bold else []
    parts += ["font-style:italic"] if style.italic else []
    parts += ["text-decoration:underline"] if style.underline else []
    return ";".join(parts)
