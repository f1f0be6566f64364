"""Reading a capture: read-only, opened in constant time, even while it is being written."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from irscope.backends import UnknownBackendError, target_named
from irscope.model import Artifact, Kernel, Pass, Toolchain, UserError, Variant
from irscope.store import encoding
from irscope.store.encoding import Blob
from irscope.store.schema import APPLICATION_ID, SCHEMA_VERSION

# The first version with tables for passes and layouts.
_WITH_PASSES = 2
_MAGIC = b"SQLite format 3\0"
# The errors that a row of a damaged or hostile capture can cause; the reader turns each into a UserError.
_DAMAGE = (sqlite3.Error, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


def check_capture(path: Path) -> None:
    """Raises UserError if `path` is not a capture that this irscope can read."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise UserError(f"{path}: not an irscope capture")
    # SQLite file format, 1.3: page size at 16 (1 means 65,536), pages at 28, user version at 60,
    # application id at 68; all big-endian.
    page_size, pages = (
        struct.unpack_from(">H", header, 16)[0],
        struct.unpack_from(">I", header, 28)[0],
    )
    version, application = struct.unpack_from(">I4xI", header, 60)
    logged = Path(os.fspath(path) + "-wal").exists()
    if application != APPLICATION_ID and not logged:
        raise UserError(f"{path}: an SQLite database, but not an irscope capture")
    if version > SCHEMA_VERSION:
        raise UserError(
            f"{path}: written by a newer irscope (capture format {version}, this one reads up to "
            f"{SCHEMA_VERSION}); upgrade irscope"
        )
    if size < pages * (65536 if page_size == 1 else page_size) and not logged:
        raise UserError(f"{path}: truncated: {size:,} bytes; copy the capture again")


