"""What a writer takes: a variant and its passes before they are stored.

Worker processes, which only compile, use these without the writer and SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from irscope.model.records import FrozenValue

if TYPE_CHECKING:
    from irscope.model import Argument, Benchmark, Config, Failure, Launch, Target
    from irscope.store.encoding import Blob


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NewPass(FrozenValue):
    """A `model.Pass` to be stored: `content` is the module after it, None if it changed nothing."""

    stage: str
    name: str
    seconds: float
    content: bytes | Blob | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NewVariant(FrozenValue):
    """A variant before it has an id; the fields are those of `model.Variant`.

    `artifacts` maps stage names to contents, compressed or not; `attachments` likewise maps names of what is
    not a stage, see ATTACHMENT.
    """

    target: Target
    specialization: tuple[Argument, ...]
    config: Config
    failure: Failure | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    cache_key: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False
    log: str | None = None
    output: str = ""
    reasons: str | None = None
    artifacts: Mapping[str, bytes | Blob] = field(default_factory=dict)
    launches: tuple[Launch, ...] = ()
    benchmarks: tuple[Benchmark, ...] = ()
    passes: tuple[NewPass, ...] = ()
    attachments: Mapping[str, bytes | Blob] = field(default_factory=dict)
