"""Variants of large captures: what names a variant is in memory, the rest is read when it is asked for.

A variant of a capture takes 10 kB in memory, of which its name, target and status are 0.6: 100,000 variants
would take 1 GB only to be listed.

Decodes what names each variant of a capture; what variants have in common is decoded once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from irscope.model import (
    Argument,
    Config,
    Failure,
    Kernel,
    Launch,
    Target,
    Toolchain,
    UserError,
    Value,
    Variant,
)
from irscope.model.variant import (
    EDIT,
    LAUNCH_METADATA,
    ORIGIN,
    edit_in,
    environment_components,
    environment_of,
    launch_metadata_of,
    origin_in,
)
from irscope.store import encoding
from irscope.targets import target_named

if TYPE_CHECKING:
    from irscope.model.origin import Origin
    from irscope.model.variant import Edit


# Values of configs, and specializations, that are held once for all variants.
_MOST_SHARED = 10_000
# Types whose equal values are written alike; -0.0 is equal to 0.0.
_EQUAL_IS_SAME = frozenset((int, str, bool))
# The metadata in memory: the origin, the edit, and what a launch depends on (`Variant.launch_metadata`).
_KEPT_SUMMARIES = (ORIGIN, EDIT, *LAUNCH_METADATA)


def kept_metadata(text: str) -> dict[str, Any]:
    """Return the entries of a variant's metadata that stay in memory."""
    # Not SQLite's json_extract: it refuses NaN, which Python writes and reads.
    values = encoding.object_from_json(text)
    return {name: values[name] for name in _KEPT_SUMMARIES if name in values}


def mark_of(identity: str) -> int:
    """Return a number by which the row of a variant is recognized, from its identity."""
    return zlib.crc32(identity.encode())


class SummaryMetadata(NamedTuple):
    """The entries of a variant's metadata that stay in memory, and its `launch_metadata`."""

    values: Mapping[str, Any]
    launch: tuple[str, ...]


class SummaryRow(NamedTuple):
    """The columns that name a variant. `mark` is that of its row; `launched` is whether that has launches.

    `columns` are the first fields of `model.Variant`; `key` are the components of its cache key that
    `SharedColumns.environment` needs.
    """

    mark: int
    launched: bool
    columns: tuple[int, Kernel, Target, tuple[Argument, ...], Config, Toolchain, Failure | None]
    key: Mapping[str, str]
    metadata: SummaryMetadata


class SharedColumns:
    """Decodes columns of variants; equal values are one object. Raises as `encoding` for damaged ones."""

    def __init__(self) -> None:
        self._targets: dict[str, Target] = {}
        self._specializations: dict[str, tuple[Argument, ...]] = {}
        self._pairs: dict[object, tuple[str, Value]] = {}
        self._keys: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        # By the identity of the key, which is the first value, and the names that the config sets.
        self._environments: dict[tuple[int, tuple[str, ...]], tuple[object, Mapping[str, str]]] = {}
        self._metadata: dict[str, SummaryMetadata] = {}

    def summary(
        self, row: Mapping[str, Any], kernels: Mapping[int, Kernel], toolchains: Mapping[int, Toolchain]
    ) -> SummaryRow:
        """Return what names the variant of a row of the variant table, with the column `launched`."""
        columns = (
            row["id"],
            kernels[row["kernel"]],
            self.target(row["target"]),
            self.specialization(row["specialization"]),
            self.config(row["config"]),
            toolchains[row["toolchain"]],
            encoding.failure_from_json(row["failure"]),
        )
        key, metadata = self.key_components(row["cache_key"]), self.metadata(row["metadata"])
        return SummaryRow(mark_of(row["identity"]), bool(row["launched"]), columns, key, metadata)

    def target(self, name: str) -> Target:
        """Return a target by its name."""
        if name not in self._targets:
            self._targets[name] = target_named(name)
        return self._targets[name]

    def specialization(self, text: str) -> tuple[Argument, ...]:
        """Return the arguments that the kernel was compiled for."""
        arguments = self._specializations.get(text)
        if arguments is None:
            arguments = encoding.specialization_from_json(text)
            if len(self._specializations) < _MOST_SHARED:
                self._specializations[text] = arguments
        return arguments

    def config(self, text: str) -> Config:
        """Decode a config."""
        return Config(tuple([self.pair(name, value) for name, value in encoding.loads(text)]))

    def pair(self, name: Any, value: Any) -> tuple[str, Value]:
        """Decode a name and a value of a config, as JSON has them."""
        pair = encoding.checked(name), encoding.value_from_json(value)
        kind = type(value)  # True is not 1
        key = (pair, kind) if kind in _EQUAL_IS_SAME else repr(pair)
        if len(self._pairs) < _MOST_SHARED:
            return self._pairs.setdefault(key, pair)
        return self._pairs.get(key, pair)

    def key_components(self, cache_key: str) -> Mapping[str, str]:
        """Return the components of a cache key that `environment` needs."""
        components = environment_components(encoding.strings_from_json(cache_key))
        return self._keys.setdefault(tuple(components.items()), components)

    def environment(self, row: SummaryRow) -> Mapping[str, str]:
        """Return the compiler environment of a variant."""
        names = tuple([name for name, _ in row.columns[4].values])
        cache_entry = id(row.key), names
        if cache_entry not in self._environments:
            self._environments[cache_entry] = row.key, environment_of(row.key, names)
        return self._environments[cache_entry][1]

    def metadata(self, text: str) -> SummaryMetadata:
        """Return the metadata that stay in memory."""
        some = kept_metadata(text)
        key = repr(some)
        if key not in self._metadata:
            self._metadata[key] = SummaryMetadata(some, launch_metadata_of(some))
        return self._metadata[key]