class CaptureReader:
    """A capture open for reading. Its methods raise UserError if the file turns out to be damaged."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        check_capture(self.path)
        try:
            self._db = _open(self.path)
        except sqlite3.Error as error:
            raise UserError(f"{self.path}: cannot be read: {error}") from error

    def __enter__(self) -> CaptureReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    @cached_property
    def kernels(self) -> Mapping[int, Kernel]:
        """The kernels by id, in the order of the capture, as of the first access."""
        kernels = {}
        for id_, name, source, helpers, parameters in self._rows(
            "SELECT id, name, source, helpers, parameters FROM kernel ORDER BY id"
        ):
            with self._damage():
                function = encoding.function_from_json(source)
                functions = encoding.functions_from_json(helpers)
                names = tuple(map(encoding.checked, json.loads(parameters)))
                kernels[id_] = Kernel(id_, encoding.checked(name), function, functions, names)
        return kernels

    def variants(self, kernel: str | None = None) -> list[Variant]:
        """Every variant (of the kernel named `kernel`), in order, as they are in the file now."""
        self.__dict__.pop("kernels", None)
        toolchains = self._toolchains()
        artifacts: dict[int, dict[str, Artifact]] = {}
        for variant, stage, digest, size in self._rows(
            "SELECT variant, stage, artifact.digest, size FROM artifact JOIN blob USING (digest)"
        ):
            artifacts.setdefault(variant, {})[stage] = Artifact(stage, digest, size)
        variants = []
        for row in self._rows("SELECT * FROM variant ORDER BY id"):
            with self._damage():
                owner = self.kernels[row["kernel"]]
                if kernel is None or owner.name == kernel:
                    variants.append(_variant(row, owner, toolchains, artifacts.get(row["id"], {})))
        return variants

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """The content of a stage; None if the variant does not have it."""
        for size, data in self._rows(
            "SELECT size, data FROM artifact JOIN blob USING (digest) WHERE variant = ? AND stage = ?",
            (variant.id, stage),
        ):
            with self._damage():
                return encoding.decompress(data, size)
        return None

    def passes(self, variant: Variant) -> tuple[Pass, ...]:
        """The compiler passes in the order in which they ran; none if they were not recorded."""
        if self._version < _WITH_PASSES:
            return ()
        rows = self._rows(
            "SELECT stage, name, seconds, digest, size FROM pass LEFT JOIN blob USING (digest)"
            " WHERE variant = ? ORDER BY place",
            (variant.id,),
        )
        with self._damage():
            return tuple(
                Pass(
                    encoding.checked(stage),
                    encoding.checked(name),
                    float(seconds),
                    None if digest is None else Artifact(stage, digest, int(size)),
                )
                for stage, name, seconds, digest, size in rows
            )

    def content(self, artifact: Artifact) -> bytes:
        """The content of an artifact. Raises UserError if it is damaged."""
        frame = self.blob(artifact)
        return encoding.decompress(frame.frame, frame.size)

    def layouts(self, variant: Variant) -> dict[str, Any] | None:
        """Triton's own linear layouts: type -> bases; None if they were not recorded."""
        if self._version < _WITH_PASSES:
            return None
        for (text,) in self._rows("SELECT layouts FROM layouts WHERE variant = ?", (variant.id,)):
            with self._damage():
                return encoding.object_from_json(text)
        return None

    def blob(self, artifact: Artifact) -> Blob:
        """An artifact as stored. Raises UserError if it is damaged."""
        for size, data in self._rows("SELECT size, data FROM blob WHERE digest = ?", (artifact.digest,)):
            with self._damage():
                if encoding.digest(encoding.decompress(data, size)) != artifact.digest:
                    raise ValueError("the content of a stored stage does not match its hash")
                return Blob(artifact.digest, size, data)
        raise UserError(f"{self.path}: damaged: a stage is missing; copy the capture again")

    def facts(self, version: int) -> dict[int, dict[str, Any]]:
        """The facts stored with this `version` of the analysis: variant id -> name -> value."""
        kept = self.facts_kept()
        return {variant: facts for variant, (of_version, facts) in kept.items() if of_version == version}

    def facts_kept(self) -> dict[int, tuple[int, dict[str, Any]]]:
        """The facts stored with any version of the analysis: variant id -> version, and name -> value."""
        kept = {}
        for variant, version, text in self._rows("SELECT variant, version, facts FROM facts"):
            with self._damage():
                kept[variant] = (int(version), encoding.object_from_json(text))
        return kept

    def _toolchains(self) -> dict[int, Toolchain]:
        rows = self._rows("SELECT id, versions, command FROM toolchain")
        with self._damage():
            return {
                id_: Toolchain(id_, encoding.strings_from_json(text), encoding.checked(command))
                for id_, text, command in rows
            }

    @cached_property
    def _version(self) -> int:
        ((version,),) = self._rows("PRAGMA user_version")
        return int(version)

    def _rows(self, query: str, parameters: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        with self._damage():
            return self._db.execute(query, parameters).fetchall()

    def _damage(self) -> _Damage:
        return _Damage(self.path)


class _Damage:
    """Turns the errors that a damaged capture causes into a UserError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnknownBackendError):
            raise UserError(f"{self.path}: {error}") from error
        if isinstance(error, _DAMAGE):
            raise UserError(f"{self.path}: damaged: {error}; copy the capture again") from error


def _open(path: Path) -> sqlite3.Connection:
    """A read-only connection; checkpoints the log of a killed writer first, if that is allowed."""
    uri = f"file:{quote(os.fspath(path))}"
    db = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30, check_same_thread=False)
    try:
        db.execute("SELECT 1 FROM variant LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        db.close()
        db = sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=30, check_same_thread=False)
        db.execute("SELECT 1 FROM variant LIMIT 1").fetchone()
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA query_only = 1")
    db.execute("PRAGMA trusted_schema = 0")
    return db


def _variant(
    row: sqlite3.Row,
    kernel: Kernel,
    toolchains: Mapping[int, Toolchain],
    artifacts: Mapping[str, Artifact],
) -> Variant:
    return Variant(
        id=row["id"],
        kernel=kernel,
        target=target_named(row["target"]),
        specialization=encoding.specialization_from_json(row["specialization"]),
        config=encoding.config_from_json(row["config"]),
        toolchain=toolchains[row["toolchain"]],
        failure=encoding.failure_from_json(row["failure"]),
        metadata=encoding.object_from_json(row["metadata"]),
        seconds=encoding.seconds_from_json(row["seconds"]),
        cache_key=encoding.strings_from_json(row["cache_key"]),
        cached=bool(row["cached"]),
        log=encoding.optional(row["log"]),
        output=encoding.checked(row["output"]),
        reasons=encoding.optional(row["reasons"]),
        artifacts=artifacts,
        launches=encoding.launches_from_json(row["launches"]),
        benchmarks=encoding.benchmarks_from_json(row["benchmarks"]),
    )
