"""The diff of a stage as data for the script, which makes rows of it when they come into view."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from irscope.analysis.source_map import Place, SourceMap
from irscope.diff.rows import Row, StageDiff
from irscope.languages.document import Document
from irscope.report.html.markup import Html, element
from irscope.report.hunks import KINDS, kinds_of
from irscope.report.terminal.diff_rows import RowSide, sides

# The lines of a page's sources by their places: what a stage's lines point at.
SourceIds = Mapping[Place, int]


def packed(identity: str, diff: StageDiff, sources: tuple[SourceIds, SourceIds]) -> Html:
    """The element, called `identity`, that holds the diff. `sources` are those of the left and the right.

    Its text is base64 of the zlib stream (RFC 1950) of JSON:

    - `kinds`: the word for each bit of a row's change;
    - `rows`: `[change, left text, right text, left spans, right spans]`, null where a side has no line,
      cut short behind the left text where the right one is the same;
    - `chains`: lists of source ids, the innermost place first; `origins`: for each line of the left and
      of the right the index of its chain.
    """
    chains: dict[tuple[int, ...], int] = {}
    document = {
        "kinds": [kinds_of(kind)[0] for kind in KINDS],
        "rows": [_row(diff, row) for row in diff.rows],
        "origins": [
            _origins(side, ids, chains) for side, ids in zip((diff.left, diff.right), sources, strict=True)
        ],
        "chains": list(chains),
    }
    data = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)
    # A type that is no script's: the browser keeps it as a text and runs nothing.
    return element("script", base64.b64encode(data).decode(), type="text/plain", id=identity)


def _row(diff: StageDiff, row: Row) -> list[Any]:
    left, right = sides(diff, row)
    if left and right and left.text == right.text:
        return [row.change.value, left.text]
    packed = [row.change.value, _text(left), _text(right)]
    spans = [side.spans if side else () for side in (left, right)]
    return [*packed, *spans] if any(spans) else packed


def _text(side: RowSide | None) -> str | None:
    return side.text if side else None


def _origins(document: Document, ids: SourceIds, chains: dict[tuple[int, ...], int]) -> Sequence[int]:
    """The index in `chains`, to which new ones are added, of each line's chain."""
    origins = SourceMap(document)
    found = []
    for line in range(len(document.lines)):
        chain = tuple(ids[place] for place in origins.of_line(line) if place in ids)
        found.append(chains.setdefault(chain, len(chains)))
    return found
