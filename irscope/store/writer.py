"""Writing a capture: each variant in one transaction, as soon as it is compiled."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from irscope.model import Benchmark, Kernel, Launch, SourceFunction, Toolchain, UserError
from irscope.model.files import output_target
from irscope.model.records import frozen
from irscope.store import encoding
from irscope.store.blocks import remove_blocks, write_blocks
from irscope.store.capture_file import (
    OutputLock,
    create_file,
    holds_nothing,
    opening,
    remove_capture,
    upgrade,
)
from irscope.store.connection import DAMAGE, connect_writer, marks
from irscope.store.encoding import Blob
from irscope.store.made_here import remember
from irscope.store.new_variant import NewVariant, identity, joined_digest, kernel_columns
from irscope.store.schema import ATTACHMENT
from irscope.targets import backend_of

_FORGET_VARIANT = (
    "DELETE FROM artifact WHERE variant = ?",
    "DELETE FROM pass WHERE variant = ?",
    "DELETE FROM layouts WHERE variant = ?",
    "DELETE FROM facts WHERE variant = ?",
    "DELETE FROM variant WHERE id = ?",
)


@frozen
class VariantRows:
    """The rows of a variant in the tables of the capture; `variant` has the columns in their order."""

    variant: tuple[Any, ...]
    artifacts: Sequence[tuple[int, str, str]]
    passes: Sequence[tuple[object, ...]]
    facts: Sequence[tuple[int, int, str]]
    layouts: Sequence[tuple[int, str]]

    @property
    def id(self) -> int:
        """Return the id of the variant."""
        return int(self.variant[0])

    @property
    def digests(self) -> set[str]:
        """Return the digests of all contents."""
        modules = (row[-1] for row in self.passes if row[-1] is not None)
        return {digest for _, _, digest in self.artifacts}.union(map(str, modules))


class CaptureWriter:
    """A capture open for writing. If the process is killed, every finished variant stays readable.

    Write-ahead logging lets others read while this writes; `close` checkpoints the log, which leaves a
    single file. No other writer can open or replace the file until then.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: OutputLock) -> None:
        self.path = path
        self._db, self._lock = connection, lock
        self._batch = False
        self._incomplete = False
        # The hashes of the Python code that was compiled into it: kernels, and their stand-alone texts.
        self._compiled: set[str] = set()

    @classmethod
    def create(cls, path: Path, force: bool = False) -> CaptureWriter:
        """Create a capture at `path`; replace a capture without variants.

        Raises UserError if the file exists (unless `force`), is being written or cannot be created.
        """
        target = output_target(path)
        with opening(path, target) as lock:
            if target.exists() and not force and not holds_nothing(target):
                raise UserError(
                    f"{path} exists; choose another name with -o; --force (Python: force=True) replaces it, "
                    "--resume adds to it"
                )
            create_file(target)
            return cls(path, connect_writer(target), lock)

    @classmethod
    def resume(cls, path: Path, amends: bool = False) -> CaptureWriter:
        """Open the capture at `path` to add to it.

        Raises UserError if it is not one or is being written. A capture that an earlier writer left
        incomplete is complete afterwards, unless this one only `amends` what it has.
        """
        target = output_target(path)
        if not target.exists():
            raise UserError(f"{path}: cannot be read: No such file or directory")
        with opening(path, target, amends) as lock:
            db = connect_writer(target)
            try:
                with db:
                    upgrade(db)
                    remove_blocks(db)
            except BaseException:
                db.close()
                raise
            return cls(path, db, lock)

    @staticmethod
    def remove_if_empty(path: Path) -> bool:
        """Remove the capture at `path` if it has no variants and nobody is writing it; say if it was."""
        empty = holds_nothing(path)
        if empty:
            remove_capture(path)
        return empty

    def __enter__(self) -> CaptureWriter:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        planned = self._lock.planned
        if error is not None and planned is not None and planned > self.count():
            self._incomplete = True
        self.close()

    def close(self) -> None:
        """Checkpoint the log into the file; while readers have it open, an empty log stays next to it.

        A large capture gets its blocks first; one with a damaged row is read from its rows.
        """
        try:
            with contextlib.suppress(*DAMAGE):
                write_blocks(self._db)
            with contextlib.suppress(sqlite3.OperationalError):
                # The mode cannot change while a reader has the file open, but the log can be empty.
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._db.execute("PRAGMA journal_mode = DELETE")
            self._db.close()
        finally:
            self._lock.release(self._incomplete)
            remember(self._compiled)

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Make one transaction of all that is added until it ends: a killed process loses all of it."""
        with self._db:
            self._batch = True
            try:
                yield
            finally:
                self._batch = False

    def _transaction(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext() if self._batch else self._db

    def expect(self, variants: int) -> None:
        """Record that so many new variants will be added, for those who read the file meanwhile."""
        self._lock.plan(self.count() + variants)

    def leave_incomplete(self, variants: int) -> None:
        """Mark the capture, once it is closed, as one that lacks so many variants; 0 if that is unknown."""
        self._lock.plan(self.count() + variants if variants else None)
        self._incomplete = True

    def count(self) -> int:
        """Return the number of variants."""
        return self._id("SELECT count(*) FROM variant", ())

    def add_toolchain(self, versions: Mapping[str, str], command: str) -> int:
        """Return the id of this set of versions (name -> version) and command; add it if it is new."""
        # A file that is named in another encoding is in the command, too.
        row = (encoding.dumps(dict(versions)), encoding.storable(command) or "")
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO toolchain (versions, command) VALUES (?, ?)", row)
        return self._id("SELECT id FROM toolchain WHERE versions = ? AND command = ?", row)

    def add_kernel(
        self,
        source: SourceFunction,
        helpers: tuple[SourceFunction, ...],
        parameters: tuple[str, ...],
    ) -> int:
        """Return the id of the kernel with this source and these helpers; add it if it is new."""
        columns = kernel_columns(source, helpers, parameters)
        digest = joined_digest(*columns)
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO kernel (digest, name, source, helpers, parameters)"
                " VALUES (?, ?, ?, ?, ?)",
                (digest, *columns),
            )
        return self._id("SELECT id FROM kernel WHERE digest = ?", (digest,))

    def finished(self) -> set[str]:
        """Return the identities of the variants that compiled and need not be compiled again."""
        rows = self._db.execute("SELECT identity FROM variant WHERE failure IS NULL")
        return {identity for (identity,) in rows}

    def known(self, names: Iterable[str]) -> tuple[set[str], dict[str, int]]:
        """Return which identities compiled, and map those that failed to their ids."""
        query = "SELECT id, failure IS NOT NULL FROM variant WHERE identity = ?"
        finished, failed = set[str](), dict[str, int]()
        for name in names:
            for id_, has_failed in self._db.execute(query, (name,)):
                if has_failed:
                    failed[name] = int(id_)
                else:
                    finished.add(name)
        return finished, failed

    def identity(self, kernel: int, triton_version: str, new: NewVariant) -> str:
        """Return the identity of a compilation: equal identities are the same variant."""
        return identity(self._kernel_digest(kernel), triton_version, new)

    def next_id(self) -> int:
        """Return the id of the next new variant."""
        return self._id("SELECT coalesce(max(id), 0) + 1 FROM variant", ())

    def add_compiled(
        self, kernel: Kernel, toolchain: Toolchain, new: NewVariant, id_: int | None = None
    ) -> int:
        """Add a variant with its kernel and toolchain, whose ids do not count; return its id."""
        return self.add_variant(
            self.add_kernel(kernel.source, kernel.helpers, kernel.parameters),
            self.add_toolchain(toolchain.versions, toolchain.command),
            toolchain.versions.get("triton", ""),
            new,
            id_,
        )

    def add_variant(
        self,
        kernel: int,
        toolchain: int,
        triton_version: str,
        new: NewVariant,
        id_: int | None = None,
        name: str = "",
    ) -> int:
        """Add (or replace) a variant with all its artifacts, in one transaction; return its id.

        `id_` is the id for a new variant (default: the next); a replacement keeps the existing id.
        `name` is its identity, if the caller knows it.
        """
        name = name or self.identity(kernel, triton_version, new)
        failure = None if new.failure is None else encoding.failure_to_json(new.failure)
        with self._transaction():
            old = self._forget(name)
            cursor = self._db.execute(
                "INSERT INTO variant VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    id_ if old is None else old,
                    name,
                    kernel,
                    toolchain,
                    str(new.target),
                    encoding.specialization_to_json(new.specialization),
                    encoding.config_to_json(new.config),
                    failure,
                    encoding.dumps(dict(new.metadata)),
                    encoding.dumps(dict(new.seconds)),
                    encoding.dumps(dict(new.cache_key)),
                    int(new.cached),
                    encoding.storable(new.log),
                    encoding.storable(new.output),
                    encoding.storable(new.reasons, encoding.MAX_BLOB_BYTES),
                    encoding.records_to_json(new.launches),
                    encoding.benchmarks_to_json(new.benchmarks),
                ),
            )
            variant = int(cursor.lastrowid or 0)
            for stage, content in new.artifacts.items():
                digest = self._put(variant, stage, content)
                if new.attachments and stage == backend_of(new.target).binary:
                    self._compiled.add(digest)
            for attached, content in new.attachments.items():
                self._compiled.add(self._put(variant, ATTACHMENT + attached, content))
            if new.attachments:
                self._compiled.add(self._kernel_digest(kernel))
            for position, new_pass in enumerate(new.passes):
                module = None if new_pass.content is None else self._put_blob(new_pass.content)
                row = (variant, position, new_pass.stage, new_pass.name, new_pass.seconds, module)
                self._db.execute("INSERT INTO pass VALUES (?, ?, ?, ?, ?, ?)", row)
        return variant

    def add_rows(self, variants: Sequence[VariantRows]) -> None:
        """Add (or replace) variants whose contents are stored, in one transaction."""
        with self.batch():
            for rows in variants:
                self._forget(str(rows.variant[1]))
            self._insert("variant", [rows.variant for rows in variants])
            self._insert("artifact", [row for rows in variants for row in rows.artifacts])
            self._insert("pass", [row for rows in variants for row in rows.passes])
            self._insert("facts", [row for rows in variants for row in rows.facts])
            self._insert("layouts", [row for rows in variants for row in rows.layouts])

    def add_blobs(self, blobs: Sequence[Blob]) -> None:
        """Add contents that are not stored yet, in one transaction; fastest in the order of digests."""
        with self.batch():
            self._insert("blob", [(blob.digest, blob.size, blob.frame) for blob in blobs])

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks(rows[0])})", rows)  # noqa: S608

    def _forget(self, identity: str) -> int | None:
        """Delete the variant with this identity, whose contents stay; return its id, if there is one."""
        old = self._db.execute("SELECT id FROM variant WHERE identity = ?", (identity,)).fetchone()
        if old:
            for statement in _FORGET_VARIANT:
                self._db.execute(statement, old)
        return int(old[0]) if old else None

    def set_measured(
        self, variant: int, launches: tuple[Launch, ...], benchmarks: tuple[Benchmark, ...]
    ) -> None:
        """Replace the launches and benchmarks of an existing variant."""
        row = (encoding.records_to_json(launches), encoding.benchmarks_to_json(benchmarks), variant)
        with self._transaction():
            self._db.execute("UPDATE variant SET launches = ?, benchmarks = ? WHERE id = ?", row)
            self._db.execute("DELETE FROM facts WHERE variant = ?", (variant,))

    def add_artifact(self, variant: int, stage: str, content: bytes) -> None:
        """Add a derived stage to an existing variant."""
        with self._transaction():
            self._put(variant, stage, content)

    def add_attachments(self, variant: int, contents: Mapping[str, bytes]) -> None:
        """Add (or replace) attachments of an existing variant."""
        with self._transaction():
            for name, content in contents.items():
                self._compiled.add(self._put(variant, ATTACHMENT + name, content))

    def add_facts(self, variant: int, version: int, facts: Mapping[str, Any]) -> None:
        """Store the facts of a variant, measured by this `version` of the analysis; values must be JSON."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)",
                (variant, version, encoding.dumps(dict(facts))),
            )

    def add_layouts(self, variant: int, layouts: Mapping[str, Any]) -> None:
        """Store Triton's own linear layouts of a variant: type -> bases, which must be JSON."""
        with self._transaction():
            row = (variant, encoding.dumps(dict(layouts)))
            self._db.execute("INSERT OR REPLACE INTO layouts VALUES (?, ?)", row)

    def has_blob(self, digest: str) -> bool:
        """Return True if a stage with this content is stored."""
        return bool(self._db.execute("SELECT 1 FROM blob WHERE digest = ?", (digest,)).fetchone())

    def _put(self, variant: int, stage: str, content: bytes | Blob) -> str:
        """Store a content of a variant, and return its digest."""
        digest = self._put_blob(content)
        self._db.execute("INSERT OR REPLACE INTO artifact VALUES (?, ?, ?)", (variant, stage, digest))
        return digest

    def _put_blob(self, content: bytes | Blob) -> str:
        """Store `content` if it is new, and return its digest; a Blob without its content is stored."""
        if isinstance(content, bytes):
            digest = encoding.digest(content)
            if self.has_blob(digest):
                return digest
            content = encoding.pack(content)
        if content.frame:
            row = (content.digest, content.size, content.frame)
            self._db.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", row)
        return content.digest

    def _kernel_digest(self, kernel: int) -> str:
        row = self._db.execute("SELECT digest FROM kernel WHERE id = ?", (kernel,)).fetchone()
        return str(row[0])

    def _id(self, query: str, parameters: tuple[str, ...]) -> int:
        return int(self._db.execute(query, parameters).fetchone()[0])
