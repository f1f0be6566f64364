"""From what an earlier run left to a capture: which kind it is, and every compilation of it written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import irscope
from irscope.capture.cache_folder import read_cache_entry
from irscope.capture.dump_folder import DUMP_KEY, read_dump_entry
from irscope.capture.entry_folders import EntryFolder, find_entries
from irscope.capture.imported import Imported, LeftOut
from irscope.capture.python_source import PythonFiles
from irscope.capture.tritonparse_trace import is_trace_name, read_trace
from irscope.model import Config, UserError, Variant
from irscope.store import Capture, CaptureWriter

CACHE, DUMP, TRACE = "Triton cache", "TRITON_KERNEL_DUMP folder", "tritonparse trace"
# How much of a compilation's key tells variants apart whose configs are the same as far as they are known.
_SHORT_KEY = 8


@dataclass(frozen=True, slots=True)
class ImportSource:
    """What there is to import: its kind, and its parts (entry folders or traces)."""

    kind: str
    parts: tuple[EntryFolder | Path, ...]


@dataclass(slots=True)
class Summary:
    """What an import did. `kernels` maps (name, file, line) to whether the Python text was found."""

    added: int = 0
    known: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    kernels: dict[tuple[str, str, int], bool] = field(default_factory=dict)


def recognise(path: Path) -> ImportSource:
    """What `path` is. Raises UserError where it is nothing that can be imported."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if not path.is_dir():
        return ImportSource(TRACE, (path,))
    if entries := find_entries(path):
        with_metadata = any(f"{stem}.json" in entry.files for entry in entries for stem in entry.stems())
        return ImportSource(CACHE if with_metadata else DUMP, tuple(entries))
    traces = sorted(file for file in path.iterdir() if is_trace_name(file.name) and not file.is_symlink())
    if traces:
        return ImportSource(TRACE, tuple(traces))
    raise UserError(
        f"{path}: neither a Triton cache nor a TRITON_KERNEL_DUMP folder nor a folder of tritonparse traces"
    )


def import_source(
    source: ImportSource, writer: CaptureWriter, command: str, report: Callable[[int], None]
) -> Summary:
    """Writes every compilation of `source` that the capture does not have; one that is bad costs only itself.

    `report` is told how many parts are done, after each.
    """
    book = _Book(writer, source.kind, command)
    files = PythonFiles()
    for done, part in enumerate(source.parts, start=1):
        for found in _read(source.kind, part, files):
            book.enter(found)
        report(done)
    return book.summary


def _read(kind: str, part: EntryFolder | Path, files: PythonFiles) -> Iterator[Imported | LeftOut]:
    if isinstance(part, Path):
        return read_trace(part, files)
    return read_cache_entry(part, files) if kind == CACHE else read_dump_entry(part, files)


class _Book:
    """What is in the capture already, by the names that tell compilations and kernels apart."""

    def __init__(self, writer: CaptureWriter, kind: str, command: str) -> None:
        self.summary = Summary()
        self._writer, self._kind, self._command = writer, kind, command
        with Capture(writer.path) as capture:
            variants = capture.variants()
            kernels = capture.kernels.values()
            self._kernels = {(k.name, k.source.file, k.source.line): k.id for k in kernels}
        self._keys = set(map(_key, variants))
        self._identities = writer.finished()
        self._toolchains: dict[str, int] = {}

    def enter(self, found: Imported | LeftOut) -> None:
        if isinstance(found, LeftOut):
            self.summary.left_out.append(found)
        elif found.key in self._keys:
            self.summary.known += 1
        else:
            self._add(found)
            self._keys.add(found.key)
            self.summary.added += 1

    def _add(self, found: Imported) -> None:
        place = (found.source.name, found.source.file, found.source.line)
        if place not in self._kernels:
            self._kernels[place] = self._writer.add_kernel(found.source, (), found.parameters)
        self.summary.kernels[place] = found.with_source
        if found.triton not in self._toolchains:
            versions = {"triton": found.triton, "irscope": irscope.__version__, "imported from": self._kind}
            self._toolchains[found.triton] = self._writer.add_toolchain(versions, self._command)
        kernel = self._kernels[place]
        new = found.new
        identity = self._writer.identity(kernel, found.triton, new)
        if identity in self._identities:
            new = replace(
                new, config=Config((*new.config.values, ("cache", found.key[:_SHORT_KEY])))
            )
            identity = self._writer.identity(kernel, found.triton, new)
        self._identities.add(identity)
        self._writer.add_variant(kernel, self._toolchains[found.triton], found.triton, new)


def _key(variant: Variant) -> str | None:
    """What `Imported.key` was for this variant; None where it was not imported and never cached."""
    return variant.metadata.get("hash") or variant.cache_key.get(DUMP_KEY)
