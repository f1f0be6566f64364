"""Variants of large captures: what names a variant is in memory, the rest is read when it is asked for.

A variant of a capture takes 10 kB in memory, of which its name, target and status are 0.6: 100,000 variants
would take 1 GB only to be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from threading import Lock
from typing import TYPE_CHECKING, Any

from irscope.model import Artifact, Benchmark, Launch, UserError, Variant
from irscope.model.variant import edit_in, origin_in
from irscope.store.summaries import SummaryMetadata, SummaryRow

if TYPE_CHECKING:
    from irscope.model.edit import Edit
    from irscope.model.origin import Origin

# The variants of which one query reads a column if they are asked for one after another, and those kept.
BLOCK = 100
_KEPT = 2 * BLOCK
_FIELDS = tuple(each.name for each in fields(Variant))
_IN_MEMORY = _FIELDS[:7]  # id to failure, as in SummaryRow

# A column of the variants with a first id, and so many after it at most: (id, mark, value).
ReadColumn = Callable[[str, int, int], list[tuple[int, int, Any]]]


class _Column:
    """The values of a column that are kept, by id with their marks, and the id after those read last."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[int, Any]] = {}
        self.next = 0


class VariantDetails:
    """Reads columns of variants by id, a block at a time if they are asked for in order.

    Several threads may use this.
    """

    def __init__(self, read: ReadColumn) -> None:
        self._read = read
        self._lock = Lock()
        self._columns: dict[str, _Column] = {}

    def of(self, variant: StoredVariant, name: str) -> Any:
        """A column of a variant. Raises UserError if it is damaged, or not in the file any more."""
        with self._lock:
            column = self._columns.setdefault(name, _Column())
            if variant.id not in column.kept:
                self._load(name, column, variant.id)
            mark, value = column.kept.get(variant.id, (None, None))
        if mark != variant._mark:
            raise UserError(f"variant #{variant.id} is not in the capture any more; open the capture again")
        return value

    def _load(self, name: str, column: _Column, id_: int) -> None:
        for found, mark, value in self._read(name, id_, BLOCK if id_ == column.next else 1):
            column.kept[found] = mark, value
            column.next = found + 1
        for oldest in list(column.kept)[: max(0, len(column.kept) - _KEPT)]:
            del column.kept[oldest]


class StoredVariant(Variant):
    """A variant whose large columns are read when they are asked for, also after the capture was closed.

    A changed copy (`dataclasses.replace`) is a Variant with all columns.
    """

    __slots__ = ("_details", "_environment", "_launched", "_mark", "_summary_metadata")

    _details: VariantDetails
    _mark: int
    _launched: bool
    _environment: Mapping[str, str]
    _summary_metadata: SummaryMetadata

    def __new__(cls, **columns: Any) -> Variant:  # type: ignore[misc]  # noqa: D102
        return Variant(**columns)

    @classmethod
    def of(cls, row: SummaryRow, environment: Mapping[str, str], details: VariantDetails) -> StoredVariant:
        """The variant of a row."""
        variant = object.__new__(cls)
        for name, value in zip(_IN_MEMORY, row.columns, strict=True):
            object.__setattr__(variant, name, value)
        object.__setattr__(variant, "_details", details)
        object.__setattr__(variant, "_mark", row.mark)
        object.__setattr__(variant, "_launched", row.launched)
        object.__setattr__(variant, "_environment", environment)
        object.__setattr__(variant, "_summary_metadata", row.metadata)
        return variant

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variant) or other.id != self.id:
            return False
        return self is other or all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Variant], tuple[Any, ...]]:
        return Variant, tuple(getattr(self, name) for name in _FIELDS)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Triton's own."""
        value: Mapping[str, Any] = self._details.of(self, "metadata")
        return value

    @property
    def seconds(self) -> Mapping[str, float]:
        """The compile time per stage."""
        value: Mapping[str, float] = self._details.of(self, "seconds")
        return value

    @property
    def cache_key(self) -> Mapping[str, str]:
        """Each component of Triton's cache key."""
        value: Mapping[str, str] = self._details.of(self, "cache_key")
        return value

    @property
    def cached(self) -> bool:
        """Whether it came from Triton's cache."""
        value: bool = self._details.of(self, "cached")
        return value

    @property
    def log(self) -> str | None:
        """The output of ptxas."""
        value: str | None = self._details.of(self, "log")
        return value

    @property
    def output(self) -> str:
        """Everything else that the compiler printed."""
        value: str = self._details.of(self, "output")
        return value

    @property
    def reasons(self) -> str | None:
        """The log of the coalescing pass."""
        value: str | None = self._details.of(self, "reasons")
        return value

    @property
    def artifacts(self) -> Mapping[str, Artifact]:
        """The output of each stage."""
        value: Mapping[str, Artifact] = self._details.of(self, "artifacts")
        return value

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches as the program made them."""
        if not self._launched:  # most variants of a large sweep: a view that asks all reads nothing
            return ()
        value: tuple[Launch, ...] = self._details.of(self, "launches")
        return value

    @property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """The benchmarks by the autotuner."""
        value: tuple[Benchmark, ...] = self._details.of(self, "benchmarks")
        return value

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables and checks it was compiled with."""
        return dict(self._environment)

    @property
    def origin(self) -> Origin | None:
        """The computation of the kernel, if a framework generated it."""
        return origin_in(self._summary_metadata.values)

    @property
    def edit(self) -> Edit | None:
        """How the variant was built from another one."""
        return edit_in(self._summary_metadata.values)

    @property
    def launch_metadata(self) -> tuple[str, ...]:
        """The metadata that a launch depends on, as text."""
        return self._summary_metadata.launch
