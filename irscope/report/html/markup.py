"""HTML that is safe by its type: a plain string is text, and becomes markup only by being escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from irscope.model.text import printable

# Elements without content and end tag (HTML, 13.1.2).
_VOID = frozenset(["br", "col", "input", "link", "meta", "wbr"])

Attribute = str | int | float | bool | None


class Html(str):
    """Markup. Any operation on it except `joined` gives a plain string, which is escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """An element with `children`: Html is kept, any other string is text.

    `class_` is the attribute class, `data_lines` data-lines. An attribute that is True has no value; one that
    is None or False is omitted.
    """
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start) if name in _VOID else Html(f"{start}{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Html:
    """The concatenation of markup and texts."""
    return Html("".join(child if isinstance(child, Html) else _escaped(child) for child in children))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    # As everywhere in irscope, control characters that reorder or hide text are made visible.
    return escape(printable(text))
