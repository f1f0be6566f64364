"""Decodes what names each variant in the rows of a capture; what variants have in common is decoded once.

The 10,000 variants of a sweep have one target and one specialization, and metadata that differ in little more
than Triton's hash:

    {...,"hash":"222b324b3d11...","name":"matmul","num_stages":3,"num_warps":4,...}
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from irscope.backends import target_named
from irscope.model import Argument, Config, Failure, Kernel, Target, Toolchain, Value
from irscope.model.edit import EDIT
from irscope.model.environment import environment_of
from irscope.model.origin import ORIGIN
from irscope.model.variant import LAUNCH_METADATA, launch_metadata_of
from irscope.store import encoding
from irscope.store.key_environment import KeyEnvironments

# Values of configs, and specializations, that are held once for all variants.
_MOST_SHARED = 10_000
# Texts of metadata, of 1 kB each, that are remembered.
_MOST_METADATA = 1000
# Types whose equal values are written alike; -0.0 is equal to 0.0.
_EQUAL_IS_SAME = frozenset((int, str, bool))
# The metadata in memory: the origin, the edit, and what a launch depends on (`Variant.launch_metadata`).
_NAMES = (ORIGIN, EDIT, *LAUNCH_METADATA)
_HASH = '"hash":"'


@dataclass(frozen=True, slots=True)
class SummaryMetadata:
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
        self._known: dict[str, tuple[str, Value]] = {}  # by their JSON
        self._keys = KeyEnvironments()
        # By the identity of the key, which is the first value, and the names that the config sets.
        self._environments: dict[tuple[int, tuple[str, ...]], tuple[object, Mapping[str, str]]] = {}
        self._metadata: dict[str, SummaryMetadata] = {}
        self._equal_metadata: dict[str, SummaryMetadata] = {}

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
        """A config; its pairs of name and value are held once for all variants.

        `[["BLOCK",64],["num_warps",4]]` is put together from the pairs of other configs if all are known.
        """
        if text.startswith("[[") and text.endswith("]]"):
            pairs = tuple([self._known.get(part) for part in text[2:-2].split("],[")])
            if None not in pairs:
                return Config(cast(tuple[tuple[str, Value], ...], pairs))
        found = tuple([self._pair(name, value) for name, value in encoding.loads(text)])
        for pair, part in zip(found, text[2:-2].split("],["), strict=False):
            self._learn(part, pair)
        return Config(found)

    def _pair(self, name: Any, value: Any) -> tuple[str, Value]:
        pair = encoding.checked(name), encoding.value_from_json(value)
        kind = type(value)  # True is not 1
        key = (pair, kind) if kind in _EQUAL_IS_SAME else repr(pair)
        if len(self._pairs) < _MOST_SHARED:
            return self._pairs.setdefault(key, pair)
        return self._pairs.get(key, pair)

    def _learn(self, part: str, pair: tuple[str, Value]) -> None:
        """Remembers the JSON of a pair, unless the config was not split where the pair ends."""
        with suppress(ValueError, TypeError):
            name, value = encoding.loads(f"[{part}]")
            if self._pair(name, value) is pair and len(self._known) < _MOST_SHARED:
                self._known[part] = pair

    def key_components(self, cache_key: str) -> Mapping[str, str]:
        """The components of a cache key that `environment` needs."""
        return self._keys.read(cache_key)

    def environment(self, row: SummaryRow) -> Mapping[str, str]:
        """The compiler environment of a variant."""
        names = tuple([name for name, _ in row.columns[4].values])
        place = id(row.key), names
        if place not in self._environments:
            self._environments[place] = row.key, environment_of(row.key, names)
        return self._environments[place][1]

    def metadata(self, text: str) -> SummaryMetadata:
        """The metadata that stay in memory."""
        key = _without_hash(text)
        found = self._metadata.get(key)
        if found is None:
            # Not SQLite's json_extract: it refuses NaN, which Python writes and reads.
            values = encoding.object_from_json(text)
            some = {name: values[name] for name in _NAMES if name in values}
            found = SummaryMetadata(some, launch_metadata_of(some))
            found = self._equal_metadata.setdefault(repr(some), found)
            if len(self._metadata) < _MOST_METADATA:
                self._metadata[key] = found
        return found


def _without_hash(text: str) -> str:
    """Metadata in JSON without the value of `hash`: texts that are equal without it have the same others.

    A quote within a JSON string is escaped, so what looks like the name is one, and letters and digits up to
    the next quote are all of its value.
    """
    start = text.find(_HASH) + len(_HASH)
    end = text.find('"', start)
    is_there = len(_HASH) <= start < end and text[start:end].isalnum()
    return text[:start] + text[end:] if is_there else text
