"""Variants of large captures: what names a variant is in memory, the rest is read when it is asked for.

A variant of a capture takes 10 kB in memory, of which its name, target and status are 0.6: 100,000 variants
would take 1 GB only to be listed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import fields
from threading import Lock
from typing import Any

from irscope.model import Artifact, Benchmark, Launch, UserError, Variant
from irscope.model.environment import environment_of
from irscope.model.origin import ORIGIN, Origin, origin_from_metadata
from irscope.model.variant import LAUNCH_METADATA, launch_metadata_of

# The variants that one query reads if they are asked for one after another, and those that are kept.
BLOCK = 100
_KEPT = 2 * BLOCK
# The metadata in memory: the origin, and what a launch depends on (`Variant.launch_metadata`).
SUMMARY_METADATA = (ORIGIN, *LAUNCH_METADATA)
_IN_MEMORY = ("id", "kernel", "target", "specialization", "config", "toolchain", "failure")

ReadVariants = Callable[[int, int], list[Variant]]


class VariantDetails:
    """Reads whole variants by id, a block at a time if they are asked for in order.

    `read` returns the variants with a first id, and so many after it at most. Several threads may use this.
    """

    def __init__(self, read: ReadVariants) -> None:
        self._read = read
        self._lock = Lock()
        self._kept: OrderedDict[int, Variant] = OrderedDict()
        self._next = 0

    def of(self, variant: Variant) -> Variant:
        """The whole variant. Raises UserError if it is damaged, or not in the file any more."""
        with self._lock:
            if variant.id not in self._kept:
                self._load(variant.id)
            found = self._kept.get(variant.id)
        if found is None or (found.config, found.target) != (variant.config, variant.target):
            raise UserError(f"variant #{variant.id} is not in the capture any more; open the capture again")
        return found

    def _load(self, id_: int) -> None:
        in_order = id_ == self._next
        for found in self._read(id_, BLOCK if in_order else 1):
            self._kept[found.id] = found
            self._next = found.id + 1
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


class StoredVariant(Variant):
    """A variant whose large columns are read when they are asked for, also after the capture was closed.

    A changed copy (`dataclasses.replace`) is a Variant with all columns.
    """

    __slots__ = ("_details", "_summary_key", "_summary_metadata")

    _details: VariantDetails
    _summary_key: Mapping[str, str]
    _summary_metadata: Mapping[str, Any]

    def __new__(cls, **columns: Any) -> Variant:  # type: ignore[misc]  # noqa: D102
        return Variant(**columns)

    @classmethod
    def of(cls, summary: Variant, details: VariantDetails) -> StoredVariant:
        """A variant with the columns of `summary`, which has SUMMARY_METADATA and the environment."""
        variant = object.__new__(cls)
        for name in _IN_MEMORY:
            object.__setattr__(variant, name, getattr(summary, name))
        object.__setattr__(variant, "_details", details)
        object.__setattr__(variant, "_summary_key", summary.cache_key)
        object.__setattr__(variant, "_summary_metadata", summary.metadata)
        return variant

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variant) or other.id != self.id:
            return False
        return self is other or self._details.of(self) == (
            other._details.of(other) if isinstance(other, StoredVariant) else other
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._details.of(self))

    def __reduce__(self) -> tuple[type[Variant], tuple[Any, ...]]:
        return Variant, tuple(getattr(self, each.name) for each in fields(Variant))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Triton's own."""
        return self._details.of(self).metadata

    @property
    def seconds(self) -> Mapping[str, float]:
        """The compile time per stage."""
        return self._details.of(self).seconds

    @property
    def cache_key(self) -> Mapping[str, str]:
        """Each component of Triton's cache key."""
        return self._details.of(self).cache_key

    @property
    def cached(self) -> bool:
        """Whether it came from Triton's cache."""
        return self._details.of(self).cached

    @property
    def log(self) -> str | None:
        """The output of ptxas."""
        return self._details.of(self).log

    @property
    def output(self) -> str:
        """Everything else that the compiler printed."""
        return self._details.of(self).output

    @property
    def reasons(self) -> str | None:
        """The log of the coalescing pass."""
        return self._details.of(self).reasons

    @property
    def artifacts(self) -> Mapping[str, Artifact]:
        """The output of each stage."""
        return self._details.of(self).artifacts

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches as the program made them."""
        return self._details.of(self).launches

    @property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """The benchmarks by the autotuner."""
        return self._details.of(self).benchmarks

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables and checks it was compiled with."""
        return environment_of(self._summary_key, (name for name, _ in self.config.values))

    @property
    def origin(self) -> Origin | None:
        """The computation of the kernel, if a framework generated it."""
        return origin_from_metadata(self._summary_metadata)

    @property
    def launch_metadata(self) -> tuple[str, ...]:
        """The metadata that a launch depends on, as text."""
        return launch_metadata_of(self._summary_metadata)
