"""The columns of a table without ages, first differences and classes of bits, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.model import Variant
from irscope.tui.table_model import columns
from irscope.workspace import FactKind, FactTable, TableColumn
from irscope.workspace.growth import InProgress


def columns_of(variants: Sequence[Variant], kinds: Sequence[FactKind], facts: FactTable) -> list[TableColumn]:
    """Return the columns without ages, differences and classes of bits."""
    return columns(variants, kinds, facts, InProgress(), lambda _: "", lambda some: [""] * len(some), {})
