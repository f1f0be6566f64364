"""Entries of a warm folder, from the variants of a capture."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from irscope.backends import backend_of, parse_target
from irscope.model import Variant
from irscope.store import CaptureReader
from irscope.toolchain.launch_stubs import BuiltStub, Launcher
from irscope.warming import cache_folder
from irscope.warming.manifest import WarmEntry, WarmStub

# The keys that irscope adds to Triton's metadata.
_OWN_METADATA = frozenset(["origin"])


def write_from_capture(entry: Path, variant: Variant, reader: CaptureReader) -> str:
    """Writes an entry with the stages that the capture has; returns why that is impossible, or ""."""
    name, backend = variant.kernel.source.name, backend_of(variant.target)
    known = ["source", "ttir", "ttgir", "llir", *(s.name for s in backend.stages if s.derived_from is None)]
    stages = {stage: reader.read(variant, stage) for stage in known}
    files = {stage: content for stage, content in stages.items() if content is not None}
    if backend.binary not in files or not {"shared", "name", "target"} <= set(variant.metadata):
        missing = backend.binary if backend.binary not in files else "launch metadata"
        made = f" (the capture was made by: {variant.toolchain.command})" if variant.toolchain.command else ""
        return f"the capture has no {missing}; give irscope warm the program instead{made}"
    metadata = {k: v for k, v in variant.metadata.items() if k not in _OWN_METADATA}
    cache_folder.write_entry(entry, name, files | {"json": json.dumps(metadata).encode()})
    return ""


def config_key(variant: Variant) -> tuple[Any, ...]:
    """The config, in any order of its names."""
    return tuple(sorted((name, str(value)) for name, value in variant.config.values))


def parameter_types(variant: Variant) -> tuple[str, ...]:
    """Triton's types of the parameters: of its key if the capture has them, else of the specialization."""
    given = {argument.name: argument.type for argument in variant.specialization}
    return tuple(
        variant.cache_key.get(f"type {name}") or given.get(name, "constexpr")
        for name in variant.kernel.parameters
    )


def launcher_of(folder: Path, entry: WarmEntry) -> Launcher:
    """The launcher of an entry: its backend, types, tensor descriptors and warp size."""
    target = parse_target(entry.target)
    try:
        stem = cache_folder.file_stem(entry.kernel)
        metadata = cache_folder.read_json(folder / f"{stem}.json")
    except (OSError, ValueError):
        metadata = {}
    meta = metadata.get("tensordesc_meta")
    types = tuple(map(_type, entry.types))
    return Launcher(target.backend, types, json.dumps(meta) if meta else "", target.warp_size)


def _type(text: str) -> Any:
    """A type of Triton's as its signature has it; those of a tuple are written as one."""
    if not text.startswith("("):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def warm_stub(stub: BuiltStub) -> WarmStub:
    """A stub as the manifest has it."""
    return WarmStub(stub.name, stub.backend, stub.file, stub.source, stub.folders, stub.size)
