"""Files that a user names: only regular files are read, and only regular files are replaced.

A capture, an image or a page may be called anything. A named pipe would block whoever reads it, and replacing
a device would break the system for every other program.

The command that opens a file in a program of the user: $EDITOR, $PAGER.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from irscope.model.errors import UserError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
)


def relative_file(file: str) -> str:
    """Return a path relative to the working directory if it is in it, else the path itself."""
    path = Path(file)
    if not path.is_absolute():
        return os.path.normpath(file) if file else file
    for folder in dict.fromkeys([Path.cwd(), Path.cwd().resolve()]):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return file


def file_kind(mode: int) -> str:
    """Return what a file that is not a regular one is, by the `st_mode` of its state."""
    return next((kind for matches, kind in _KINDS if matches(mode)), "not a regular file")


def check_regular(path: Path, use: str = "read") -> os.stat_result:
    """Return the state of a regular file.

    Raises UserError if `path` is something else; OSError if it is missing.
    """
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        kind = file_kind(state.st_mode)
        raise UserError(f"{path}: cannot be {use}: it is {kind}; name a regular file")
    return state


def python_files(path: Path) -> Iterator[Path]:
    """Yield `path`, or the Python files in that folder and its subfolders, sorted, without hidden ones."""
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*.py")):
        if not any(part.startswith(".") for part in file.relative_to(path).parts) and file.is_file():
            yield file


def output_target(path: Path) -> Path:
    """Return the file that writing to `path` replaces or creates.

    It is the target of a symbolic link, else `path`. Raises UserError if there is something other
    than a regular file, or if `path` is `-`.
    """
    _refuse_stdout(path)
    try:
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        check_regular(target, "replaced")
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    return target


def prepare_folder(folder: Path, force: bool) -> None:
    """Make a folder for output. Raises UserError if it has files, unless `force`, or cannot be made."""
    _refuse_stdout(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(folder.iterdir())
    except FileExistsError as error:
        raise UserError(f"{folder} is not a folder; choose another name with -o") from error
    except OSError as error:
        raise cannot_write(folder, error) from error
    if occupied and not force:
        raise UserError(f"{folder} is not empty; choose another folder with -o or add to it with --force")


def write_output(path: Path, content: bytes, force: bool) -> None:
    """Write a file by an atomic rename in its folder, so that nobody sees half of it.

    Raises UserError if it exists (unless `force`), is not a regular file, or cannot be written.
    """
    target = output_target(path)
    part = unfinished(target)
    try:
        if target.exists() and not force:
            raise exists_already(path)
        part.write_bytes(content)
        _move(part, target, force)
    except FileExistsError as error:
        raise exists_already(path) from error
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            part.unlink(missing_ok=True)


def _refuse_stdout(path: Path) -> None:
    """Raise UserError if `path` is `-`, by which other programs mean stdout."""
    if str(path) == "-":
        raise UserError("-: is not the name of a file here; name one with -o, or leave -o out")


def unfinished(target: Path) -> Path:
    """Return the file that is written first and then renamed to `target`."""
    # Not with_name: the name may be as long as the file system allows.
    return target.parent / f".irscope-{os.getpid()}-{abs(hash(target.name)):x}.part"


def exists_already(path: Path) -> UserError:
    """Return the error for an output that exists and may not be replaced."""
    return UserError(f"{path} exists; choose another name with -o or replace it with --force")


def cannot_write(path: Path, error: Exception) -> UserError:
    """Return the error for an output that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) else None
    return UserError(f"{path}: cannot be written: {reason or error}")


def _move(part: Path, target: Path, force: bool) -> None:
    """Rename `part`; keep the permissions of the file it replaces.

    Raises FileExistsError if it may not replace one.
    """
    if force:
        with contextlib.suppress(OSError):
            part.chmod(stat.S_IMODE(target.stat().st_mode))
    elif hasattr(os, "link"):
        with contextlib.suppress(PermissionError, NotImplementedError):  # a file system without hard links
            os.link(part, target)
            return
    part.replace(target)


DEFAULT_EDITOR = "vi"
# These accept the first line to show as `+12`.
_ACCEPT_LINE = ("less", "more", "vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "kak", "micro")


def open_command(variable: str, default: str, path: Path, line: int | None = None) -> list[str]:
    """Return the command that opens `path` at a line (from 1) in a program.

    An environment variable names the program, and may have arguments. Raises ValueError if it is
    malformed.
    """
    words = shlex.split(os.environ.get(variable) or default)
    if not words:
        raise ValueError("is empty")
    start = [f"+{line}"] if line is not None and Path(words[0]).name in _ACCEPT_LINE else []
    return [*words, *start, str(path)]
