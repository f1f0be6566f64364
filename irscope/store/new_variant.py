"""What a writer takes: a variant and its passes before they are stored.

Worker processes, which only compile, use these without the writer and SQLite.

The identity of a variant: equal identities are the same compilation, which a capture holds once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

from irscope.model import Kernel, SourceFunction, Variant
from irscope.model.records import frozen
from irscope.model.variant import environment_of
from irscope.store import encoding

if TYPE_CHECKING:
    from irscope.model import Argument, Benchmark, Config, Failure, Launch, Target
    from irscope.store.encoding import Blob


@frozen
class NewPass:
    """A `model.Pass` to be stored: `content` is the module after it, None if it changed nothing."""

    stage: str
    name: str
    seconds: float
    content: bytes | Blob | None


@frozen
class NewVariant:
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


def kernel_digest(kernel: Kernel) -> str:
    """Return the sha256 of a kernel's identity: its source, its helpers' sources, its parameters."""
    columns = kernel_columns(kernel.source, kernel.helpers, kernel.parameters)
    return joined_digest(*columns)


def identity(kernel_digest: str, triton_version: str, new: NewVariant | Variant) -> str:
    """Return the sha256 of the identity of a variant.

    It is made of kernel, specialization, config, target, Triton and environment.
    """
    specialization = encoding.specialization_to_json(new.specialization)
    config = encoding.config_to_json(new.config)
    if isinstance(new, Variant):
        environment = new.environment
    else:
        environment = environment_of(new.cache_key, (name for name, _ in new.config.values))
    return _identity((kernel_digest, specialization, config, str(new.target), triton_version), environment)


def cache_key_digest(components: Mapping[str, str]) -> str:
    """Return the sha256 of all components of Triton's cache key.

    Equal digests are one entry of Triton's cache.
    """
    return joined_digest(encoding.dumps(dict(sorted(components.items()))))


def _identity(parts: tuple[str, ...], environment: Mapping[str, str]) -> str:
    # An unset environment is not a part, so that variants whose environment is unknown have that identity.
    more = (encoding.dumps(dict(environment)),) if environment else ()
    return joined_digest(*parts, *more)


def joined_digest(*parts: str) -> str:
    """Return the sha256 of the parts."""
    return encoding.digest("\0".join(parts).encode("utf-8", "surrogatepass"))


def kernel_columns(
    source: SourceFunction, helpers: tuple[SourceFunction, ...], parameters: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns of a kernel in the capture: name, source, helpers and parameters."""
    return (
        encoding.storable(source.name) or "",
        encoding.dumps(asdict(source)),
        encoding.records_to_json(helpers),
        encoding.dumps(parameters),
    )


def identity_with_environment(
    digest: str, specialization: str, config: str, target: str, versions: str, cache_key: str
) -> str | None:
    """Return the identity of a variant from its columns.

    Returns None if its environment is unset or unknown.
    """
    names = (name for name, _ in encoding.config_from_json(config).values)
    environment = environment_of(encoding.strings_from_json(cache_key), names)
    if not environment:
        return None
    triton = encoding.strings_from_json(versions).get("triton", "")
    return _identity((digest, specialization, config, target, triton), environment)
