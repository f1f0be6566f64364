"""Decodes what names each variant of a capture; what variants have in common is decoded once."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from irscope.backends import target_named
from irscope.model import Argument, Config, Failure, Kernel, Target, Toolchain, Value
from irscope.model.environment import environment_components, environment_of
from irscope.model.variant import EDIT, LAUNCH_METADATA, ORIGIN, launch_metadata_of
from irscope.store import encoding

# Values of configs, and specializations, that are held once for all variants.
_MOST_SHARED = 10_000
# Types whose equal values are written alike; -0.0 is equal to 0.0.
_EQUAL_IS_SAME = frozenset((int, str, bool))
# The metadata in memory: the origin, the edit, and what a launch depends on (`Variant.launch_metadata`).
_KEPT = (ORIGIN, EDIT, *LAUNCH_METADATA)


def kept_metadata(text: str) -> dict[str, Any]:
    """The entries of a variant's metadata that stay in memory."""
    # Not SQLite's json_extract: it refuses NaN, which Python writes and reads.
    values = encoding.object_from_json(text)
    return {name: values[name] for name in _KEPT if name in values}


def mark_of(identity: str) -> int:
    """A number by which the row of a variant is recognized, from its identity."""
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
        """What names the variant of a row of the table of variants, with the column `launched`."""
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
        """A target by its name."""
        if name not in self._targets:
            self._targets[name] = target_named(name)
        return self._targets[name]

    def specialization(self, text: str) -> tuple[Argument, ...]:
        """The arguments that the kernel was compiled for."""
        found = self._specializations.get(text)
        if found is None:
            found = encoding.specialization_from_json(text)
            if len(self._specializations) < _MOST_SHARED:
                self._specializations[text] = found
        return found

    def config(self, text: str) -> Config:
        """A config."""
        return Config(tuple([self.pair(name, value) for name, value in encoding.loads(text)]))

    def pair(self, name: Any, value: Any) -> tuple[str, Value]:
        """A name and a value of a config, as JSON has them."""
        pair = encoding.checked(name), encoding.value_from_json(value)
        kind = type(value)  # True is not 1
        key = (pair, kind) if kind in _EQUAL_IS_SAME else repr(pair)
        if len(self._pairs) < _MOST_SHARED:
            return self._pairs.setdefault(key, pair)
        return self._pairs.get(key, pair)

    def key_components(self, cache_key: str) -> Mapping[str, str]:
        """The components of a cache key that `environment` needs."""
        found = environment_components(encoding.strings_from_json(cache_key))
        return self._keys.setdefault(tuple(found.items()), found)

    def environment(self, row: SummaryRow) -> Mapping[str, str]:
        """The compiler environment of a variant."""
        names = tuple([name for name, _ in row.columns[4].values])
        place = id(row.key), names
        if place not in self._environments:
            self._environments[place] = row.key, environment_of(row.key, names)
        return self._environments[place][1]

    def metadata(self, text: str) -> SummaryMetadata:
        """The metadata that stay in memory."""
        some = kept_metadata(text)
        key = repr(some)
        if key not in self._metadata:
            self._metadata[key] = SummaryMetadata(some, launch_metadata_of(some))
        return self._metadata[key]
