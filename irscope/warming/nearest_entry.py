"""Why a compilation found no entry in a warm folder: the nearest entry, and the components that differ."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from irscope.analysis.cache_key_diff import reason_text, recompilation
from irscope.backends import parse_target
from irscope.capturing.record.requested_config import (
    TunedNames,
    requested_config,
    requested_target,
    specialization,
)
from irscope.model import Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.model.text import pluralize
from irscope.toolchain.kernels import called_functions, source_function
from irscope.toolchain.process_hooks import Compiled
from irscope.toolchain.triton_cache import cache_key
from irscope.warming.manifest import Manifest, SourceLines, WarmEntry

_MAX_REASONS = 3


def requested_variant(event: Compiled) -> Variant:
    """The compilation that a program requested, with each component of its cache key; no artifacts."""
    source, options, function = event.source, event.options, event.source.fn
    kernel = Kernel(
        0,
        source.name,
        source_function(function),
        tuple(source_function(helper) for helper in called_functions(function)),
        tuple(parameter.name for parameter in function.params),
    )
    tuned = TunedNames()
    return Variant(
        0,
        kernel,
        requested_target(event.target),
        specialization(source, options, tuned, None),
        requested_config(source, options, event.target, tuned, None),
        Toolchain(0, {"triton": event.version}, ""),
        cache_key=cache_key(source, event.target, options),
    )


def arguments_text(variant: Variant) -> str:
    """The specialization and the config: "x_ptr=*fp32:16, n=i32, BLOCK=1024,num_warps=4"."""
    given = ", ".join(f"{argument.name}={argument}" for argument in variant.specialization)
    return ", ".join(filter(None, (given, str(variant.config))))


def entry_text(entry: WarmEntry) -> str:
    """An entry by its folder in the cache, and the programs that asked for it."""
    return f"entry {entry.folder[:12]}{' of ' + ', '.join(entry.inputs) if entry.inputs else ''}"


def nearest_entry(cold: Variant, manifest: Manifest) -> WarmEntry | None:
    """The entry of the same kernel with the fewest components that differ; None if it has no entry."""
    same = [entry for entry in manifest.entries if entry.kernel == cold.kernel.name]
    return min(same, key=lambda entry: _distance(entry, cold), default=None)


def missing_text(cold: Variant, entry: WarmEntry | None, manifest: Manifest) -> str:
    """The components of a request that differ from the nearest entry, or why there is no entry."""
    if entry is None:
        kernels = {each.kernel for each in manifest.entries}
        entries = pluralize(len(manifest.entries), "entry")
        return f"no entry of this kernel among the {entries} of {pluralize(len(kernels), 'kernel')}"
    # Manifests have the values of the key only.
    requested = replace(cold, specialization=(), config=Config())
    reasons = [reason_text(each) for each in recompilation(_stored(entry, cold, manifest), requested).reasons]
    if not reasons:
        return "nothing: Triton could not use its files, see irscope warm --verify"
    more = len(reasons) - _MAX_REASONS
    rest = f" and {pluralize(more, 'more difference')}" if more > 0 else ""
    return f"{', '.join(reasons[:_MAX_REASONS])}{rest}"


def _distance(entry: WarmEntry, cold: Variant) -> int:
    """The number of components in which two keys differ."""
    ours, theirs = entry.components, cold.cache_key
    return sum(ours.get(name) != theirs.get(name) for name in ours.keys() | theirs.keys())


def _stored(entry: WarmEntry, cold: Variant, manifest: Manifest) -> Variant:
    """The entry as a variant, to compare with `cold`, which is of the same kernel."""
    return Variant(
        0,
        _stored_kernel(entry, cold.kernel, manifest),
        parse_target(entry.target),
        (),
        Config(),
        Toolchain(0, manifest.versions, ""),
        cache_key=entry.components,
    )


def _stored_kernel(entry: WarmEntry, kernel: Kernel, manifest: Manifest) -> Kernel:
    """The entry's kernel: the manifest has digests of its functions, so text that differs is unknown."""
    lines = {each.name: each for each in map(manifest.sources.__getitem__, entry.sources)}
    helpers = tuple(_function(each, lines[each.name]) for each in kernel.helpers if each.name in lines)
    if kernel.source.name not in lines:
        return replace(kernel, helpers=helpers)
    return replace(kernel, source=_function(kernel.source, lines[kernel.source.name]), helpers=helpers)


def _function(function: SourceFunction, stored: SourceLines) -> SourceFunction:
    same = hashlib.sha256(function.text.encode("utf-8", "replace")).hexdigest() == stored.digest
    text = function.text if same else f"# another text: {stored.digest}"
    return replace(function, file=stored.file, line=stored.line, text=text)
