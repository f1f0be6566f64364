"""The identity of a variant: equal identities are the same compilation, which a capture holds once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from irscope.model import Kernel, SourceFunction, Variant
from irscope.model.variant import environment_of
from irscope.store import encoding

if TYPE_CHECKING:
    from irscope.store.new_variant import NewVariant


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
