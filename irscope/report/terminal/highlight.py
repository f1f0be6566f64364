"""A stage in the sixteen colours of the terminal, so that its own theme decides what they look like."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.lexer import Lexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token

from irscope.languages.lexers import lexer_for

# Whole texts are lexed, at 2 MB/s; what is larger is printed plain instead of keeping a person waiting.
MAX_CHARACTERS = 4_000_000

# Colours that can be read on dark and on light; Pygments wants one for each of the two. A token type
# that is not here has that of its parent.
_COLOURS = {
    token: (colour, colour)
    for token, colour in {
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
    """`text` with ANSI colours; `language` is the stage table's word, "python" or "text".

    The text has to be printable already: colours must be the only escape codes in it.
    """
    if len(text) > MAX_CHARACTERS:
        return text
    lexer = _lexer(language)
    lexer.stripnl = lexer.ensurenl = False
    return highlight(text, lexer, TerminalFormatter(colorscheme=_COLOURS))


def _lexer(language: str) -> Lexer:
    if language == "python":
        return PythonLexer()
    return TextLexer() if language == "text" else lexer_for(language)
