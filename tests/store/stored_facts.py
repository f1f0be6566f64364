"""The stored facts of a capture by variant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irscope.store.blocks import FactBlock


def by_variant(blocks: Iterable[FactBlock]) -> dict[int, tuple[int, dict[str, Any]]]:
    """Map the id of each variant to the version that measured its facts, and to them by name."""
    return {
        id_: (block.version, {name: values[place] for name, values in block.columns.items()})
        for block in blocks
        for place, id_ in enumerate(block.ids)
    }
