"""The diff of a stage as data for the script, which creates rows when they scroll into view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irscope.report.html.markup import Html
from irscope.report.html.payload import payload
from irscope.workspace import (
    CHANGES,
    Row,
    RowSide,
    SourcePlace,
    StageDiff,
    change_names,
    row_sides,
    rows_in_place,
    source_chains,
)


def diff_payload(identity: str, diff: StageDiff, sources: Sequence[Mapping[SourcePlace, int]]) -> Html:
    """The element with the id `identity` that contains the diff.

    `sources` are the ids of the Python lines of the left and of the right.

    The JSON:

    - `kinds`: the name of each bit of a row's change;
    - `rows`: `[change, left text, right text, left spans, right spans]`, with null for a side without
      a line; if both texts are equal, it ends after the left one;
    - `chains`: lists of source ids, innermost place first; `origins`: the index of its chain for each
      line of the left and of the right.
    """
    chains: dict[tuple[int, ...], int] = {}
    document = {
        "kinds": [change_names(kind)[0] for kind in CHANGES],
        "rows": [_row(diff, row) for row in rows_in_place(diff)],
        "origins": [
            [chains.setdefault(chain, len(chains)) for chain in source_chains(side, ids)]
            for side, ids in zip((diff.left, diff.right), sources, strict=True)
        ],
        "chains": list(chains),
    }
    return payload(identity, document)


def _row(diff: StageDiff, row: Row) -> list[Any]:
    left, right = row_sides(diff, row)
    if left and right and left.text == right.text:
        return [row.change.value, left.text]
    record = [row.change.value, _text(left), _text(right)]
    spans = [side.spans if side else () for side in (left, right)]
    return [*record, *spans] if any(spans) else record


def _text(side: RowSide | None) -> str | None:
    return side.text if side else None
