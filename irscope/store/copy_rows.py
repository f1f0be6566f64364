"""Copying variants from one capture to another row by row: each column is checked, but not encoded again.

Each capture keeps a connection of its own, with its own limits: with SQLite's ATTACH, statements that write
would read a file that anybody may have made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from irscope.model import Argument, Config, Target, UserError
from irscope.model.records import frozen
from irscope.store import encoding
from irscope.store.connection import DAMAGE
from irscope.store.reader import CaptureReader
from irscope.store.writer import CaptureWriter, VariantRows

_PARTS = ("artifact", "pass", "facts", "layouts")
# The column of a variant without launches, or without benchmarks.
_NONE = "[]"
# So many variants, or contents, are one transaction.
_BATCH = 500
_Item = TypeVar("_Item")
# The rows of one variant in a table.
_Rows = list[Mapping[str, Any]]


@frozen
class VariantCopy:
    """A variant to copy: its id and the digest of its cache key, and what names the row that it becomes.

    `reasons` and `passes` say whether the copy is of use only with these.
    """

    source: int
    key: str
    id: int
    identity: str
    kernel: int
    target: Target
    specialization: tuple[Argument, ...]
    config: Config
    reasons: bool
    passes: bool


class VariantCopier:
    """Copies variants that compiled, with all that is stored of them and the toolchains that they are of.

    Launches and benchmarks are left out, and so are facts that may be of these.
    """

    def __init__(self, capture: CaptureReader, writer: CaptureWriter) -> None:
        self._capture, self._writer = capture, writer
        self._toolchains = capture.toolchains()
        self._added: dict[int, int] = {}
        self._contents: set[str] = set()

    def copy(self, copies: Sequence[VariantCopy], scan: bool) -> Iterator[set[int]]:
        """Copy variants; yield the new ids of some at a time, without the damaged and the useless.

        First come all contents, in their order in the files: SQLite looks up a stage in 40 us, and
        reads or appends the next one in 5. `scan` reads all contents of the capture instead of looking
        up each.
        """
        needed: set[str] = set()
        for some in _batches(copies):
            needed.update(_all_or_each(self._digests, some))
        contents = self._capture.scanned_blobs(needed) if scan else self._capture.intact_blobs(sorted(needed))
        for blobs in _batches(contents):
            self._writer.add_blobs(blobs)
            self._contents.update(blob.digest for blob in blobs)
        for some in _batches(copies):
            yield self._copy(some)

    def _copy(self, copies: Sequence[VariantCopy]) -> set[int]:
        """Copy variants in one transaction."""
        intact = _all_or_each(self._read, copies)
        self._writer.add_rows(intact)
        return {rows.id for rows in intact}

    def _digests(self, copies: Sequence[VariantCopy]) -> list[str]:
        """Return the digests of all contents of the variants. Raises UserError if one cannot be read."""
        ids = [copy.source for copy in copies]
        return [row["digest"] for table in ("artifact", "pass") for row in self._capture.rows_of(table, ids)]

    def _read(self, copies: Sequence[VariantCopy]) -> list[VariantRows]:
        """Return the rows of the variants that are intact. Raises UserError if one cannot be read."""
        ids = [copy.source for copy in copies]
        variants = {row["id"]: row for row in self._capture.rows_of("variant", ids)}
        parts: dict[tuple[str, int], _Rows] = {}
        for table in _PARTS:
            for row in self._capture.rows_of(table, ids):
                parts.setdefault((table, row["variant"]), []).append(row)
        read_rows: list[VariantRows] = []
        for copy in copies:
            with suppress(*DAMAGE):  # KeyError: it is not there any more
                tables = [parts.get((table, copy.source), []) for table in _PARTS]
                read_rows.append(self._rows(copy, variants[copy.source], *tables))
        return [rows for rows in read_rows if self._contents.issuperset(rows.digests)]

    def _rows(
        self,
        copy: VariantCopy,
        variant: Mapping[str, Any],
        artifacts: _Rows,
        passes: _Rows,
        facts: _Rows,
        layouts: _Rows,
    ) -> VariantRows:
        """Return the rows that a variant becomes.

        Raises an error of DAMAGE if it is damaged or of no use.
        """
        key = encoding.checked(variant["cache_key"])
        if encoding.digest(key.encode()) != copy.key or variant["failure"] is not None:
            raise ValueError("another variant")
        if (copy.reasons and variant["reasons"] is None) or (copy.passes and not passes):
            raise ValueError("it lacks what is asked for")
        encoding.object_from_json(variant["metadata"])
        encoding.seconds_from_json(variant["seconds"])
        measured = variant["launches"] != _NONE or variant["benchmarks"] != _NONE
        row = (
            copy.id,
            copy.identity,
            copy.kernel,
            self._toolchain(variant["toolchain"]),
            str(copy.target),
            encoding.specialization_to_json(copy.specialization),
            encoding.config_to_json(copy.config),
            None,
            variant["metadata"],
            variant["seconds"],
            key,
            int(variant["cached"]),
            encoding.optional(variant["log"]),
            encoding.checked(variant["output"]),
            encoding.optional(variant["reasons"]),
            _NONE,
            _NONE,
        )
        return VariantRows(
            row,
            [_artifact_row(copy.id, stored) for stored in artifacts],
            [_pass_row(copy.id, stored) for stored in passes],
            [(copy.id, int(stored["version"]), _object(stored["facts"])) for stored in facts if not measured],
            [(copy.id, _object(stored["layouts"])) for stored in layouts],
        )

    def _toolchain(self, id_: int) -> int:
        """Return the id of a toolchain of the capture in the one that is written."""
        if id_ not in self._added:
            toolchain = self._toolchains[id_]
            self._added[id_] = self._writer.add_toolchain(toolchain.versions, toolchain.command)
        return self._added[id_]


def _all_or_each(
    read: Callable[[Sequence[VariantCopy]], list[_Item]], copies: Sequence[VariantCopy]
) -> list[_Item]:
    """Return what `read` returns for variants, without those that it raises UserError for."""
    try:
        return read(copies)
    except UserError:  # one row that cannot be read ends the query for all
        if len(copies) <= 1:
            return []
        return [item for copy in copies for item in _all_or_each(read, [copy])]


def _batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    left = iter(items)
    while some := list(islice(left, _BATCH)):
        yield some


def _object(text: str) -> str:
    """Return a column that is a JSON object, as it is. Raises ValueError or TypeError otherwise."""
    encoding.object_from_json(text)
    return text


def _artifact_row(id_: int, row: Mapping[str, Any]) -> tuple[int, str, str]:
    return id_, encoding.checked(row["stage"]), encoding.checked(row["digest"])


def _pass_row(id_: int, row: Mapping[str, Any]) -> tuple[object, ...]:
    stage, name = encoding.checked(row["stage"]), encoding.checked(row["name"])
    return id_, int(row["place"]), stage, name, float(row["seconds"]), encoding.optional(row["digest"])
