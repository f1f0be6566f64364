"""One door to the parsers: a stage's text and its language in, a document out."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from irscope.languages.document import Document

# The stage table's languages and the module that reads each; every such module has `parse`.
_MODULES = {
    "mlir": "irscope.languages.mlir.parser",
    "llvm": "irscope.languages.llvm",
    "ptx": "irscope.languages.ptx",
    "sass": "irscope.languages.sass",
    "amdgcn": "irscope.languages.amdgcn",
}


class _Parser(Protocol):
    def parse(self, text: str) -> Document: ...


def parse(text: str, language: str) -> Document:
    """The document of `text`, written in `language` (the stage table's word).

    Never fails on the text, whatever it is, and takes time linear in it. Raises KeyError for a language
    that is not in the stage table.
    """
    module = cast(_Parser, import_module(_MODULES[language]))
    return module.parse(text)
