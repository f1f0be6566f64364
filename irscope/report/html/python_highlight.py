"""Python as HTML: a span per token, with the classes of the style sheets."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Literal, Name, Operator, _TokenType

from irscope.report.html.markup import Html, element, joined

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
    """Each line, highlighted; the names in `marked` are in a `mark` element."""
    found: list[list[str]] = [[]]
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for kind, value in lexer.get_tokens("\n".join(lines)):
        for number, piece in enumerate(value.split("\n")):
            if number:
                found.append([])
            if piece in marked and str(kind).startswith(str(Name)):
                found[-1].append(element("mark", piece))
                continue
            name = _class(kind)
            found[-1].append(element("span", piece, class_=name) if name and piece else piece)
    return [joined(pieces) for pieces in found]


def _class(kind: _TokenType) -> str:
    while kind not in _CLASSES and kind.parent is not None:
        kind = kind.parent
    return _CLASSES.get(kind, "")
