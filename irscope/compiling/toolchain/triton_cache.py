"""Triton's cache: the components of its key, and the files that irscope adds to its entries.

Runs in processes that compile.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from irscope.compiling.constexpr_values import plain_value
from irscope.model.variant import CHECKS, ENVIRONMENT, OPTION, OPTION_VARIABLES

# The file that irscope adds to an entry: the ptxas log and the stage times, which Triton does not keep.
SIDECAR = "irscope.json"
# Triton's own key, which takes it a second to compute.
_KEY_FILE = "triton_key.json"
# Seconds that a process waits for another one that computes the key.
_LONGEST_WAIT = 10.0


def cache_key(source: Any, target: Any, options: Any) -> dict[str, str]:
    """Return every component of Triton's cache key, by name (triton.runtime.cache.get_cache_key)."""
    from triton.compiler import make_backend
    from triton.runtime import cache

    function, backend = source.fn, make_backend(target)
    components = {
        "triton": digest(cache.triton_key()),
        "source": function.cache_key,
        "backend": backend.hash(),
        "attributes": str(source.attrs),
    }
    components |= {f"type {name}": str(type_) for name, type_ in source.signature.items()}
    names = function.arg_names
    components |= {
        "constant " + ".".join([names[path[0]], *map(str, path[1:])]): _constant_text(value)
        for path, value in source.constants.items()
    }
    components |= {OPTION + name: str(value) for name, value in sorted(vars(options).items())}
    components |= environment_components(options)
    components |= {
        f"global {name}": repr(value) for (name, _), (value, _) in function.used_global_vals.items()
    }
    return components


def _constant_text(value: Any) -> str:
    """Return the text of a constant in the key.

    For a function, Triton's key has the source (ASTSource.hash).
    """
    source = getattr(value, "cache_key", None)
    return str(value) if source is None else f"{plain_value(value)} (source {source[:12]})"


def environment_components(options: Any) -> dict[str, str]:
    """Return the components of Triton's key that identify the compiler environment.

    See `model.environment`. `options` are a backend's parsed options.
    """
    from triton._C.libtriton import get_cache_invalidating_env_vars

    option_values = vars(options)
    components = {ENVIRONMENT + name: value for name, value in get_cache_invalidating_env_vars().items()}
    return components | {
        OPTION + name: str(option_values[name])
        for name in (*CHECKS, *OPTION_VARIABLES)
        if name in option_values
    }


@contextmanager
def environment_set(components: Mapping[str, str]) -> Iterator[None]:
    """Set the environment variables of these components, and none of Triton's others, within the block.

    A program may change them between its launch, which was recorded, and its end, when it is compiled.
    """
    from triton._C.libtriton import get_cache_invalidating_env_vars

    variables = {
        name.removeprefix(ENVIRONMENT): text
        for name, text in components.items()
        if name.startswith(ENVIRONMENT)
    }
    now = get_cache_invalidating_env_vars()
    if now == variables:
        yield
        return
    before = {name: os.environ.pop(name) for name in now if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update(before)


def digest(*texts: str) -> str:
    """sha256 (hex) of the texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def write_sidecar(key: str, log: str | None, seconds: dict[str, float]) -> None:
    """Add the ptxas log and the seconds per stage to the cache entry of a compilation."""
    from triton.runtime.cache import get_cache_manager

    text = json.dumps({"log": log, "seconds": seconds})
    get_cache_manager(key).put(text, SIDECAR, binary=False)


def read_sidecar(key: str) -> tuple[str | None, dict[str, float]]:
    """Read the ptxas log and seconds per stage of a cached compilation.

    Returns (None, {}) if irscope did not compile it.
    """
    from triton.runtime.cache import get_cache_manager

    path = get_cache_manager(key).get_file(SIDECAR)
    try:
        return parse_sidecar(json.loads(Path(path).read_bytes()) if path else None)
    except (OSError, ValueError, RecursionError):
        return None, {}


def parse_sidecar(sidecar: Any) -> tuple[str | None, dict[str, float]]:
    """Return the ptxas log and seconds per stage in the JSON value, without what is not of its type."""
    values = sidecar if isinstance(sidecar, dict) else {}
    log, seconds = values.get("log"), values.get("seconds")
    times = seconds if isinstance(seconds, dict) else {}
    return (
        log if isinstance(log, str) else None,
        {stage: float(time_) for stage, time_ in times.items() if _is_time(time_)},
    )


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def remember_triton_key() -> None:
    """Make `triton.runtime.cache.triton_key` return the hash kept in Triton's cache; stores it if missing.

    Triton hashes all of libtriton once per process (400 MB, 1.3 s of CPU time here). The hash is stored
    under the paths, sizes and modification times of the hashed files, with a checksum: a file that is damaged
    is written again, because a wrong key would give wrong names to everything that Triton caches.
    """
    import triton
    from triton.runtime import cache

    try:
        stamp = _stamp(Path(triton.__file__).parent)
        manager = cache.get_cache_manager(stamp)
        key = _intact(manager.get_file(_KEY_FILE))
        if key is None:
            with _alone(stamp):
                key = _intact(manager.get_file(_KEY_FILE))
                if key is None:
                    computed_key = cache.triton_key()
                    manager.put(
                        json.dumps({"key": computed_key, "sha256": digest(computed_key)}),
                        _KEY_FILE,
                        binary=False,
                    )
                    return
    except OSError:  # the folder cannot be used; compiling says so
        return
    cache.triton_key = lambda: key


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Wait until no other process of this user is in such a block, for at most 10 s."""
    # In a folder of this machine: a lock on a file of a network may wait for ever.
    path = Path(tempfile.gettempdir()) / f"irscope-{os.getuid()}-{name[:16]}.lock"
    with ExitStack() as stack:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, descriptor)
            end = time.monotonic() + _LONGEST_WAIT
            while not _locked(descriptor) and time.monotonic() < end:
                time.sleep(0.02)
        yield


def _locked(descriptor: int) -> bool:
    """Lock an open file; return True if the lock was free, and is ours now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _intact(file: str | None) -> str | None:
    """Return the key in `file`, or None if there is no such file, or if it is damaged."""
    if file is None:
        return None
    try:
        stored = json.loads(Path(file).read_bytes())
        return str(stored["key"]) if stored["sha256"] == digest(stored["key"]) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _stamp(package: Path) -> str:
    """sha256 (hex) of the paths, sizes and times of every file that `triton_key` reads."""
    read = [package / "runtime" / "cache.py", *package.glob("_C/libtriton*")]
    for folder in ("compiler", "backends", "language"):
        read += package.glob(f"{folder}/**/*.py")
    states = [(str(file), file.stat()) for file in sorted(read)]
    lines = [f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
