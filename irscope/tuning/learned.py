"""Results of pruning, kept in Triton's cache: a program that runs again compiles nothing for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import irscope
from irscope.toolchain.triton_cache import digest

_FILE = "irscope_tuning.json"


@cache
def _code() -> str:
    """The sizes and times of irscope's files that results depend on: code and constants."""
    root = Path(irscope.__file__).parent
    files = [file for name in ("estimating", "tuning", "facts") for file in root.glob(f"{name}/**/*.*")]
    states = [(str(file.relative_to(root)), file.stat()) for file in sorted(files) if file.suffix != ".pyc"]
    return "\n".join(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states)


class Learned:
    """An entry of Triton's cache under everything that its content depends on.

    `parts` name that as text: the keys of the compilations, the launch, the limits of the device.
    """

    def __init__(self, *parts: str) -> None:
        self._key = digest("irscope tuning 1", _code(), *parts)

    def read(self) -> Mapping[str, Any] | None:
        """The content; None if there is none, or it cannot be read."""
        from triton.runtime.cache import get_cache_manager

        try:
            file = get_cache_manager(self._key).get_file(_FILE)
            content = json.loads(Path(file).read_bytes()) if file else None
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def write(self, content: Mapping[str, Any]) -> None:
        """Keeps the content, if the cache can be written."""
        from triton.runtime.cache import get_cache_manager

        try:
            get_cache_manager(self._key).put(json.dumps(content), _FILE, binary=False)
        except OSError:
            return
