"""The processes and temporary files that a case leaves."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

_MARK = "IRSCOPE_CAMPAIGN_CASE"
# How long a process may take to end after its parent, in seconds: the machine may be busy.
_PATIENCE = 20


@contextmanager
def nothing_left(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a case in `folder`; after the block, no process and no file may be left."""
    temporary = folder / "tmp"
    temporary.mkdir()
    mark = uuid.uuid4().hex
    environment = {_MARK: mark, "TMPDIR": str(temporary), "TRITON_CACHE_DIR": str(folder / "cache")}
    with mock.patch.dict(os.environ, environment):
        yield dict(os.environ)
    deadline = time.monotonic() + _PATIENCE
    while (left := _running(mark) or _files(temporary)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, f"left behind: {left}"


def _files(folder: Path) -> list[str]:
    """The temporary files; torch makes its folder in every program that imports it."""
    return [path.name for path in folder.iterdir() if not path.name.startswith("torchinductor_")]


def _running(mark: str) -> list[str]:
    """The command lines of the processes that have the mark in their environment (Linux)."""
    if sys.platform != "linux":
        return []
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or process.name == str(os.getpid()):
            continue
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(f"{process.name}: {(process / 'cmdline').read_text().replace(chr(0), ' ')}")
        except OSError:  # it has just ended
            continue
    return found
