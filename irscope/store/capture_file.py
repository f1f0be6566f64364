"""The file of a capture: created empty, locked while it is written, upgraded, removed.

The lock that a writer holds on its capture until it closes: `NAME.irscope-lock`, next to SQLite's files.

SQLite locks transactions. This locks the file for all of them, so that no second writer replaces it.

The summary of a capture in a list, read in constant time: its kernels, targets and size.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from irscope.model import UserError
from irscope.model.files import cannot_write, file_kind, unfinished
from irscope.model.records import frozen
from irscope.model.text import clipped, one_line
from irscope.store.connection import Damage, connect_reader, rows, sidecars
from irscope.store.encoding import checked
from irscope.store.new_variant import identity_with_environment
from irscope.store.reader import CaptureReader
from irscope.store.schema import APPLICATION_ID, SCHEMA_VERSION, schema, statements

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

# Opening a named pipe or a device would block, and a link may lead anywhere.
_SAFE = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")
_FLAGS = os.O_RDWR | os.O_CREAT | sum(getattr(os, name, 0) for name in _SAFE)
_MAX_HOLDER = 200
_PLANNED = re.compile(r"planned ([0-9]{1,9})")
# `find_writer` holds a lock for microseconds; a writer tries again so often, after so many seconds.
_TRIES, _PAUSE = 5, 0.02
# The locks of this process by path: the operating system does not refuse a process its own lock.
_held: dict[str, int] = {}


@frozen
class FoundWriter:
    """The last writer of a capture that is not complete.

    `running`: it still holds its lock; else it was killed. `holder` is its process and command, one line;
    `planned` the number of variants that the capture has once the writer is done, None if that is unknown.
    """

    running: bool
    holder: str
    planned: int | None


class OutputLock:
    """A lock on `target`, held until `release`; the operating system releases it if the process dies.

    If `amends`, a capture that an earlier writer left incomplete is still incomplete after `release`.
    Raises UserError, which names the holder, if another writer has it; OSError if it cannot be made.
    """

    def __init__(self, target: Path, shown: Path, amends: bool = False) -> None:
        self._path = str(lock_file(target))
        self._descriptor = -1
        self._mark = b""
        self.planned: int | None = None
        if _held.get(self._path) == os.getpid():
            raise _busy(shown, f"process {os.getpid()}, this one,")
        if fcntl is not None:
            self._descriptor = _locked(self._path, shown)
            if amends:
                self._mark = os.pread(self._descriptor, 2 * _MAX_HOLDER, 0)
        _held[self._path] = os.getpid()
        self.plan(None)

    def plan(self, variants: int | None) -> None:
        """Record in the lock's file who holds it, and how many variants the capture will have."""
        self.planned = variants
        if self._descriptor < 0 or _held.get(self._path) != os.getpid():
            return
        import shlex

        command = one_line(clipped(shlex.join(sys.argv), _MAX_HOLDER // 2))
        lines = [f"process {os.getpid()} ({command})", *([] if variants is None else [f"planned {variants}"])]
        self._write("\n".join(lines).encode("utf-8", "replace"))

    def release(self, incomplete: bool = False) -> None:
        """Release the lock and remove its file; do nothing in a process forked from the holder.

        If the capture is `incomplete`, the file stays, as that of a killed writer does.
        """
        if _held.get(self._path) != os.getpid():
            return
        del _held[self._path]
        if self._descriptor < 0:
            return
        if self._mark:
            self._write(self._mark)
        elif not incomplete:
            Path(self._path).unlink(missing_ok=True)  # before others can lock it: they look at its links
        os.close(self._descriptor)

    def _write(self, text: bytes) -> None:
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))


def lock_file(path: Path) -> Path:
    """Return the file that is locked while `path` is written; a killed writer leaves it, unlocked."""
    return Path(os.path.realpath(path) + "-lock")


