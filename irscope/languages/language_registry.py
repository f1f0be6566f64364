"""The languages: one line per language. Its module is imported when the language is first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import cast

from irscope.languages.document import Document
from irscope.languages.language import Language
from irscope.model.no_cycles import cycles_not_collected
from irscope.plugins import guarded

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
    """Adds the languages of a plug-in: name -> module. Raises ValueError if a name is taken."""
    for name, module in modules.items():
        if _MODULES.setdefault(name, module) != module:
            raise ValueError(f"the name of the language '{name}' is taken")


def known_languages() -> tuple[str, ...]:
    """The names of the languages, with those that plug-ins have added so far."""
    return tuple(_MODULES)


@cache
def language_named(name: str) -> Language:
    """The language called `name` in the stage table. Raises KeyError if there is none."""
    found = cast(Language, import_module(_MODULES[name]).LANGUAGE)
    if name in LANGUAGES:
        return found
    # A plug-in's: of a text that it cannot parse, the lines are shown.
    parse = guarded(found.parse, lambda text: Document(name, text, ()), f"the parser of {name}")
    return replace(found, parse=parse)


def parse(text: str, language: str) -> Document:
    """The document of `text`; `language` is its name in the stage table.

    Never fails on any text, and takes linear time. Raises KeyError for an unknown
    language.
    """
    with cycles_not_collected():
        return language_named(language).parse(text)


def strip_debug(text: str, language: str) -> str:
    """`text` without debug locations, which are half of the bytes of some stages.

    Text of a language that is not in the registry is returned unchanged.
    """
    if language not in _MODULES:
        return text
    kept = "\n".join(language_named(language).strip_debug(text.split("\n")))
    # A debug section at the end takes the last line feed with it.
    return kept if kept.endswith("\n") or not text.endswith("\n") else kept + "\n"


def line_without_location(line: str, language: str) -> str:
    """A single line without the location or debug id at its end.

    A line that only defines a location is returned unchanged, and so is one of an unknown language.
    """
    return language_named(language).strip_location(line) if language in _MODULES else line
