"""Reads the folders that Triton leaves: one per compilation (its cache) or per kernel (TRITON_KERNEL_DUMP=1).

A cache entry has NAME.json next to the stages (triton/runtime/cache.py, 3.0 to 3.9), with options, target
and versions, but without the values of constexpr parameters. A dump has only the stages. Its folder is named
by the hash of source, signature and constants, but not of the options, so that configs that differ only in
num_warps or num_stages overwrite each other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from irscope.compiling.toolchain.triton_cache import SIDECAR, parse_sidecar
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.recording.importers.compilation import (
    SUFFIX,
    RawCompilation,
    config_options,
    environment_components,
    hash_of,
    target_of,
)
from irscope.recording.importers.untrusted import (
    MAX_JSON_BYTES,
    MAX_STAGE_BYTES,
    BadEntryError,
    parse_object,
    read_file,
)
from irscope.store import NewVariant
from irscope.targets import STAGES, all_stages

_EXTENSIONS = frozenset(stage.name for stage in STAGES if stage.derived_from is None)
# torch.compile keeps its kernels in triton/DEVICE/ENTRY below its own folder.
_MAX_DEPTH = 3
_MODULE = re.compile(rb"^module attributes \{([^\n]{0,4000})", re.MULTILINE)
# The attributes of a TTGIR module by the names that Triton's metadata has for them.
_ATTRIBUTES = {
    "num_warps": re.compile(rb'"ttg\.num-warps" = (\d{1,9}) : i32'),
    "num_ctas": re.compile(rb'"ttg\.num-ctas" = (\d{1,9}) : i32'),
    "maxnreg": re.compile(rb"ttg\.maxnreg = (\d{1,9}) : i32"),
    "warp_size": re.compile(rb'"ttg\.threads-per-warp" = (\d{1,9}) : i32'),
}
# The cache key component that names a dump's folder (`ASTSource.hash`); it does not include the options.
DUMP_KEY = "source, types and constants"
_TARGET = re.compile(rb'ttg\.target = "(\w{1,20}):([\w:+-]{1,60})"')


@frozen
class EntryFolder:
    """A folder of a cache or dump, and the names of its regular files."""

    path: Path
    files: frozenset[str]

    def tunings(self) -> list[str]:
        """Return the files with the results of an autotuner."""
        return sorted(name for name in self.files if name.endswith(SUFFIX))

    def stems(self) -> list[str]:
        """Return the kernels with at least one stage here, by the stems of their files."""
        return sorted({name.rpartition(".")[0] for name in self.files if _extension(name) in _EXTENSIONS})

    def read_stages(self, stem: str) -> dict[str, bytes]:
        """Read every stage of the kernel. Raises BadEntryError if one cannot be read."""
        extensions = {_extension(name) for name in self.files if name.rpartition(".")[0] == stem}
        names = {stage: f"{stem}.{stage}" for stage in sorted(extensions & _stage_extensions(extensions))}
        return {
            stage: read_file(self.path / name, MAX_STAGE_BYTES)
            for stage, name in names.items()
            if name in self.files
        }


def find_entries(path: Path) -> list[EntryFolder]:
    """Find the folders with stages or autotune results, at or below `path`, sorted by path.

    Reads no file and follows no links. Raises UserError if `path` cannot be read.
    """
    try:
        os.listdir(path)  # noqa: PTH208 - raises the errors that `_list_folder` ignores
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror}") from error
    entries: list[EntryFolder] = []
    pending = [(path, 0)]
    while pending:
        folder, depth = pending.pop()
        files, folders = _list_folder(folder)
        entry = EntryFolder(folder, files)
        if entry.stems() or entry.tunings():
            entries.append(entry)
        elif depth < _MAX_DEPTH:
            pending += [(folder / name, depth + 1) for name in folders]
    return sorted(entries, key=lambda entry: entry.path)


def _stage_extensions(found: AbstractSet[str]) -> AbstractSet[str]:
    """Return the extensions of files with stages.

    Those of plug-ins are included only if one of `found` is unknown.
    """
    if found <= _EXTENSIONS | {"json"}:
        return _EXTENSIONS
    return {stage.name for stage in all_stages() if stage.derived_from is None}


def _list_folder(folder: Path) -> tuple[frozenset[str], list[str]]:
    """Return the names of the regular files and folders in a folder; none if it cannot be read."""
    files, folders = set(), []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    files.add(entry.name)
                # Triton writes into tmp.pid_... and renames it: one that remains is incomplete.
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("tmp.pid_"):
                    folders.append(entry.name)
    except OSError:
        return frozenset(), []
    return frozenset(files), folders


def _extension(name: str) -> str:
    return name.rpartition(".")[2]


def read_cache_entry(entry: EntryFolder, stem: str) -> RawCompilation:
    """Read the compilation in a cache entry whose files are named `stem`. Raises BadEntryError."""
    if f"{stem}.json" not in entry.files:
        raise BadEntryError("it has no metadata: the compilation failed or was interrupted")
    metadata = parse_object(read_file(entry.path / f"{stem}.json", MAX_JSON_BYTES), f"{stem}.json")
    sidecar: dict[str, Any] = {}
    if SIDECAR in entry.files:
        sidecar = parse_object(read_file(entry.path / SIDECAR, MAX_JSON_BYTES), SIDECAR)
    log, seconds = parse_sidecar(sidecar)
    target = target_of(metadata.get("target"))
    return RawCompilation(
        key=hash_of(metadata),
        name=str(metadata.get("name") or stem),
        new=NewVariant(
            target,
            (),
            config_options(metadata, target),
            cache_key=environment_components(metadata),
            artifacts=entry.read_stages(stem),
            metadata=metadata,
            seconds=seconds,
            cached=True,
            log=log,
        ),
        triton=str(metadata.get("triton_version") or "unknown"),
    )


def read_dump_entry(entry: EntryFolder, stem: str) -> RawCompilation:
    """Read the compilation in a dump's folder whose files are named `stem`. Raises BadEntryError."""
    artifacts = entry.read_stages(stem)
    metadata = _module_metadata(artifacts.get("ttgir", b""))
    target = target_of(metadata["target"])
    return RawCompilation(
        key=entry.path.name,
        name=stem,
        new=NewVariant(
            target,
            (),
            config_options(metadata, target),
            artifacts=artifacts,
            metadata=metadata,
            cache_key={DUMP_KEY: entry.path.name},
        ),
    )


def _module_metadata(ttgir: bytes) -> dict[str, Any]:
    """Return the attributes of the module, by the names of Triton's metadata. Raises BadEntryError."""
    module = _MODULE.search(ttgir)
    target = _TARGET.search(module[1]) if module else None
    if module is None or target is None:
        raise BadEntryError("it has no TTGIR module that names its target")
    metadata: dict[str, Any] = {"target": {"backend": target[1].decode(), "arch": target[2].decode()}}
    for name, attribute in _ATTRIBUTES.items():
        if match := attribute.search(module[1]):
            metadata[name] = int(match[1])
    return metadata
