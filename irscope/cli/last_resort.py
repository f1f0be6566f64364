"""Handles unexpected exceptions of a command: one line, an exit code, the traceback in a file."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
import tempfile
import traceback

from irscope import __version__
from irscope.model.errors import print_note
from irscope.model.text import clipped, one_line

# Something outside of irscope failed (2, as for an unreadable file), or irscope has a bug (70: EX_SOFTWARE of
# sysexits.h).
_OUTSIDE, _BUG = 2, 70
_OUTSIDE_ERRORS = {
    errno.ENOSPC, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE,
    errno.ENOMEM, errno.EIO, errno.EBADF, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR,
    errno.EAGAIN, getattr(errno, "EDQUOT", errno.ENOSPC),
}  # fmt: skip
_MAX_REASON = 300


def report(error: Exception, command: str) -> int:
    """Print one line about `error` to stderr and return the exit code."""
    outside = _outside(error)
    line = outside or f"internal error: {_reason(error)}{_saved(error, command)}"
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be closed or full as well
        print_note(one_line(line))
    return _OUTSIDE if outside else _BUG


def discard_output() -> None:
    """Redirects stdout to nowhere: Python would flush what is buffered at exit, and fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _outside(error: Exception) -> str:
    """Return the line for an error whose cause is outside of irscope, such as a full disk.

    Return "" for others.
    """
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, sqlite3.OperationalError) and not _is_wrong_statement(error):
        return f"the capture cannot be written: {error}"
    if isinstance(error, OSError) and error.errno in _OUTSIDE_ERRORS:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "the output"
        return f"{name}: {os.strerror(error.errno or 0)}"
    return ""


def _is_wrong_statement(error: sqlite3.OperationalError) -> bool:
    """Return True if a statement of ours is wrong, which is a bug.

    It is SQLITE_ERROR; Python 3.11 has the code.
    """
    return getattr(error, "sqlite_errorcode", None) == 1


def _reason(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return clipped(f"{type(error).__name__}: {first}" if first else type(error).__name__, _MAX_REASON)


def _saved(error: Exception, command: str) -> str:
    """Write the traceback to a file; return the file's name as the end of a sentence."""
    lines = [f"irscope {__version__}, Python {sys.version}, {sys.platform}", f"command: {command}", ""]
    lines += traceback.format_exception(type(error), error, error.__traceback__)
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="irscope-error-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as file:
            file.write("\n".join(lines[:3]) + "\n" + "".join(lines[3:]))
    except OSError:
        return "; please report it"
    return f"; please report it with {file.name}, which has the details"
