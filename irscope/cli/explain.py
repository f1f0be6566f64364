"""Explain a word: a layout, an operation, an instruction, an attribute, a fact, an option, a pass.

A word is taken as it stands in a stage (ld.global.v4.b32, #ttg.blocked, LDG.E.128), in the table or in a
config; without one, all are listed.

example: irscope explain ttg.convert_layout
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.glossary.glossary import GlossaryEntry
    from irscope.report.terminal.paint import Paint

NAME = "explain"
SUMMARY = "explain a word of the stages, the table or the tuning"

SCHEMA = "irscope.explain/1"
# Lines longer than this are tiring to read, however wide the terminal is.
_WIDEST = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("word", metavar="WORD", nargs="?", help="as it stands in a stage, say")
    options.add_format(parser, "text", "json")
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints what is known. Raises UserError, naming close words, where nothing is."""
    from irscope.glossary.glossary import entries

    found = entries() if args.word is None else _found(args.word)
    if args.format == "json":
        from irscope.report.json.records import to_json

        sys.stdout.write(to_json({"schema": SCHEMA, "entries": list(map(_record, found))}))
        return 0
    paint = options.paint()
    lines = _list(found) if args.word is None else _texts(found, options.width_of(args), paint)
    sys.stdout.writelines(line + "\n" for line in lines)
    return 0


def _found(word: str) -> Sequence[GlossaryEntry]:
    from irscope.glossary.glossary import find_entries, similar_names

    found = find_entries(word)
    if not found:
        close = similar_names(word)
        hint = f"close to it: {', '.join(close)}" if close else "irscope explain lists all words"
        raise UserError(f"no entry for '{word}'; {hint}")
    return found


def _texts(found: Sequence[GlossaryEntry], width: int | None, paint: Paint) -> Iterator[str]:
    for index, entry in enumerate(found):
        if index:
            yield ""
        yield paint(entry.word, "heading") + f"  ({', '.join(entry.stages)})"
        yield from textwrap.wrap(entry.text, min(width or _WIDEST, _WIDEST))
        if entry.names:
            yield from textwrap.wrap(f"also: {', '.join(entry.names)}", min(width or _WIDEST, _WIDEST))
        if entry.see:
            yield f"see: {entry.see.title}" + (f", {entry.see.url}" if entry.see.url else "")


def _list(found: Sequence[GlossaryEntry]) -> Iterator[str]:
    """A line a word: the word, where it occurs, and its first sentence."""
    wide = max(len(entry.word) for entry in found)
    for entry in found:
        yield f"{entry.word:<{wide}}  {entry.stages[0]:<6}  {entry.text.partition('. ')[0].rstrip('.')}"


def _record(entry: GlossaryEntry) -> dict[str, object]:
    return {
        "word": entry.word,
        "names": list(entry.names),
        "stages": list(entry.stages),
        "text": entry.text,
        "see": {"title": entry.see.title, "url": entry.see.url or None} if entry.see else None,
    }
