"""SQLite connections to captures, which anybody may have written.

Nothing in a capture is executed: its schema must be ours (`schema_check`), SQLite is set to distrust it, and
no query may take more time or memory than the size of the file explains.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import stat
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote_from_bytes

from irscope.model import UserError
from irscope.model.files import check_regular, file_kind
from irscope.store.schema import NotACaptureError, check_schema
from irscope.targets import UnknownBackendError

# The errors that a row of a damaged or hostile capture can cause; each becomes a UserError.
DAMAGE = (
    sqlite3.Error, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError,
    MemoryError,
)  # fmt: skip
# Our largest statement has 1,700 characters, our widest table 17 columns (names of sqlite3's constants).
_LIMITS = {
    "SQLITE_LIMIT_SQL_LENGTH": 20_000,
    "SQLITE_LIMIT_COLUMN": 64,
    "SQLITE_LIMIT_EXPR_DEPTH": 50,
    "SQLITE_LIMIT_COMPOUND_SELECT": 2,
    "SQLITE_LIMIT_FUNCTION_ARG": 8,
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_VARIABLE_NUMBER": 64,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 1,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}
# Python 3.12 sets them.
_CONFIG = {
    "SQLITE_DBCONFIG_DEFENSIVE": True,
    "SQLITE_DBCONFIG_ENABLE_TRIGGER": False,
    "SQLITE_DBCONFIG_ENABLE_VIEW": False,
    "SQLITE_DBCONFIG_TRUSTED_SCHEMA": False,
}
# The longest value that fits a file: its size, and this for a log that grows meanwhile. The size is measured
# again after so many seconds.
_MORE_BYTES = 16 << 20
_MEASURED_FOR = 0.1
# CPU seconds of a query: a sound file of 1,000 variants (10 MB) takes 0.02.
_SECONDS, _SECONDS_PER_BYTE = 1.0, 1e-6
# The instructions of SQLite's virtual machine between two looks at the clock: 20 us.
_INSTRUCTIONS = 1000
# The types of the values whose size is not fixed; SQLite returns no subclass.
_SIZED = (str, bytes)
_MAGIC = b"SQLite format 3\0"
# The last 8 bytes of a rollback journal that names a super-journal (SQLite file format, 3.0).
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
# Pages of 1 kB that a writer has in memory, and in the log before it moves them into the file.
_WRITER_PAGES = 16_000
_SIDECARS = ("-wal", "-shm", "-journal")
_Value = TypeVar("_Value", str, int)


class Damage:
    """Turns the errors that a damaged capture causes into a UserError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnknownBackendError):
            raise UserError(f"{self.path}: {error}") from error
        if isinstance(error, DAMAGE):
            raise UserError(f"{self.path}: damaged: {_reason(error)}; copy the capture again") from error


