"""Triton's own part of its cache key, remembered between runs. Runs in worker processes only.

Triton hashes all of libtriton (400 MB, 1.3 s of CPU here) once a process. The hash is kept in Triton's
cache under the files' paths, sizes and modification times, so a process that finds it starts at once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def remember_triton_key() -> None:
    """Makes `triton.runtime.cache.triton_key` answer from the cache, or fills the cache from it."""
    import triton
    from triton.runtime import cache

    manager = cache.get_cache_manager(_stamp(Path(triton.__file__).parent))
    kept = manager.get_file("triton_key")
    if kept is None:
        manager.put(cache.triton_key(), "triton_key", binary=False)
        return
    key = Path(kept).read_text()
    cache.triton_key = lambda: key


def _stamp(package: Path) -> str:
    """sha256 (hex) of the paths, sizes and times of every file that `triton_key` reads."""
    read = [package / "runtime" / "cache.py", *package.glob("_C/libtriton*")]
    for folder in ("compiler", "backends", "language"):
        read += package.glob(f"{folder}/**/*.py")
    states = [(str(file), file.stat()) for file in sorted(read)]
    lines = [f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
