"""Explain a word: a layout, an operation, an instruction, an attribute, a fact, an option, a pass.

WORD is written as in a stage (ld.global.v4.b32, #ttg.blocked, LDG.E.128), in the table or in a config.
Without WORD, lists all entries.

example: irscope explain ttg.convert_layout
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.glossary.glossary import GlossaryEntry

NAME = "explain"
GROUP = "show"
SUMMARY = "explain a word in a stage, the table or a config"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("word", metavar="WORD", nargs="?", help="for example a word in a stage")
    options.add_document_format(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Print the entries. Raises UserError, with similar words, if there are none."""
    from irscope.document.variant_content import explain_content, glossary_content
    from irscope.glossary.glossary import glossary_entries

    entries = glossary_entries() if args.word is None else _entries(args.word)
    if args.format == "json":
        from irscope.document.json.capture import explain_document

        options.print_json(explain_document(entries))
        return 0
    content = glossary_content if args.word is None else explain_content
    options.print_document(content(entries), args)
    return 0


def _entries(word: str) -> Sequence[GlossaryEntry]:
    from irscope.glossary.glossary import find_entries, similar_names

    entries = find_entries(word)
    if not entries:
        close = similar_names(word)
        hint = f"similar words: {', '.join(close)}" if close else "irscope explain lists all entries"
        raise UserError(f"no entry for '{word}'; {hint}")
    return entries
