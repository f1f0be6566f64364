"""The files of a warm folder, in the layout of Triton's cache (FileCacheManager in runtime/cache.py).

An entry is a folder, named by the base32 of the sha256 of its key. A kernel's entry has a file per stage,
`NAME.json` with the metadata, and the group file that makes it count; an autotuner's choice is one file:

    OQ7C.../add_kernel.ttir ... add_kernel.cubin  add_kernel.json  __grp__add_kernel.json
    3M5A.../add_kernel.autotune.json
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from irscope.model import UserError
from irscope.model.files import check_regular

# Triton cuts names so that they fit into a file system (compiler/compiler.py, `file_name`).
_MOST_NAME = 150
# Other files in entries: ptxas's logs, which irscope writes, and those that Triton leaves if it is killed.
_SIDECAR, _TEMPORARY = "irscope.json", "tmp."
# The entry with Triton's key of itself, for the next build.
_TRITON_KEY = "triton_key.json"
# An entry with one of these is complete: a kernel, a driver module or launcher, an autotuner's choices.
_COMPLETE = ("__grp__*", "*.so", "*.autotune.json", _TRITON_KEY)
_HASH_DIGITS = 64


def folder_name(hash_: str) -> str:
    """Return the name of the entry for a hash (hex) of Triton's key (`_base32`).

    Raises ValueError if it is not a hash.
    """
    if len(hash_) != _HASH_DIGITS:
        raise ValueError(hash_)
    return base64.b32encode(bytes.fromhex(hash_)).decode().rstrip("=")


def file_stem(kernel: str) -> str:
    """Return the stem of a kernel's files."""
    return kernel[:_MOST_NAME]


def read_json(path: Path) -> Any:
    """Return the JSON in a file. Raise OSError, or ValueError if it is not JSON or not a regular file."""
    try:
        check_regular(path)  # a named pipe would block
        return json.loads(path.read_bytes())
    except (UserError, RecursionError) as error:
        raise ValueError(str(error)) from error


def is_whole(entry: Path, kernel: str) -> bool:
    """Return True if Triton would take this entry for the kernel, wherever the folder is."""
    try:
        names = read_json(entry / f"__grp__{file_stem(kernel)}.json")["child_paths"]
        return f"{file_stem(kernel)}.json" in names and all((entry / str(name)).is_file() for name in names)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_entry(entry: Path, kernel: str, files: Mapping[str, bytes]) -> None:
    """Write an entry: `files` by their extension ("cubin", "json"). The group comes last, as in Triton."""
    entry.mkdir(parents=True, exist_ok=True)
    stem = file_stem(kernel)
    for extension, content in files.items():
        _write(entry / f"{stem}.{extension}", content)
    write_group(entry, kernel, [f"{stem}.{extension}" for extension in files])


def write_group(entry: Path, kernel: str, names: Collection[str]) -> None:
    """Write the group file of an entry, with these files."""
    root = os.path.abspath(entry)  # noqa: PTH100 - as Triton names it: links are not followed
    group = {"child_paths": {name: f"{root}/{name}" for name in names}}
    _write(entry / f"__grp__{file_stem(kernel)}.json", json.dumps(group).encode())


def keep_only(entry: Path, kernel: str, extensions: Collection[str]) -> None:
    """Remove the files of the other stages from an entry, as TRITON_STORE_BINARY_ONLY does."""
    names = [f"{file_stem(kernel)}.{extension}" for extension in extensions]
    existing = [name for name in names if (entry / name).is_file()]
    write_group(entry, kernel, existing)
    for file in entry.iterdir():
        if file.name not in existing and not file.name.startswith("__grp__"):
            file.unlink()


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{_TEMPORARY}{os.getpid()}.{path.name}")
    temporary.write_bytes(content)
    temporary.replace(path)


def size_of(entry: Path) -> int:
    """Return the bytes of an entry's files."""
    return sum(file.stat().st_size for file in entry.iterdir() if file.is_file())


def remove(folder: Path, names: Collection[str]) -> None:
    """Remove entries."""
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)


def clean(folder: Path, known: Collection[str]) -> None:
    """Remove the remains of killed processes, irscope's own files in entries, and incomplete entries.

    An entry that is not in `known` stays if it is whole: another program may have filled the cache before.
    """
    for entry in list(folder.iterdir()):
        if entry.name.startswith(_TEMPORARY):
            _discard(entry)
        elif entry.is_dir() and not entry.is_symlink():  # a link may lead out of the folder
            for file in list(entry.iterdir()):
                if file.name == _SIDECAR or file.name.startswith(_TEMPORARY):
                    _discard(file)
            whole = any(any(entry.glob(pattern)) for pattern in _COMPLETE)
            if entry.name not in known and not whole:
                _discard(entry)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create the folder and hold a lock on it. Raises UserError if it cannot, or another build does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UserError(f"{folder}: cannot be used as a cache folder: {error.strerror}") from error
    try:
        if not os.access(folder, os.W_OK):
            raise UserError(f"{folder}: is read-only; build into a writable copy of it, or another folder")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UserError(f"{folder}: another irscope warm builds it; wait until it ends") from error
    finally:
        os.close(descriptor)


_SUFFIX = ".autotune.json"


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their path in the folder. Raises OSError."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def modified_times(folder: Path) -> dict[str, int]:
    """Return the time at which each file was written (ns), by its path in the folder."""
    times = {}
    for file in folder.glob(f"*/*{_SUFFIX}"):
        with suppress(OSError):
            times[f"{file.parent.name}/{file.name}"] = file.stat().st_mtime_ns
    return times


def remove_files(folder: Path, unused: frozenset[str]) -> None:
    """Remove these files, and their entries if nothing else is in them."""
    for path in unused:
        with suppress(OSError):
            (folder / path).unlink()
            (folder / path).parent.rmdir()
