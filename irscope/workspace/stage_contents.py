"""The bytes of an open capture: stages as they are stored, and stages derived from them.

Stages derived from captures that were only opened to be read: files in the user's cache folder.

A capture may be somebody else's, so nothing is written to it. A file is named after the hash of what it was
derived from, so captures that share a cubin share its SASS.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from irscope.model import Artifact, Kernel, Pass, Stage, UserError, Variant
from irscope.model.process import cycles_not_collected
from irscope.model.text import encoded
from irscope.store import CaptureReader, encoding
from irscope.store.encoding import MAX_LINE, has_long_line
from irscope.targets import stage_named
from irscope.workspace.growth import InProgress
from irscope.workspace.variant_texts import TEXTS, check_stage, missing_text, variant_texts

if TYPE_CHECKING:
    from irscope.facts.fact import Fact
    from irscope.findings.passes import PassStep


Disassemble = Callable[[bytes], str]


def _is_binary(stage: str) -> bool:
    try:
        return stage_named(stage).binary
    except ValueError:  # an attachment
        return False


class StageContents:
    """Reads a capture's stages; several threads may use it.

    Holds what had to be derived (SASS, Triton's layouts) until `close` stores it: in the capture if the
    caller's own command wrote it (`writable`), else in the user's cache folder. `also` are captures whose
    variants follow those of the first under further numbers, and whose equal kernels are one. Raises
    UserError if a file is not a capture.
    """

    def __init__(
        self,
        path: Path | str,
        in_progress: InProgress,
        disassemble: Disassemble | None,
        writable: bool = False,
        also: Sequence[Path] = (),
    ) -> None:
        self._readers: list[CaptureReader] = []
        try:
            self._readers += map(CaptureReader, (path, *also))
        except UserError:
            for reader in self._readers:
                reader.close()
            raise
        self._writable = writable
        self.path = self._readers[0].path
        self._in_progress = in_progress
        self._disassemble = disassemble
        self._lock = Lock()
        self._derived: dict[tuple[int, str], bytes] = {}
        self._layouts: dict[int, dict[str, Any]] = {}
        self._made: dict[str, bytes] = {}  # by their names in the user's cache folder
        # Why a stage is not read, by variant and stage: finding out again would take as long as reading it.
        self._refused: dict[tuple[int, str], str] = {}
        # The other captures that variants were compiled into since, by path, and which of them has a variant.
        self._others: dict[Path, CaptureReader] = {}
        self._compiled: dict[int, CaptureReader] = {}
        # Of several captures, the index of the one that has a variant, and its number there; and the reverse.
        self._homes: dict[int, tuple[int, int]] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        self._last_number = 0
        # Per kernel without its number, the kernel as the variants of several captures have it.
        self._kernels: dict[Kernel, Kernel] = {}
        # The passes that were recorded later, by the id of the variant.
        self._later_passes: dict[int, tuple[Pass, ...]] = {}

    def close(self) -> None:
        """Close the file and store what had to be derived.

        A capture that is read-only or busy stays as it is: derived stages can be made again. Nothing
        is written to it earlier, because a writer next to an open reader leaves SQLite's log as a
        second file.
        """
        with self._lock:
            for reader in (*self._readers, *self._others.values()):
                reader.close()
        if self._writable and (self._derived or self._layouts):
            self._store_in_capture()
        elif self._made:
            self._cache.write(self._made)
        for store in (self._derived, self._layouts, self._made):
            store.clear()

    def _store_in_capture(self) -> None:
        from irscope.store import CaptureWriter  # here, because few commands derive anything

        with (
            contextlib.suppress(UserError, sqlite3.Error),
            CaptureWriter.resume(self.path, amends=True) as writer,
        ):
            for (variant, stage), content in self._derived.items():
                if self._is_in_first(variant):
                    writer.add_artifact(variant, stage, content)
            for variant, layouts in self._layouts.items():
                if self._is_in_first(variant):
                    writer.add_layouts(variant, layouts)

    def add_capture(self, path: Path, variant: int) -> None:
        """Read a variant's stages from the capture at `path`, which has the same id, from now on."""
        with self._lock:
            self._compiled[variant] = self._other(path)

    def add_passes(self, variant: int, path: Path, stored: int) -> None:
        """Give a variant the passes of the variant `stored` of the capture at `path`, from now on."""
        with self._lock:
            reader = self._other(path)
            recorded = reader.variant(stored)
            self._later_passes[variant] = reader.passes(recorded) if recorded is not None else ()

    def _other(self, path: Path) -> CaptureReader:
        """Return another capture, opened once."""
        if path not in self._others:
            self._others[path] = CaptureReader(path)
        return self._others[path]

    def _home(self, variant: Variant) -> tuple[CaptureReader, Variant]:
        """Return the capture that has a variant, and the variant as that capture knows it."""
        if variant.id in self._compiled:
            return self._compiled[variant.id], variant
        index, id_ = self._homes.get(variant.id, (0, variant.id))
        return self._readers[index], variant if id_ == variant.id else replace(variant, id=id_)

    def _is_in_first(self, id_: int) -> bool:
        return id_ not in self._compiled and self._homes.get(id_, (0, id_)) == (0, id_)

    def _number(self, index: int, id_: int) -> int:
        """Return the number of a variant of the capture with this index, always the same."""
        if len(self._readers) == 1:
            return id_
        home = index, id_
        if home not in self._numbers:
            number = id_ if index == 0 and id_ not in self._homes else self._last_number + 1
            self._numbers[home], self._homes[number] = number, home
            self._last_number = max(self._last_number, number)
        return self._numbers[home]

    def _joined(self, index: int, variant: Variant) -> Variant:
        """Return a variant of the capture with this index as one of all captures."""
        if len(self._readers) == 1:
            return variant
        return replace(variant, id=self._number(index, variant.id), kernel=self._shared(variant.kernel))

    def _shared(self, kernel: Kernel) -> Kernel:
        """Return the kernel under a number that it shares with equal ones of other captures."""
        return self._kernels.setdefault(replace(kernel, id=0), replace(kernel, id=len(self._kernels) + 1))

    @cached_property
    def _cache(self) -> DerivedCache:
        return DerivedCache()

    @property
    def large(self) -> bool:
        """Return True if variants are read when they are asked for; those of several captures never are."""
        with self._lock:
            return len(self._readers) == 1 and self._readers[0].large

    def variant(self, id_: int) -> Variant | None:
        """Return the variant with this id; None if there is none. Raises UserError if it is damaged."""
        with self._lock:
            if len(self._readers) > 1 and id_ not in self._homes:
                return None
            index, stored_id = self._homes.get(id_, (0, id_))
            stored = self._readers[index].variant(stored_id)
            return stored and self._joined(index, stored)

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels in the files, as of the first access."""
        with self._lock:
            kernels = [kernel for reader in self._readers for kernel in reader.kernels.values()]
            return tuple(kernels if len(self._readers) == 1 else dict.fromkeys(map(self._shared, kernels)))

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files that are open, in order."""
        return tuple(reader.path for reader in self._readers)

    def place(self, variant: Variant) -> int:
        """Return the index in `paths` of the file that has a variant."""
        return self._homes[variant.id][0] if variant.id in self._homes else 0

    def variants(self) -> dict[int, Variant]:
        """Return the variants in the files, by id in their order. Raises UserError if a file is damaged."""
        with self._lock, cycles_not_collected():
            joined = [
                self._joined(index, variant)
                for index, reader in enumerate(self._readers)
                for variant in reader.variants()
            ]
            return {variant.id: variant for variant in joined if variant.id not in self._compiled}

    def newer(self, known: Mapping[int, Variant]) -> dict[int, Variant]:
        """Return the variants in the files that `known` lacks, or has as failures that compiled since.

        By id in the order of the files. Raises UserError if a file is damaged.
        """
        with self._lock:
            failed = {
                self._number(index, id_): failed
                for index, reader in enumerate(self._readers)
                for id_, failed in sorted(reader.failed().items())
            }
        ids = [
            id_
            for id_, has_failed in failed.items()
            if id_ not in self._compiled
            and (id_ not in known or (known[id_].failure is not None and not has_failed))
        ]
        candidates = {id_: self.variant(id_) for id_ in ids}
        return {id_: variant for id_, variant in candidates.items() if variant is not None}

    def equal_stages(self, variant: Variant) -> dict[int, tuple[str, str]]:
        """Map variants of a large file by id to their stages, and to those that equal `variant`'s.

        Empty if the artifacts of all variants are in memory. Raises UserError if the file is
        damaged.
        """
        if not self.large or variant.id in self._compiled:
            return {}
        with self._lock:
            names_of = {
                id_: (stages, equal) for id_, stages, equal in self._readers[0].equal_stages(variant.id)
            }
        return {id_: names for id_, names in names_of.items() if id_ not in self._compiled}

    def facts(self, variants: Sequence[Variant]) -> dict[int, Mapping[str, Fact]]:
        """Return the facts that the file stores for `variants`, by variant id and name; without evidence.

        Variants that a fact was not measured for, because it is newer, are left out.
        """
        from irscope.facts.measure import FACTS_VERSION, FactColumns, rows_from_json
        from irscope.facts.registry import kinds_for

        backends = {variant.id: variant.target.backend for variant in variants}
        columns = {backend: FactColumns(backend, kinds_for(backend)) for backend in set(backends.values())}
        result: dict[int, Mapping[str, Fact]] = {}
        with self._lock, cycles_not_collected():
            readers = enumerate(self._readers)
            for index, block in (
                (index, block) for index, reader in readers for block in reader.fact_blocks()
            ):
                if block.version != FACTS_VERSION:
                    continue
                ids = [self._number(index, id_) for id_ in block.ids]
                row_backends = [None if id_ in self._compiled else backends.get(id_) for id_ in ids]
                for backend in set(filter(None, row_backends)):
                    rows = rows_from_json(block.columns, columns[backend]) or ()
                    of_each = zip(ids, row_backends, rows, strict=False)
                    result.update((id_, row) for id_, name, row in of_each if name == backend)
        return result

    def passes(self, variant: Variant) -> list[PassStep]:
        """Return the compiler's passes of a variant in order."""
        with self._lock:
            reader, stored = self._home(variant)
            recorded = self._later_passes.get(variant.id) or reader.passes(stored)
            if not recorded:
                return []
            from irscope.findings.passes import steps

            return steps(recorded)

    def artifact(self, artifact: Artifact) -> bytes:
        """Return the content of an artifact. Raises UserError if it is damaged."""
        with self._lock:
            *readers, last = (*self._others.values(), *reversed(self._readers))
            for reader in readers:
                with contextlib.suppress(UserError):  # another capture has it
                    return self._with_short_lines(reader.content(artifact), artifact.stage)
            return self._with_short_lines(last.content(artifact), artifact.stage)

    def layouts(self, variant: Variant) -> dict[str, Any] | None:
        """Return Triton's own linear layouts of a variant; None if nobody asked Triton."""
        if variant.id in self._layouts:
            return self._layouts[variant.id]
        with self._lock:
            reader, original = self._home(variant)
            stored = reader.layouts(original)
        if stored is None and (key := self._layouts_key(variant)) and (content := self._cache.read(key)):
            with contextlib.suppress(ValueError):
                stored = self._layouts[variant.id] = dict(json.loads(content))
        return stored

    def add_layouts(self, variant: Variant, layouts: dict[str, Any]) -> None:
        """Add Triton's own linear layouts of a variant."""
        self._layouts[variant.id] = layouts
        if key := self._layouts_key(variant):
            self._made[key] = json.dumps(layouts).encode()

    def _layouts_key(self, variant: Variant) -> str | None:

        version = variant.toolchain.versions.get("triton", "")
        origin = self.read(variant, "ttgir") if version else None
        return derived_key("layouts", origin, version, str(variant.target)) if origin else None

    def key(self, variant: Variant, stage: str) -> str | None:
        """Return an identifier of a stage's text: equal keys, equal text. None if there is no such stage."""
        if stage in variant.artifacts:
            return variant.artifacts[stage].digest
        source = None if stage in TEXTS else stage_named(stage).derived_from
        if source is None or source not in variant.artifacts or variant.id in self._in_progress:
            return None
        return f"{stage} of {variant.artifacts[source].digest}"

    def available(self, variant: Variant, stage: str) -> bool:
        """Check whether the text can be had without deriving it: stored, or derived before."""
        return stage in variant.artifacts or (variant.id, stage) in self._derived

    def derivable(self, variant: Variant, stage: str) -> bool:
        """Check whether the stage is not stored but can be derived from another one."""
        return stage not in variant.artifacts and self.key(variant, stage) is not None

    def comparable(self, a: Variant, b: Variant, stage: str) -> bool:
        """Check whether both variants have the stage and its texts differ."""
        keys = [self.key(variant, stage) for variant in (a, b)]
        return None not in keys and keys[0] != keys[1]

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """Return a stage as it is stored; None if it is not. Raises UserError if it is damaged."""
        held = self._in_progress.content(variant, stage)
        if held is not None:
            return held
        if (variant.id, stage) in self._refused:
            raise UserError(self._refused[variant.id, stage])
        with self._lock:
            reader, original = self._home(variant)
            stored = reader.read(original, stage)
        return None if stored is None else self._with_short_lines(stored, stage, variant)

    def _with_short_lines(self, content: bytes, stage: str, variant: Variant | None = None) -> bytes:
        """Return the content of a stage. Raises UserError if it is text with a line that is too long."""
        if len(content) > MAX_LINE and has_long_line(content) and not _is_binary(stage):
            name = f"#{variant.id} {stage}" if variant else f"a module of {stage}"
            problem = (
                f"{self.path}: {name} has a line of more than {MAX_LINE:,} bytes, which irscope does not read"
            )
            if variant:
                self._refused[variant.id, stage] = problem
            raise UserError(problem)
        return content

    def find(self, variant: Variant, stage: str) -> bytes | None:
        """Return the bytes of a stage, derived if needed; None if the variant lacks it.

        Raises UserError if the stage is damaged or the disassembler fails, ValueError for an unknown
        stage.
        """
        if stage in variant.artifacts:
            return self.read(variant, stage)
        derived = stage_named(stage)
        origin = self.read(variant, derived.derived_from) if derived.derived_from else None
        if not origin:
            return None
        key = (variant.id, stage)
        if key not in self._derived:
            self._derived[key] = self._derive(derived, origin)
        return self._derived[key]

    def _derive(self, stage: Stage, origin: bytes) -> bytes:
        """Return a stage made from `origin`, or made before."""
        key = derived_key(stage.name, origin)
        cached = self._made.get(key) or self._cache.read(key)
        if cached is not None:
            return cached
        from pkgutil import resolve_name

        disassemble: Disassemble = self._disassemble or resolve_name(stage.disassembler)
        self._made[key] = encoded(disassemble(origin))
        return self._made[key]

    def content(self, variant: Variant, stage: str) -> bytes:
        """Return the bytes of a stage, derived if needed, or of one of TEXTS.

        Raises UserError if the variant lacks it, saying what it has instead.
        """
        check_stage(stage, with_texts=True)
        if stage in TEXTS:
            text = variant_texts(variant).get(stage)
            content = None if text is None else encoded(text)
        else:
            content = self.find(variant, stage)
        if content is None:
            raise UserError(missing_text(variant, stage))
        return content


# The oldest files are removed beyond this. The SASS of a matmul takes 6 kB.
_MAX_BYTES = 256 << 20
_SUFFIX = ".zst"


def derived_key(kind: str, origin: bytes, *others: str) -> str:
    """Name what is derived from `origin`: its kind, and a hash of everything that it depends on."""
    parts = "\0".join((hashlib.sha256(origin).hexdigest(), *others))
    return f"{kind}-{hashlib.sha256(parts.encode('utf-8', 'replace')).hexdigest()}"


class DerivedCache:
    """The user's cache folder, or `folder`; if it cannot be read or written, it stays empty."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or default_folder()

    def read(self, key: str) -> bytes | None:
        """Return the content stored under `key`; None if there is none, or if it is damaged."""
        import zstandard

        path = self._path(key)
        with contextlib.suppress(OSError, ValueError, zstandard.ZstdError):
            frame = path.read_bytes()
            content = encoding.decompress(frame, zstandard.frame_content_size(frame))
            os.utime(path)  # the oldest are removed first
            return content
        return None

    def write(self, contents: dict[str, bytes]) -> None:
        """Store each content under its key, and remove the oldest files beyond the limit."""
        if not contents:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            for key, content in contents.items():
                part = self._folder / f"{key}.{os.getpid()}.part"
                part.write_bytes(encoding.compress(content))
                part.replace(self._path(key))
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        states = [(file.stat(), file) for file in self._folder.iterdir() if file.is_file()]
        total = sum(state.st_size for state, _ in states)
        for state, file in sorted(states, key=lambda item: item[0].st_mtime):
            if total <= _MAX_BYTES:
                break
            file.unlink(missing_ok=True)
            total -= state.st_size

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"


def default_folder() -> Path:
    """Return the cache folder of the user that runs irscope."""
    import platformdirs

    base = os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope")
    return Path(base) / "derived"
