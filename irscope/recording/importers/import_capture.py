"""Imports what an earlier run left: recognizes its kind and writes every compilation into a capture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import irscope
from irscope.model import Benchmark, Config, UserError, Variant
from irscope.model.files import check_regular
from irscope.model.records import frozen
from irscope.recording.importers.compilation import (
    SUFFIX,
    AutotuneResult,
    Found,
    ImportedCompilation,
    SkippedEntry,
    assemble,
    benchmarks_of,
    from_cache,
)
from irscope.recording.importers.find_source import PythonFiles
from irscope.recording.importers.triton_folders import (
    DUMP_KEY,
    EntryFolder,
    find_entries,
    read_cache_entry,
    read_dump_entry,
)
from irscope.recording.importers.tritonparse_trace import is_trace_name, read_trace
from irscope.recording.importers.untrusted import MAX_JSON_BYTES, BadEntryError, parse_object, read_file
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.store.encoding import pack

CACHE, DUMP, TRACE = "Triton cache", "TRITON_KERNEL_DUMP folder", "tritonparse trace"
# How many characters of a compilation's key distinguish variants with identical known configs.
_SHORT_KEY = 8
# How many variants may wait in memory to be written.
_AHEAD = 16


@frozen
class ImportSource:
    """Something to import: its kind, and its parts (entry folders or traces)."""

    path: Path
    kind: str
    parts: tuple[EntryFolder | Path, ...]


@dataclass(slots=True)
class ImportSummary:
    """The result of an import, in numbers of variants: added, already known, with measured times.

    `kernels` maps (name, file, line) to whether the Python text was found.
    """

    added: int = 0
    known: int = 0
    measured: int = 0
    left_out: list[SkippedEntry] = field(default_factory=list)
    kernels: dict[tuple[str, str, int], bool] = field(default_factory=dict)


def recognize(path: Path) -> ImportSource:
    """Recognizes the kind of `path`. Raises UserError if it cannot be imported."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if not path.is_dir():
        check_regular(path)
        return ImportSource(path, TRACE, (path,))
    if entries := find_entries(path):
        with_metadata = any(f"{stem}.json" in entry.files for entry in entries for stem in entry.stems())
        return ImportSource(path, CACHE if with_metadata else DUMP, tuple(entries))
    files = (file for file in path.iterdir() if is_trace_name(file.name))
    traces = sorted(file for file in files if file.is_file() and not file.is_symlink())
    if traces:
        return ImportSource(path, TRACE, tuple(traces))
    raise UserError(
        f"{path}: not a Triton cache, a TRITON_KERNEL_DUMP folder or a folder of tritonparse traces"
    )


def import_source(
    source: ImportSource,
    open_writer: Callable[[], CaptureWriter],
    command: str,
    report: Callable[[int], None],
) -> ImportSummary:
    """Write every compilation of `source` that the capture does not have; malformed entries are skipped.

    Opens the capture once the first compilation was read. Calls `report` with the number of parts that
    are done after each part. Raises UserError if no compilation can be imported.
    """
    items = _packed(_read_all(source, report))
    before: list[Found] = []
    for first in items:
        if isinstance(first, ImportedCompilation):
            break
        before.append(first)
    else:
        reason = next(
            (f" ({item.place}: {item.reason})" for item in before if isinstance(item, SkippedEntry)), ""
        )
        raise UserError(f"{source.path}: this {source.kind} has no readable compilation{reason}")
    with open_writer() as writer:
        session = ImportSession(writer, source.kind, command)
        for item in chain(before, [first], items):
            session.add(item)
        session.close()
    return session.summary


def _read_all(source: ImportSource, report: Callable[[int], None]) -> Iterator[Found]:
    files = PythonFiles()
    for done, part in enumerate(source.parts, start=1):
        if isinstance(part, Path):
            yield from read_trace(part, files)
        else:
            for stem in part.stems():
                yield _read_kernel(source.kind, part, stem, files)
            for name in part.tunings():
                yield _read_tuning(part.path / name)
        report(done)