class Deadline:
    """Ends a query that takes more CPU time than its file explains; `restart` before each.

    Reading the CPU clock takes a system call, so that clock starts once the time on the wall is over.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path
        self.size = 0
        self._measured = self._wall_end = -math.inf
        self._cpu_end: float | None = None
        self.restart()
        db.set_progress_handler(self._is_over, _INSTRUCTIONS)

    def restart(self) -> None:
        """Allow the next query the time and memory that the file explains, which may have grown."""
        now = time.monotonic()
        if now > self._measured + _MEASURED_FOR:
            self._measured = now
            self.size = sum(map(_size, (self._path, sidecars(self._path)[0])))
            if hasattr(self._db, "setlimit"):  # Python 3.11
                length: int = vars(sqlite3)["SQLITE_LIMIT_LENGTH"]
                self._db.setlimit(length, min(self.size + _MORE_BYTES, 10**9))
        self._wall_end, self._cpu_end = now + self._seconds, None

    @property
    def _seconds(self) -> float:
        return _SECONDS + self.size * _SECONDS_PER_BYTE

    def _is_over(self) -> bool:
        if time.monotonic() < self._wall_end:
            return False
        if self._cpu_end is None:
            self._cpu_end = time.thread_time() + self._seconds
        return time.thread_time() > self._cpu_end


def sidecars(path: Path) -> tuple[Path, ...]:
    """Return the files that SQLite keeps next to a database while it is written."""
    real = os.path.realpath(path)
    return tuple(Path(real + suffix) for suffix in _SIDECARS)


class _Connection(sqlite3.Connection):
    """A connection that is counted while it is open, by device and inode of its file.

    A capture is opened by SQLite and by nothing else: closing another descriptor of it would drop the locks
    of every connection in this process (POSIX), and a writer could then change it under a reader.
    """

    _counts: ClassVar[Counter[tuple[int, int]]] = Counter()
    _lock: ClassVar[RLock] = RLock()  # not Lock: garbage may be collected while it is held
    _file: tuple[int, int] | None = None

    def count(self, path: Path) -> None:
        """Count this as a connection to `path`."""
        with self._lock, contextlib.suppress(OSError):
            state = path.stat()
            self._file = state.st_dev, state.st_ino
            self._counts[self._file] += 1

    def close(self) -> None:
        """Close it."""
        with self._lock:
            super().close()
            self._forget()

    def __del__(self) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        if self._file is not None:
            self._counts[self._file] -= 1
            self._file = None

    @classmethod
    @contextlib.contextmanager
    def none_open(cls, path: Path) -> Iterator[bool]:
        """Yield whether this process has no connection to `path`; count none until the block ends."""
        with cls._lock:
            state = path.stat()
            yield cls._counts[state.st_dev, state.st_ino] <= 0


def connect_reader(path: Path) -> tuple[sqlite3.Connection, Deadline]:
    """Open a connection that only reads. Raises UserError if `path` is not a sound capture."""
    _check_file(path)
    check_sidecars(path)
    first = None
    for mode in _modes(path):
        try:
            return _reader(path, mode)
        except NotACaptureError as error:  # noqa: PERF203 - three modes at most
            raise UserError(f"{path}: {error}") from error
        except DAMAGE as error:
            first = first or error
    raise _unreadable(path, first) from first


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open a connection to our capture that writes ahead, so that others can read it meanwhile.

    Raises UserError if the file is not a sound capture, sqlite3.Error if it cannot be written.
    """
    _check_file(path)
    check_sidecars(path)
    _refuse_super_journal(path)
    db = _connect(path)
    try:
        try:
            _harden(db)
            check_schema(db)
        except DAMAGE as error:
            db.close()
            raise _unreadable(path, error) from error
        db.execute("PRAGMA journal_mode = WAL")
        # NORMAL: a killed process loses nothing; only a power failure can lose the last variants.
        db.execute("PRAGMA synchronous = NORMAL")
        # A sweep that is copied writes 100 MB: fewer checkpoints, which wait for the disk, and fewer reads.
        db.execute(f"PRAGMA wal_autocheckpoint = {_WRITER_PAGES}")
        db.execute(f"PRAGMA cache_size = -{_WRITER_PAGES}")
    except NotACaptureError as error:
        db.close()
        raise UserError(f"{path}: {error}") from error
    except BaseException:
        db.close()
        raise
    return db


def _connect(path: Path, uri: str = "") -> sqlite3.Connection:
    """Open a counted connection; with a `uri`, one that several threads may use."""
    db = sqlite3.connect(
        uri or path, uri=bool(uri), timeout=30, check_same_thread=not uri, factory=_Connection
    )
    db.count(path)
    return db


def rows(
    db: sqlite3.Connection, deadline: Deadline, query: str, parameters: tuple[Any, ...]
) -> Iterator[sqlite3.Row]:
    """Yield the rows of a query, one at a time.

    Raises ValueError if they have more bytes than the file: it then uses its pages more than once.
    """
    deadline.restart()
    left = deadline.size + _MORE_BYTES
    for row in db.execute(query, parameters):
        left -= 4
        for value in row:
            if type(value) in _SIZED:
                left -= len(value)
        if left < 0:
            raise ValueError("a table has more content than the file")
        yield row


def in_parts(values: Iterable[_Value]) -> Iterator[tuple[_Value, ...]]:
    """Yield the values in tuples that a query can have as its parameters."""
    left = iter(values)
    while part := tuple(islice(left, _LIMITS["SQLITE_LIMIT_VARIABLE_NUMBER"])):
        yield part


def marks(values: Sequence[object]) -> str:
    """Return the placeholders of so many parameters: `?,?,?`."""
    return ",".join("?" * len(values))


def _check_file(path: Path) -> None:
    """Check that `path` is a regular file that is large enough for a database.

    Raises UserError otherwise.
    """
    try:
        size = check_regular(path).st_size
        if not os.access(path, os.R_OK):
            raise PermissionError(None, "Permission denied")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"{path}: cannot be read: {reason or error}") from error
    if size < 100:
        raise UserError(f"{path}: not an irscope capture")


