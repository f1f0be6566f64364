"""The file of a capture: created empty, locked while it is written, upgraded, removed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from irscope.model import UserError
from irscope.model.files import cannot_write, unfinished
from irscope.store.connection import sidecars
from irscope.store.identity import identity_with_environment
from irscope.store.output_lock import OutputLock, lock_file
from irscope.store.reader import CaptureReader
from irscope.store.schema import APPLICATION_ID, SCHEMA_VERSION
from irscope.store.schema_check import schema, statements


def holds_nothing(path: Path) -> bool:
    """Whether the file is a capture without variants that nobody is writing."""
    if any(leftover.exists() for leftover in sidecars(path)):
        return False
    with contextlib.suppress(UserError), CaptureReader(path) as capture:
        return capture.empty
    return False


def remove_capture(path: Path) -> None:
    """Removes a capture and SQLite's files next to it, if they exist."""
    for leftover in (Path(os.path.realpath(path)), *sidecars(path), lock_file(path)):
        leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def opening(path: Path, target: Path, amends: bool = False) -> Iterator[OutputLock]:
    """The lock of a capture that is being opened, released if that fails; errors become UserErrors."""
    try:
        lock = OutputLock(target, path, amends)
        try:
            yield lock
        except BaseException:
            lock.release()
            raise
    except (OSError, sqlite3.Error) as error:
        raise cannot_write(path, error) from error


def create_file(target: Path) -> None:
    """An empty capture, which replaces `target` by an atomic rename in its folder."""
    part = unfinished(target)
    try:
        part.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as db:
            # Half of a blob's last page is unused on average: small pages make a capture 12% smaller.
            db.execute("PRAGMA page_size = 1024")
            db.execute("PRAGMA synchronous = OFF")  # nothing is lost with an empty file
            db.execute("BEGIN")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            for statement in statements(schema(SCHEMA_VERSION)):
                db.execute(statement)
            db.execute("COMMIT")
        for leftover in sidecars(target):
            leftover.unlink(missing_ok=True)
        part.replace(target)
    finally:
        remove_capture(part)


def upgrade(db: sqlite3.Connection) -> None:
    """Adds what an older version lacks, or all or nothing of it if the process is killed."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version < SCHEMA_VERSION:
        db.execute("BEGIN IMMEDIATE")
        for statement in statements(schema(SCHEMA_VERSION)):
            db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
        _add_environments(db)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _add_environments(db: sqlite3.Connection) -> None:
    """Adds the environment to the identities of variants that an older irscope wrote without it."""
    rows = db.execute(
        "SELECT variant.id, identity, digest, specialization, config, target, versions, cache_key"
        " FROM variant JOIN kernel ON kernel.id = kernel JOIN toolchain ON toolchain.id = toolchain"
    ).fetchall()
    for id_, old, *columns in rows:
        # A damaged row keeps its identity; whoever reads the variant reports it.
        with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
            new = identity_with_environment(*columns)
            if new not in (None, old):
                db.execute("UPDATE OR IGNORE variant SET identity = ? WHERE id = ?", (new, id_))