def _read_kernel(kind: str, entry: EntryFolder, stem: str, files: PythonFiles) -> Found:
    try:
        raw = read_cache_entry(entry, stem) if kind == CACHE else read_dump_entry(entry, stem)
        return assemble(raw, files)
    except BadEntryError as error:
        return SkippedEntry(str(entry.path), str(error))


def _read_tuning(path: Path) -> Found:
    try:
        results = parse_object(read_file(path, MAX_JSON_BYTES), path.name)
        return from_cache(path.name.removesuffix(SUFFIX), results)
    except BadEntryError as error:
        return SkippedEntry(str(path.parent), str(error))


def _packed(found: Iterator[Found]) -> Iterator[Found]:
    """Compresses the stages in threads while the next items are read; keeps the order."""
    ahead: deque[Future[Found]] = deque()
    with ThreadPoolExecutor() as threads:
        for item in found:
            ahead.append(threads.submit(_pack, item))
            if len(ahead) > _AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _pack(item: Found) -> Found:
    if not isinstance(item, ImportedCompilation):
        return item
    packed = {stage: pack(content) for stage, content in item.new.artifacts.items()}
    return replace(item, new=replace(item.new, artifacts=packed))


class ImportSession:
    """Adds compilations to a capture, and knows which it has already."""

    def __init__(self, writer: CaptureWriter, kind: str, command: str) -> None:
        self.summary = ImportSummary()
        self._writer, self._kind, self._command = writer, kind, command
        with CaptureReader(writer.path) as capture:
            variants = capture.variants()
            kernels = capture.kernels.values()
            self._kernels = {(k.name, k.source.file, k.source.line): k.id for k in kernels}
        self._keys = set(map(_key, variants))
        self._identities = writer.finished()
        self._toolchains: dict[str, int] = {}
        self._configs: dict[str, dict[int, Config]] = {}
        self._tunings: list[AutotuneResult] = []

    def add(self, found: Found) -> None:
        """Write a compilation; keeps autotune results for `close`."""
        if isinstance(found, SkippedEntry):
            self.summary.left_out.append(found)
        elif isinstance(found, AutotuneResult):
            self._tunings.append(found)
        elif found.key in self._keys:
            self.summary.known += 1
        else:
            self._write(found)
            self._keys.add(found.key)
            self.summary.added += 1

    def close(self) -> None:
        """Write the times that autotuners measured."""
        measured: dict[int, list[Benchmark]] = {}
        for tuning in self._tunings:
            for id_, benchmark in benchmarks_of(tuning, self._configs.get(tuning.kernel, {})).items():
                measured.setdefault(id_, []).append(benchmark)
        for id_, benchmarks in measured.items():
            self._writer.set_measured(id_, (), tuple(benchmarks))
        self.summary.measured = len(measured)

    def _write(self, found: ImportedCompilation) -> None:
        source = found.source
        kernel_key = (source.name, source.file, source.line)
        if kernel_key not in self._kernels:
            self._kernels[kernel_key] = self._writer.add_kernel(source, (), found.parameters)
        self.summary.kernels[kernel_key] = bool(source.text)
        if found.triton not in self._toolchains:
            versions = {"triton": found.triton, "irscope": irscope.__version__, "imported from": self._kind}
            self._toolchains[found.triton] = self._writer.add_toolchain(versions, self._command)
        kernel, toolchain = self._kernels[kernel_key], self._toolchains[found.triton]
        new = self._with_unique_config(kernel, found)
        id_ = self._writer.add_variant(kernel, toolchain, found.triton, new)
        self._configs.setdefault(source.name, {})[id_] = new.config

    def _with_unique_config(self, kernel: int, found: ImportedCompilation) -> NewVariant:
        """Return the variant, with a part of its key in its config if nothing else makes it unique."""
        values = found.new.config.values
        for more in ((), (("cache", found.key[:_SHORT_KEY]),), (("cache", found.key),)):
            new = replace(found.new, config=Config((*values, *more)))
            identity = self._writer.identity(kernel, found.triton, new)
            if identity not in self._identities:
                break
        self._identities.add(identity)
        return new


def _key(variant: Variant) -> str | None:
    """Return the `ImportedCompilation.key` of a variant; None if it was neither imported nor cached."""
    return variant.metadata.get("hash") or variant.cache_key.get(DUMP_KEY)
