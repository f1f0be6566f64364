"""From what an earlier run left to a capture: which kind it is, and every compilation of it written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
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
from irscope.store.encoding import pack

CACHE, DUMP, TRACE = "Triton cache", "TRITON_KERNEL_DUMP folder", "tritonparse trace"
# How much of a compilation's key tells variants apart whose configs are the same as far as they are known.
_SHORT_KEY = 8
# How many variants may wait in memory for their turn to be written.
_AHEAD = 16


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
    source: ImportSource,
    open_writer: Callable[[], CaptureWriter],
    command: str,
    report: Callable[[int], None],
) -> Summary:
    """Writes every compilation of `source` that the capture does not have; one that is bad costs only itself.

    The capture is opened when the first one is there. `report` is told how many parts are done, after
    each. Raises UserError where no compilation can be imported.
    """
    found = _packed(_read_all(source, report))
    left_out: list[LeftOut] = []
    for first in found:
        if isinstance(first, Imported):
            break
        left_out.append(first)
    else:
        reasons = f": {left_out[0].place}: {left_out[0].reason}" if left_out else ""
        raise UserError(f"no compilation of this {source.kind} can be imported{reasons}")
    with open_writer() as writer:
        book = _Book(writer, source.kind, command)
        for item in chain(left_out, [first], found):
            book.enter(item)
    return book.summary


def _read_all(source: ImportSource, report: Callable[[int], None]) -> Iterator[Imported | LeftOut]:
    files = PythonFiles()
    for done, part in enumerate(source.parts, start=1):
        if isinstance(part, Path):
            yield from read_trace(part, files)
        elif source.kind == CACHE:
            yield from read_cache_entry(part, files)
        else:
            yield from read_dump_entry(part, files)
        report(done)


def _packed(found: Iterator[Imported | LeftOut]) -> Iterator[Imported | LeftOut]:
    """The same in order, with the stages compressed in threads while the next ones are read."""
    ahead: deque[Future[Imported | LeftOut]] = deque()
    with ThreadPoolExecutor() as threads:
        for item in found:
            ahead.append(threads.submit(_pack, item))
            if len(ahead) > _AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _pack(item: Imported | LeftOut) -> Imported | LeftOut:
    if isinstance(item, LeftOut):
        return item
    packed = {stage: pack(content) for stage, content in item.new.artifacts.items()}
    return replace(item, new=replace(item.new, artifacts=packed))


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
        kernel, new = self._kernels[place], found.new
        # What nothing else tells apart has a part of its key in its config.
        for part in (found.key[:_SHORT_KEY], found.key):
            identity = self._writer.identity(kernel, found.triton, new)
            if identity not in self._identities:
                break
            new = replace(found.new, config=Config((*found.new.config.values, ("cache", part))))
        self._identities.add(self._writer.identity(kernel, found.triton, new))
        self._writer.add_variant(kernel, self._toolchains[found.triton], found.triton, new)


def _key(variant: Variant) -> str | None:
    """What `Imported.key` was for this variant; None where it was not imported and never cached."""
    return variant.metadata.get("hash") or variant.cache_key.get(DUMP_KEY)
