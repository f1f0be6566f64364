"""Remembers the Python code that this user compiled on this machine, by hashes in the user's state folder.

A capture names files and has Python text that a few commands execute. What was compiled here was executed
here before, so they execute it again without a question. Nothing in a capture says where it was made.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

# A line of the file: the start of a sha256, and a line feed.
_DIGITS = 32
_LINE = _DIGITS + 1
# The older half is forgotten beyond this: 120,000 lines.
_MOST_BYTES = 4 << 20


def remember(digests: Collection[str]) -> None:
    """Remember hashes (sha256, hex). Do nothing if the folder cannot be written."""
    if not digests:
        return
    with contextlib.suppress(OSError):
        path = _file()
        content = path.read_bytes() if path.is_file() else b""
        remembered = set(content.decode("ascii", "replace").split("\n"))
        new = sorted({digest[:_DIGITS] for digest in digests} - remembered)
        if not new:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(content) > _MOST_BYTES:
            _forget_older_half(path, content)
        with path.open("ab") as file:  # one write, so that processes do not mix their lines
            file.write("".join(f"{digest}\n" for digest in new).encode())


def is_remembered(digests: Collection[str]) -> bool:
    """Return True if all these hashes, at least one, are remembered."""
    try:
        remembered = set(_file().read_text(encoding="ascii", errors="replace").split("\n"))
    except OSError:
        return False
    return bool(digests) and all(digest[:_DIGITS] in remembered for digest in digests)


def _forget_older_half(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    start = len(content) // 2 // _LINE * _LINE
    part.write_bytes(content[start:])
    part.replace(path)


def _file() -> Path:
    base = os.environ.get("IRSCOPE_STATE")
    if not base:
        import platformdirs

        base = platformdirs.user_state_dir("irscope", appauthor=False)
    return Path(base) / "compiled-here"
