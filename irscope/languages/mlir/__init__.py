"""MLIR as Triton prints it: the source, glir, ttir and ttgir stages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from irscope.languages.language import Language
from irscope.languages.mlir.locations import strip_debug, strip_location
from irscope.languages.mlir.parser import parse

if TYPE_CHECKING:
    from pygments.lexer import Lexer


def _lexer() -> type[Lexer]:
    from irscope.languages.mlir.lexer import TritonMlirLexer

    return TritonMlirLexer


LANGUAGE = Language(
    name="mlir",
    parse=parse,
    lexer=_lexer,
    strip_debug=strip_debug,
    strip_location=strip_location,
    symbol=re.compile(r'@"?([-\w.$]+)'),
    has_regions=True,
    attributes_in_braces=True,
)
