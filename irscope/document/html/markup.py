"""HTML that is safe by its type: a plain string is text, and becomes markup only by being escaped.

Data for the script of a page: JSON, compressed, in an element that no browser runs or shows.

Python as HTML: a span per token, with the classes of the style sheets.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Literal, Name, Operator, _TokenType

from irscope.model.text import printable

# Elements without content and end tag (HTML, 13.1.2).
_VOID = frozenset(["br", "col", "input", "link", "meta", "wbr"])

Attribute = str | int | float | bool | None


class Html(str):
    """Markup. Any operation on it except `joined` gives a plain string, which is escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """Return an element with `children`: Html is kept, any other string is text.

    `class_` is the attribute class, `data_lines` data-lines. An attribute that is True has no
    value; one that is None or False is omitted.
    """
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start) if name in _VOID else Html(f"{start}{joined(children)}</{name}>")


def table(heading: Iterable[Html], rows: Iterable[Html], class_: str | None = None) -> Html:
    """Return a table with one row of headings."""
    head = element("thead", element("tr", *heading))
    return element("table", head, element("tbody", *rows), class_=class_)


def joined(children: Iterable[str]) -> Html:
    """Concatenate markup and texts."""
    return Html("".join(child if isinstance(child, Html) else _escaped(child) for child in children))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    # As everywhere in irscope, control characters that reorder or hide text are made visible.
    return escape(printable(text))


def payload(identity: str, document: dict[str, Any]) -> Html:
    """Return the element with the id `identity`.

    Its text is base64 of the zlib stream (RFC 1950) of JSON.
    """
    data = zlib.compress(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), 9)
    # A type that is not JavaScript: the browser keeps the text and runs nothing.
    return element("script", base64.b64encode(data).decode(), type="text/plain", id=identity)


# Classes of the style sheet; a token type that is missing has the class of its parent.
_CLASSES = {
    Comment: "comment",
    Keyword: "keyword",
    Literal.Number: "number",
    Literal.String: "string",
    Name.Builtin: "keyword",
    Name.Decorator: "name",
    Name.Function: "name",
    Operator.Word: "keyword",
}


def highlighted(lines: Sequence[str], marked: Collection[str] = ()) -> list[Html]:
    """Highlight each line; the names in `marked` are in a `mark` element."""
    line_pieces: list[list[str]] = [[]]
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for kind, value in lexer.get_tokens("\n".join(lines)):
        for number, piece in enumerate(value.split("\n")):
            if number:
                line_pieces.append([])
            if piece in marked and str(kind).startswith(str(Name)):
                line_pieces[-1].append(element("mark", piece))
                continue
            name = _class(kind)
            line_pieces[-1].append(element("span", piece, class_=name) if name and piece else piece)
    return [joined(pieces) for pieces in line_pieces]


def _class(kind: _TokenType) -> str:
    while kind not in _CLASSES and kind.parent is not None:
        kind = kind.parent
    return _CLASSES.get(kind, "")
