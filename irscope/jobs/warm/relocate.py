"""Corrects the paths in a folder that `irscope warm` built and somebody moved: python3 relocate.py.

Triton's group files (`__grp__NAME.json`) name the files of an entry by absolute paths; if these do not exist,
Triton compiles the kernel again. In Triton 3.8 and 3.9, the key of the driver module has the paths of Triton
and of libcuda; with the Python of production, this adds an entry for those of this machine.

This file is also copied into the folder, and needs nothing but Python.

It writes only files in the entries of the folder, whatever the manifest and the links in the folder say. That
does not make a folder of somebody else safe to use: Triton loads the shared objects and kernels in it.
"""

from __future__ import annotations

import argparse
import base64
import errno
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_GROUP, _MANIFEST = "__grp__", "irscope-warm.json"
_LIBCUDA, _LIBHIP = "libcuda.so.1", "/*py_libhip_search_path*/"


def relocate(folder: Path, at: str = "") -> tuple[int, int]:
    """Make every group file name its files by their paths in `at` (default: `folder` itself).

    Returns how many group files there are, and how many named other paths. A reader sees the old or the new
    group, whole. Raises OSError if one cannot be written.
    """
    root = at or os.path.abspath(folder)  # noqa: PTH100 - resolve() would follow links
    groups = changed = 0
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink():
            continue  # it may lead out of the folder, and irscope makes none
        for group in sorted(entry.glob(f"{_GROUP}*.json")):
            groups += 1
            changed += _rewrite(group, f"{root.rstrip('/')}/{entry.name}")
    return groups, changed


def _rewrite(group: Path, entry: str) -> bool:
    """Write the group again if it named other paths than those in `entry`; return True if it did."""
    try:
        names = _read_json(group)["child_paths"]
        paths = {str(name): f"{entry}/{name}" for name in names}
    except (ValueError, KeyError, TypeError):
        return False  # Triton treats it as missing
    if paths == names:
        return False
    temporary = group.with_name(f"tmp.{os.getpid()}.{group.name}")
    temporary.unlink(missing_ok=True)
    with temporary.open("x") as file:  # "x" follows no link
        file.write(json.dumps({"child_paths": paths}))
    temporary.replace(group)
    return True


def _read_json(path: Path) -> Any:
    """Return the document in a file. Raise ValueError if it is not JSON or not a regular file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError(f"{path} is not a regular file")  # a named pipe would block
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error


def add_driver_modules(folder: Path) -> list[str]:
    """Add the entries under which Triton on this machine looks for the driver modules in the folder.

    Returns the names of those that were missing and added. Raises OSError if one cannot be written.
    """
    added = []
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        return []
    triton = os.path.dirname(os.path.realpath(spec.origin))  # noqa: PTH120
    try:
        manifest = _read_json(folder / _MANIFEST)
        stubs = [stub for stub in manifest["stubs"] if _stays_inside(folder, stub)]
        expected = [(stub, name) for stub in stubs for name in _names_here(stub, manifest, triton)]
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return []  # not a folder of irscope warm
    for stub, name in expected:
        if not (folder / name).is_symlink() and not (folder / name / stub["file"]).exists():
            _copy(folder / stub["folders"][0] / stub["file"], folder / name / stub["file"])
            added.append(stub["name"])
    return added


def _stays_inside(folder: Path, stub: dict[str, Any]) -> bool:
    """Return True if a driver module of the manifest is a file of an entry, and not of another place."""
    file, entries = stub["file"], stub["folders"]
    plain = os.path.basename(file) == file not in ("", ".", "..")  # noqa: PTH119 - a Path drops parts
    plain = plain and file.isascii() and file.isprintable()  # the system refuses NUL and lone surrogates
    return plain and all(entry.isalnum() and not (folder / entry).is_symlink() for entry in entries)


def _names_here(stub: dict[str, Any], manifest: dict[str, Any], triton: str) -> Iterator[str]:
    """Yield the entry in which Triton on this machine looks for a driver module.

    Yield nothing if it cannot be found out.
    """
    backend = {"cuda_utils": "nvidia", "hip_utils": "amd"}.get(stub["name"])
    if backend is None:
        return
    driver = Path(triton, "backends", backend, "driver.c")
    source = driver.read_text() if driver.is_file() else ""
    texts = [source, *(source.replace(_LIBHIP, path, 1) for path in manifest["libhip"])]
    text = next((item for item in texts if hashlib.sha256(item.encode()).hexdigest() == stub["source"]), None)
    if text is None:
        return
    dir_lists = manifest["library_dirs"] if backend == "nvidia" else [[]]
    built = {_name(text, manifest["platform"], backend, manifest["triton_path"], item) for item in dir_lists}
    directories = _libcuda_dirs() if backend == "nvidia" else []
    # Other versions make keys of other things: here, the formula must give the names that were built.
    if built <= set(stub["folders"]) and (directories or backend == "amd"):
        yield _name(text, _platform(), backend, triton, directories)


def _name(text: str, system: str, backend: str, triton: str, directories: list[str]) -> str:
    """Return the entry's name in Triton 3.8 and 3.9 (`_get_cache_manager` in runtime/build.py)."""
    folder = f"{triton}/backends/{backend}"
    config = {"language": ["c"], "include_dirs": [f"{folder}/include"]}
    if backend == "nvidia":
        library_dirs = [f"{folder}/lib", *directories]
        config = {"language": ["c"], "library_dirs": library_dirs, **config, "libraries": [_LIBCUDA]}
    parts = [text, system]
    for key, values in config.items():
        parts += [key, *(f"{value}:" for value in values)]
    digest = hashlib.sha256("".join(parts).encode()).digest()
    return base64.b32encode(digest).decode().rstrip("=")


def _platform() -> str:
    """Triton's platform key."""
    return ",".join([platform.machine(), platform.system(), *platform.architecture()])


def listed_folders(library: str) -> list[str] | None:
    """Return the folders of a library, as Triton reads them from `ldconfig -p`; None without ldconfig."""
    try:
        printed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    except OSError:  # macOS
        return None
    return [os.path.dirname(line.split()[-1]) for line in printed.splitlines() if library in line]  # noqa: PTH120


def _libcuda_dirs() -> list[str]:
    """Return the folders in which Triton's driver finds libcuda here (`libcuda_dirs`).

    The list is empty if there are none.
    """
    if configured := os.environ.get("TRITON_LIBCUDA_PATH"):
        return [configured]
    folders = listed_folders(_LIBCUDA)
    if folders is None:
        return []
    searched = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return folders or [folder for folder in searched if folder and Path(folder, _LIBCUDA).exists()]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f"tmp.{os.getpid()}.{target.name}")
    temporary.unlink(missing_ok=True)
    if not stat.S_ISREG(source.lstat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(source))
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
    temporary.replace(target)


def main() -> int:
    """Relocate the folder that this file is in."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--at", metavar="PATH", default="", help="the folder's path in production")
    folder = Path(os.path.abspath(__file__)).parent  # noqa: PTH100
    new_path = parser.parse_args().at
    try:
        groups, changed = relocate(folder, new_path)
        added = add_driver_modules(folder)
    except OSError as error:
        print(f"relocate.py: {error}; make the folder writable, or relocate it before", file=sys.stderr)
        return 2
    more = "".join(f", {name} for this machine" for name in added)
    print(f"{groups} kernels, {changed} relocated{more}; set TRITON_CACHE_DIR={new_path or folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