def check_sidecars(path: Path) -> None:
    """Raise UserError if a name that SQLite opens next to `path` is anything but a regular file.

    SQLite would wait for a named pipe without end, and would write through a symbolic link.
    """
    for sidecar in sidecars(path):
        with contextlib.suppress(OSError):  # most of them do not exist
            if not stat.S_ISREG(sidecar.lstat().st_mode):
                kind = file_kind(sidecar.lstat().st_mode)
                raise UserError(f"{path}: {sidecar.name} next to it is {kind}; remove it")


def _modes(path: Path) -> Iterator[str]:
    """Yield the ways to open a capture in the order in which to try them.

    While another program has a capture open, its file says that it has a write-ahead log. Opening such a file
    makes an empty log, which SQLite removes only if the connection may write; `query_only` forbids writing.
    A log that has content stays as it is.
    """
    yield "mode=ro" if any(_size(file) for file in sidecars(path)) else "mode=rw"
    yield "mode=ro"
    # Applies the log of a killed writer, if the folder can be written.
    if any(_size(file) for file in sidecars(path)):
        _refuse_super_journal(path)
        yield "mode=rw"
    else:
        # Again, in case a writer has just finished and removed its files: without locks, as below, the next
        # writer would change the file under this reader.
        yield "mode=ro"
        # On a read-only medium, SQLite cannot make the files that it shares with other processes.
        yield "mode=ro&immutable=1"


def _reader(path: Path, mode: str) -> tuple[sqlite3.Connection, Deadline]:
    uri = f"file:{quote_from_bytes(os.fsencode(path.absolute()))}?{mode}"
    db = _connect(path, uri)
    try:
        _harden(db)
        db.execute("PRAGMA query_only = 1")
        deadline = Deadline(db, path)
        check_schema(db)
        db.row_factory = sqlite3.Row
    except BaseException:
        db.close()
        raise
    return db, deadline


def _harden(db: sqlite3.Connection) -> None:
    """Tell SQLite to distrust the file; what this Python or SQLite cannot set stays off."""
    db.execute("PRAGMA trusted_schema = 0")
    db.execute("PRAGMA cell_size_check = 1")
    db.execute("PRAGMA mmap_size = 0")
    if hasattr(db, "setlimit"):
        for name, value in _LIMITS.items():
            db.setlimit(getattr(sqlite3, name), value)
    if hasattr(db, "setconfig"):
        for name, on in _CONFIG.items():
            with contextlib.suppress(sqlite3.Error):
                db.setconfig(getattr(sqlite3, name), on)


def _unreadable(path: Path, error: Exception | None) -> UserError:
    """Return the error that says why SQLite refuses a file, in a user's words."""
    with contextlib.suppress(OSError), _Connection.none_open(path) as unused:
        if not unused:
            return _refused(path, error)
        with path.open("rb") as file:
            header = file.read(100)
        if not header.startswith(_MAGIC):
            return UserError(f"{path}: not an irscope capture")
        # SQLite file format, 1.3: page size at 16 (1 means 65,536), pages at 28; both big-endian.
        (page_size,), (pages,) = struct.unpack_from(">H", header, 16), struct.unpack_from(">I", header, 28)
        size = path.stat().st_size
        if size < pages * (65536 if page_size == 1 else page_size):
            return UserError(f"{path}: truncated: {size:,} bytes; copy the capture again")
    return _refused(path, error)


def _refused(path: Path, error: Exception | None) -> UserError:
    """Return the error with the reason that SQLite gives."""
    if isinstance(error, sqlite3.OperationalError):
        return UserError(f"{path}: cannot be read: {error}")
    return UserError(f"{path}: damaged: {_reason(error)}; copy the capture again")


def _refuse_super_journal(path: Path) -> None:
    """Check that no journal next to the file names another file: SQLite would delete that one.

    Raises UserError if one does.
    """
    journal = sidecars(path)[-1]
    with contextlib.suppress(FileNotFoundError):
        if check_regular(journal).st_size < 8:
            return
        with journal.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            if file.read() == _SUPER_JOURNAL:
                raise UserError(f"{path}: {journal.name} next to it names another file; remove that journal")


def _reason(error: BaseException | None) -> str:
    if isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error):
        return "a text is not UTF-8"
    if isinstance(error, MemoryError):
        return "a value needs more memory than there is"
    return {"interrupted": "its tables never end"}.get(str(error), str(error))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
