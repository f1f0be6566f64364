"""The summary of a capture in a list, read in constant time: its kernels, targets and size."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from irscope.model.records import frozen
from irscope.store.connection import Damage, connect_reader, rows
from irscope.store.encoding import checked

# Rows that are counted, and names that are listed.
_MAX_VARIANTS, _MAX_NAMES = 1000, 4


@frozen
class CaptureOverview:
    """The first kernels and targets, and the number of variants: `variants` or, if `more`, a larger one."""

    kernels: tuple[str, ...]
    targets: tuple[str, ...]
    variants: int
    more: bool = False

    @property
    def count(self) -> str:
        """Return the number of variants: `3`, `1,000+`."""
        return f"{self.variants:,}{'+' if self.more else ''}"

    @classmethod
    def read(cls, path: Path) -> CaptureOverview:
        """Read at most 1,000 rows of a capture. Raises UserError if it is not a sound one."""
        db, deadline = connect_reader(path)

        def first(query: str, limit: int) -> list[object]:
            return [row[0] for row in rows(db, deadline, query, (limit,))]

        with closing(db), Damage(path):
            kernels = first("SELECT DISTINCT name FROM kernel LIMIT ?", _MAX_NAMES)
            targets = first("SELECT target FROM variant LIMIT ?", _MAX_VARIANTS)
            (count,) = first("SELECT count(*) FROM (SELECT 1 FROM variant LIMIT ?)", _MAX_VARIANTS + 1)
            names = tuple(checked(name) for name in kernels)
            target_names = tuple(dict.fromkeys(checked(target) for target in targets))[:_MAX_NAMES]
            variants = int(str(count))
        return cls(names, target_names, min(variants, _MAX_VARIANTS), variants > _MAX_VARIANTS)
