"""Results that bisections keep in the user's cache folder, by the digest of all that they depend on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from threading import get_ident

# The oldest files are removed beyond this. A compiled variant with its passes takes 0.2 to 2 MB.
_MAX_BYTES = 512 << 20


def default_folder() -> Path:
    """The folder `bisect` in the user's cache folder, or where IRSCOPE_CACHE points."""
    import platformdirs

    return Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope")) / "bisect"


class KeptResults:
    """The files of a folder; `made` counts those that were made since this was created."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or default_folder()
        self.made = 0

    def path(self, key: str, suffix: str = ".irscope") -> Path:
        """The file of a key, whether it exists or not; marks it as used."""
        path = self._folder / f"{key}{suffix}"
        with contextlib.suppress(OSError):
            os.utime(path)
        return path

    def put(self, key: str, make: Callable[[Path], None], suffix: str = ".irscope") -> Path:
        """Has `make` write the file of a key, which appears when it is complete. Raises what that raises."""
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"{key}.{os.getpid()}-{get_ident()}.part"
        try:
            make(part)
            part.replace(self.path(key, suffix))
        finally:
            part.unlink(missing_ok=True)
        self.made += 1
        self._remove_oldest(self.path(key, suffix))
        return self.path(key, suffix)

    def discard_unfinished(self) -> None:
        """Remove what threads of this process that were left behind have begun to write."""
        with contextlib.suppress(OSError):
            for part in self._folder.glob(f"*.{os.getpid()}-*.part*"):
                part.unlink(missing_ok=True)

    def _remove_oldest(self, keep: Path) -> None:
        with contextlib.suppress(OSError):
            states = sorted(
                ((file.stat(), file) for file in self._folder.iterdir()), key=lambda pair: pair[0].st_mtime
            )
            total = sum(state.st_size for state, _ in states)
            for state, file in states:
                if total <= _MAX_BYTES:
                    break
                if file != keep:
                    file.unlink(missing_ok=True)
                    total -= state.st_size
