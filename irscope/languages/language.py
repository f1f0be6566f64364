"""A language: how to parse, highlight, strip and compare its text.

The languages: one line per language. Its module is imported when the language is first used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from irscope.languages.document import Document
from irscope.model.plugins import guarded
from irscope.model.process import cycles_not_collected
from irscope.model.records import frozen

if TYPE_CHECKING:
    from pygments.lexer import Lexer

    from irscope.languages.branches import Branches
    from irscope.languages.registers import RegisterUse


_OPCODE_WORD = re.compile(r"([._ ]?)([^._ ]+)")
_NEVER = re.compile("(?!)")


def _unchanged(line: str) -> str:
    return line


def _no_branches(document: Document) -> Branches:
    return {}


@frozen
class Language:
    """A language, as registered in `registry`. Each language's module defines one as `LANGUAGE`.

    Parsing and showing:
      name: the name in the stage table ("mlir", "ptx", ...).
      parse: text -> document; never fails, and takes time linear in the text.
      lexer: returns the Pygments lexer class; imports Pygments only when called.

    Debug information:
      strip_debug: the lines of a text without the lines and parts that only hold debug information.
      strip_location: a single line without the location or debug id at its end; a line that only defines
        a location is unchanged.

    Control and data flow:
      branches: the operations of a document after which another one than the next may follow.
      registers: what the operations of a document do with registers; None if the language has none.
      polls: matches the opcodes that test whether to go on waiting; a small loop around one is a wait.

    Comparing:
      names_are_values: whether a name denotes a value. False for physical registers, because a name does
        not say which instruction wrote the part of a wide register that another one reads.
      symbol: matches a use of a function's name in normalized text; its last group is the name.
      register: a regular expression of the physical registers as printed.
      register_classes: the physical registers as normalized text has them ("R", "v").
      comment: the mark of a comment that runs to the end of the line; "" if there is none.
      has_regions: whether operations contain others. If so, only those span several lines.
      attributes_in_braces: whether a number between braces is an attribute and not a constant.
      header: matches the lines outside of operations that carry a meaning for the whole stage.
      directive: matches the lines for the assembler or the loader, which say nothing about what runs.
      modifiers: parts of an opcode that do not change its class: rounding, ordering, encoding.
      heavy: matches the opcodes that determine a kernel's speed: matrix units, memory, copies, barriers.
    """

    name: str
    parse: Callable[[str], Document]
    lexer: Callable[[], type[Lexer]]
    strip_debug: Callable[[Iterable[str]], Iterator[str]]
    strip_location: Callable[[str], str] = _unchanged
    branches: Callable[[Document], Branches] = _no_branches
    registers: Callable[[Document], RegisterUse] | None = None
    polls: re.Pattern[str] = _NEVER
    names_are_values: bool = True
    symbol: re.Pattern[str] | None = None
    register: str = ""
    register_classes: frozenset[str] = frozenset()
    comment: str = ""
    has_regions: bool = False
    attributes_in_braces: bool = False
    header: re.Pattern[str] = _NEVER
    directive: re.Pattern[str] = _NEVER
    modifiers: frozenset[str] = frozenset()
    heavy: re.Pattern[str] = _NEVER

    @staticmethod
    def named(name: str) -> Language:
        """Return the language called `name` in the stage table; plain text if none is called that."""
        return _loaded(name) if name in _MODULES else _PLAIN_TEXT

    def without_debug(self, text: str) -> str:
        """Return `text` without debug locations, which are half of the bytes of some stages."""
        stripped = "\n".join(self.strip_debug(text.split("\n")))
        # A debug section at the end takes the last line feed with it.
        return stripped if stripped.endswith("\n") or not text.endswith("\n") else stripped + "\n"

    def new_lexer(self) -> Lexer:
        """Return a lexer that keeps blank lines at both ends, so offsets of tokens are offsets in the text.

        As every Pygments lexer, it adds a line feed if the text does not end with one.
        """
        return self.lexer()(stripnl=False)

    def instruction_class(self, opcode: str) -> str:
        """`opcode` without its modifiers: `mma.sync.aligned.m16n8k8.row` -> `mma.sync.m16n8k8`."""
        if not self.modifiers:
            return opcode
        first, *rest = _OPCODE_WORD.findall(opcode) or [("", opcode)]
        words = [first, *(word for word in rest if word[1] not in self.modifiers)]
        return "".join(separator + word for separator, word in words)


# The name in the stage table -> the module that defines `LANGUAGE`.
_MODULES = {
    "mlir": "irscope.languages.mlir",
    "llvm": "irscope.languages.llvm",
    "ptx": "irscope.languages.ptx",
    "sass": "irscope.languages.sass",
    "amdgcn": "irscope.languages.amdgcn",
    "python": "irscope.languages.python",
}
LANGUAGES = tuple(_MODULES)


def add_languages(modules: Mapping[str, str]) -> None:
    """Add the languages of a plug-in: name -> module. Raises ValueError if a name is taken."""
    for name, module in modules.items():
        if _MODULES.setdefault(name, module) != module:
            raise ValueError(f"the name of the language '{name}' is taken")


def known_languages() -> tuple[str, ...]:
    """Return the names of the languages, with those that plug-ins have added so far."""
    return tuple(_MODULES)


@cache
def _loaded(name: str) -> Language:
    language = cast(Language, import_module(_MODULES[name]).LANGUAGE)
    if name in LANGUAGES:
        return language
    # A plug-in's: of a text that it cannot parse, the lines are shown.
    parse = guarded(language.parse, lambda text: Document(name, text, ()), f"the parser of {name}")
    return replace(language, parse=parse)


def _text_lexer() -> type[Lexer]:
    from pygments.lexers.special import TextLexer

    return TextLexer


_PLAIN_TEXT = Language("text", lambda text: Document("text", text, ()), _text_lexer, iter)


def parse(text: str, language: str) -> Document:
    """Parse `text`; `language` is its name in the stage table.

    Never fails on any text, and takes linear time.
    """
    with cycles_not_collected():
        return Language.named(language).parse(text)
