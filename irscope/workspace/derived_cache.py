"""Stages derived from captures that were only opened to be read: files in the user's cache folder.

A capture may be somebody else's, so nothing is written to it. A file is named after the hash of what it was
derived from, so captures that share a cubin share its SASS.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from irscope.store import encoding

# The oldest files are removed beyond this. The SASS of a matmul takes 6 kB.
_MAX_BYTES = 256 << 20
_SUFFIX = ".zst"


def derived_key(kind: str, origin: bytes, *others: str) -> str:
    """The name of what is derived from `origin`: its kind, and a hash of everything it depends on."""
    parts = "\0".join((hashlib.sha256(origin).hexdigest(), *others))
    return f"{kind}-{hashlib.sha256(parts.encode('utf-8', 'replace')).hexdigest()}"


class DerivedCache:
    """The user's cache folder, or `folder`; if it cannot be read or written, it stays empty."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or default_folder()

    def read(self, key: str) -> bytes | None:
        """The content stored under `key`; None if there is none, or if it is damaged."""
        import zstandard

        path = self._path(key)
        with contextlib.suppress(OSError, ValueError, zstandard.ZstdError):
            frame = path.read_bytes()
            content = encoding.decompress(frame, zstandard.frame_content_size(frame))
            os.utime(path)  # the oldest are removed first
            return content
        return None

    def write(self, contents: dict[str, bytes]) -> None:
        """Stores each content under its key, and removes the oldest files beyond the limit."""
        if not contents:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            for key, content in contents.items():
                part = self._folder / f"{key}.{os.getpid()}.part"
                part.write_bytes(encoding.compress(content))
                part.replace(self._path(key))
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        states = [(file.stat(), file) for file in self._folder.iterdir() if file.is_file()]
        total = sum(state.st_size for state, _ in states)
        for state, file in sorted(states, key=lambda item: item[0].st_mtime):
            if total <= _MAX_BYTES:
                break
            file.unlink(missing_ok=True)
            total -= state.st_size

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"


def default_folder() -> Path:
    """The cache folder of the user that runs irscope."""
    import platformdirs

    base = os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope")
    return Path(base) / "derived"