def find_writer(path: Path) -> FoundWriter | None:
    """Find the writer that has the capture at `path` open, or was killed before it could close it.

    Returns None if there is none, if it is this process, or if the file system has no locks.
    """
    name = str(lock_file(path))
    # Opening and closing the file of a lock of our own would release that lock.
    if fcntl is None or _held.get(name) == os.getpid():
        return None
    try:
        # Without waiting: a stranger may have left a named pipe.
        flags = os.O_RDONLY | os.O_NONBLOCK | _FLAGS & ~(os.O_RDWR | os.O_CREAT)
        descriptor = os.open(name, flags)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # The last holder may have released it and removed its file in between.
        return _written(descriptor, running=False) if os.fstat(descriptor).st_nlink else None
    except (BlockingIOError, PermissionError):
        return _written(descriptor, running=True)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _written(descriptor: int, running: bool) -> FoundWriter:
    """Read the content of a writer's lock file."""
    holder, _, rest = os.pread(descriptor, 2 * _MAX_HOLDER, 0).decode("utf-8", "replace").partition("\n")
    planned = _PLANNED.match(rest)
    holder = one_line(clipped(holder, _MAX_HOLDER)) or "another process"
    return FoundWriter(running, holder, int(planned[1]) if planned else None)


def _locked(path: str, shown: Path) -> int:
    """Return the descriptor of a locked file at `path`.

    Raises UserError if another process has it locked.
    """
    tries = 0
    while True:
        descriptor = _opened(path, shown)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            holder = _written(descriptor, running=True).holder
            os.close(descriptor)
            tries += 1
            if tries == _TRIES:
                raise _busy(shown, holder) from error
            time.sleep(_PAUSE)
            continue
        except OSError:  # a file system without locks
            pass
        if os.fstat(descriptor).st_nlink:  # else its last holder has just removed it
            return descriptor
        os.close(descriptor)


def _opened(path: str, shown: Path) -> int:
    """Return a descriptor of the lock's file. Raise UserError if something else has its name."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            name = os.path.basename(path)  # noqa: PTH119 - a str from here on
            raise UserError(f"{shown}: {name} next to it is {file_kind(mode)}; remove it")
    return os.open(path, _FLAGS, 0o644)


def _busy(shown: Path, holder: str) -> UserError:
    return UserError(f"{shown} is being written by {holder}; wait for it, or choose another name with -o")


def holds_nothing(path: Path) -> bool:
    """Return True if the file is a capture without variants that nobody is writing."""
    if any(leftover.exists() for leftover in sidecars(path)):
        return False
    with contextlib.suppress(UserError), CaptureReader(path) as capture:
        return capture.empty
    return False


def remove_capture(path: Path) -> None:
    """Remove a capture and SQLite's files next to it, if they exist."""
    for leftover in (Path(os.path.realpath(path)), *sidecars(path), lock_file(path)):
        leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def opening(path: Path, target: Path, amends: bool = False) -> Iterator[OutputLock]:
    """Yield the lock of a capture that is being opened; release it if that fails.

    Errors become UserErrors.
    """
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
    """Create an empty capture, which replaces `target` by an atomic rename in its folder."""
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
    """Add what an older version lacks, or all or nothing of it if the process is killed."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version < SCHEMA_VERSION:
        db.execute("BEGIN IMMEDIATE")
        for statement in statements(schema(SCHEMA_VERSION)):
            db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
        _add_environments(db)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _add_environments(db: sqlite3.Connection) -> None:
    """Add the environment to the identities of variants that an older irscope wrote without it."""
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


# Rows that are counted, and names that are listed.
_MAX_VARIANTS, _MAX_NAMES = 1000, 4


@frozen
class CaptureOverview:
    """The first kernels and targets, and the number of variants: `variants` or, if `more`, a larger one."""

    kernels: tuple[str, ...]
    targets: tuple[str, ...]
    variants: int
    more: bool = False

    @property
    def count(self) -> str:
        """Return the number of variants: `3`, `1,000+`."""
        return f"{self.variants:,}{'+' if self.more else ''}"

    @classmethod
    def read(cls, path: Path) -> CaptureOverview:
        """Read at most 1,000 rows of a capture. Raises UserError if it is not a sound one."""
        db, deadline = connect_reader(path)

        def first(query: str, limit: int) -> list[object]:
            return [row[0] for row in rows(db, deadline, query, (limit,))]

        with closing(db), Damage(path):
            kernels = first("SELECT DISTINCT name FROM kernel LIMIT ?", _MAX_NAMES)
            targets = first("SELECT target FROM variant LIMIT ?", _MAX_VARIANTS)
            (count,) = first("SELECT count(*) FROM (SELECT 1 FROM variant LIMIT ?)", _MAX_VARIANTS + 1)
            names = tuple(checked(name) for name in kernels)
            target_names = tuple(dict.fromkeys(checked(target) for target in targets))[:_MAX_NAMES]
            variants = int(str(count))
        return cls(names, target_names, min(variants, _MAX_VARIANTS), variants > _MAX_VARIANTS)