# The variants of which one query reads a column if they are asked for one after another, and those kept.
BLOCK = 100
_KEPT = 2 * BLOCK
_FIELDS = tuple(each.name for each in fields(Variant))
_IN_MEMORY = _FIELDS[:7]  # id to failure, as in SummaryRow

# A column of the variants with a first id, and so many after it at most: (id, mark, value).
ReadColumn = Callable[[str, int, int], list[tuple[int, int, Any]]]


class _ColumnCache:
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
        self._columns: dict[str, _ColumnCache] = {}

    def of(self, variant: StoredVariant, name: str) -> Any:
        """Return a column of a variant.

        Raises UserError if it is damaged, or not in the file any more.
        """
        with self._lock:
            column = self._columns.setdefault(name, _ColumnCache())
            if variant.id not in column.kept:
                self._load(name, column, variant.id)
            mark, value = column.kept.get(variant.id, (None, None))
        if mark != variant._mark:
            raise UserError(f"variant #{variant.id} is not in the capture any more; open the capture again")
        return value

    def _load(self, name: str, column: _ColumnCache, id_: int) -> None:
        for read_id, mark, value in self._read(name, id_, BLOCK if id_ == column.next else 1):
            column.kept[read_id] = mark, value
            column.next = read_id + 1
        for oldest in list(column.kept)[: max(0, len(column.kept) - _KEPT)]:
            del column.kept[oldest]


def _read_when_asked(column: str) -> Any:
    """Return a property that reads this column; its type is that of the field of Variant."""
    return property(lambda variant: variant._details.of(variant, column))


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
        """Return the variant of a row."""
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

    metadata = _read_when_asked("metadata")
    seconds = _read_when_asked("seconds")
    cache_key = _read_when_asked("cache_key")
    cached = _read_when_asked("cached")
    log = _read_when_asked("log")
    output = _read_when_asked("output")
    reasons = _read_when_asked("reasons")
    artifacts = _read_when_asked("artifacts")
    benchmarks = _read_when_asked("benchmarks")

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Return the launches as the program made them."""
        if not self._launched:  # most variants of a large sweep: a view that asks all reads nothing
            return ()
        value: tuple[Launch, ...] = self._details.of(self, "launches")
        return value

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables and checks it was compiled with."""
        return dict(self._environment)

    @property
    def origin(self) -> Origin | None:
        """Return the computation of the kernel, if a framework generated it."""
        return origin_in(self._summary_metadata.values)

    @property
    def edit(self) -> Edit | None:
        """Return how the variant was built from another one."""
        return edit_in(self._summary_metadata.values)

    @property
    def launch_metadata(self) -> tuple[str, ...]:
        """Return the metadata that a launch depends on, as text."""
        return self._summary_metadata.launch
