"""A stage in the sixteen colors of the terminal, whose theme determines how they look."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token

from irscope.workspace import Language

# Lexing takes about one second per 2 MB; larger texts are printed without colors.
MAX_CHARACTERS = 4_000_000

# Colors that are legible on dark and light backgrounds; Pygments expects one for each. A token type that is
# missing here has the color of its parent.
_COLORS = {
    token: (color, color)
    for token, color in {
        Token: "",
        Comment: "brightblack",
        Keyword: "magenta",
        Keyword.Type: "cyan",
        Name.Attribute: "blue",
        Name.Builtin: "magenta",
        Name.Class: "cyan",
        Name.Decorator: "blue",
        Name.Function: "blue",
        Name.Label: "red",
        Name.Variable: "",
        Number: "cyan",
        Operator.Word: "magenta",
        String: "green",
    }.items()
}


def highlighted(text: str, language: str) -> str:
    """`text` with ANSI colors; `language` is a name in the stage table, "python" or "text".

    The text must be printable already: colors must be its only escape codes.
    """
    if len(text) > MAX_CHARACTERS:
        return text
    lexer = Language.named(language).new_lexer()
    lexer.stripnl = lexer.ensurenl = False
    return highlight(text, lexer, TerminalFormatter(colorscheme=_COLORS))
