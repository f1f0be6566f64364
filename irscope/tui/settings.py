"""The user's config file: its path, its format and its content.

How each capture was left: a small file per capture in the user's state folder, never in the capture.

The home screen lists recent captures from these files, so it opens none of them. A file that is damaged, too
large or of another version counts as missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from irscope.model import UserError, Variant
from irscope.model.records import frozen
from irscope.workspace.variant_texts import PYTHON, stage_names

# A config file is a page long; a larger file is something else.
_LARGEST = 1_000_000
_FLAGS = ("confirm_quit", "restore")
_KNOWN = ("theme", "stage", "keys", *_FLAGS)


@dataclass(frozen=True)
class Settings:
    """The settings, empty if the file does not have them.

    `theme` is one of Textual's, `stage` the tab to open with. `keys` replace the keys of actions:
    `{"swap": "X", "change(1)": "f8"}`. `confirm_quit`: ask before q quits. `restore`: open a capture as
    it was left.
    """

    theme: str = ""
    stage: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    confirm_quit: bool = True
    restore: bool = True


def config_path() -> Path:
    """Return the path that IRSCOPE_CONFIG names, else `config.toml` in the platform's folder."""
    if named := os.environ.get("IRSCOPE_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("irscope", appauthor=False) / "config.toml"


def load(path: Path) -> Settings:
    """Read the settings in the file at `path`; none if it does not exist.

    Raises UserError, one line that starts with the path, if the file cannot be read or has an
    error.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"{path}: too large for a config file")
        return _settings(_parsed(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # not TOML, not UTF-8, too deep, or wrong
        raise UserError(f"{path}: {' '.join(str(error).split())}") from None


def _parsed(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    document: dict[str, Any] = tomllib.loads(text)
    return document


def _settings(document: dict[str, Any]) -> Settings:
    unknown = [name for name in document if name not in _KNOWN]
    if unknown:
        raise ValueError(f"unknown setting '{unknown[0]}'; known: {', '.join(_KNOWN)}")
    theme, stage, keys = document.get("theme", ""), document.get("stage", ""), document.get("keys", {})
    if not isinstance(theme, str):
        raise ValueError("theme is not a name in quotes")
    stages = [PYTHON, *stage_names(binary=False)]
    if stage and stage not in stages:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(stages)}")
    if not isinstance(keys, dict):
        raise ValueError('keys is not a table: [keys], then lines such as swap = "X"')
    for action, key in keys.items():
        if not isinstance(key, str) or not key.strip(" ,"):
            raise ValueError(f"keys: {action} is not a key in quotes")
    flags = {name: document.get(name, True) for name in _FLAGS}
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} is not true or false")
    return Settings(theme, stage, {action: _keys(key) for action, key in keys.items()}, **flags)


def _keys(text: str) -> str:
    """`X, f8` as a binding needs it: `X,f8`."""
    return ",".join(filter(None, (key.strip() for key in text.split(","))))


_VERSION = 1
# The least recently opened captures are forgotten beyond this.
_MAX_FILES = 100
_RECENT_THEMES = 5
_MAX_BYTES, _MAX_TEXT, _MAX_NAMES = 32_768, 500, 4


@frozen
class CaptureState:
    """The entry of a capture on the home screen, and how the main screen was when it closed.

    `opened` is a time in seconds since 1970. `a` and `b` are ids, with a fingerprint each: a capture that was
    written anew may have another variant of that id. `sort` is the name of a column, "" for none;
    `opened_panels` are ids of panels that the user opened, `sizes` those that the user gave panels
    ("findings=9"); `scope` is the kernel and the target
    that the table shows, "" for all. Fields that are "" or None are not restored.
    """

    path: str
    opened: float
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    variants: int = 0
    a: int = 0
    b: int = 0
    fingerprints: tuple[str, ...] = ()
    stage: str = ""
    detail: str = ""
    sort: str = ""
    descending: bool = False
    filter: str = ""
    unified: bool | None = None
    opened_panels: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    theme: str = ""


class StateFolder:
    """The states of captures. If the folder cannot be read or written, there are none."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _default_folder()

    def load(self, capture: Path) -> CaptureState | None:
        """Return how a capture was left, or None if that is not known."""
        state = _read(self._file(capture))
        return state if state is not None and state.path == os.path.realpath(capture) else None

    def save(self, state: CaptureState) -> None:
        """Store a state, and forgets the oldest ones beyond the limit."""
        content = json.dumps({"version": _VERSION, **asdict(_bounded(state))})
        file = self._file(Path(state.path))
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(f".{os.getpid()}.part")
            part.write_text(content, encoding="utf-8")
            part.replace(file)
            self._forget_oldest()

    def recent(self, limit: int = _MAX_FILES) -> list[CaptureState]:
        """Return the states of at most `limit` captures, the one opened last first."""
        with contextlib.suppress(OSError):
            newest = sorted(self._folder.glob("*.json"), key=_modified, reverse=True)
            states = filter(None, map(_read, newest[:limit]))
            return sorted(states, key=lambda state: state.opened, reverse=True)
        return []

    def theme(self) -> str:
        """Return the theme that was chosen in one of the captures opened last, or "" if none was."""
        return next((state.theme for state in self.recent(_RECENT_THEMES) if state.theme), "")

    def tips_done(self) -> int:
        """Return how many of the app's tips the user has followed or passed over."""
        with contextlib.suppress(OSError, ValueError):
            return int(self._tips.read_text(encoding="ascii")[:9])
        return 0

    def save_tips_done(self, count: int) -> None:
        """Store how many tips are not shown again."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._tips.write_text(str(count), encoding="ascii")

    @property
    def _tips(self) -> Path:
        return self._folder.with_name("tips")

    def _forget_oldest(self) -> None:
        for file in sorted(self._folder.iterdir(), key=_modified, reverse=True)[_MAX_FILES:]:
            file.unlink(missing_ok=True)

    def _file(self, capture: Path) -> Path:
        name = os.fsencode(os.path.realpath(capture))
        return self._folder / f"{hashlib.sha256(name).hexdigest()[:32]}.json"


def fingerprint(variant: Variant) -> str:
    """Identify what was compiled, but not the source: an edited kernel keeps its A and B."""
    parts = (variant.kernel.name, variant.target, variant.specialization, variant.config)
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


def _bounded(state: CaptureState) -> CaptureState:
    """Return the state without what makes its file too large; paths are kept whole."""
    return replace(
        state,
        kernels=_clip(state.kernels),
        scope=_clip(state.scope),
        targets=_clip(state.targets),
        sort=state.sort[:_MAX_TEXT],
        filter="" if len(state.filter) > _MAX_TEXT else state.filter,
    )


def _clip(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name[:_MAX_TEXT] for name in names[:_MAX_NAMES])


def _read(file: Path) -> CaptureState | None:
    """Read the state in a file, or return None if it is damaged."""
    with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
        if file.stat().st_size > _MAX_BYTES:
            return None
        document = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(document, dict) and document.pop("version", None) == _VERSION:
            return _checked(document)
    return None


# The types in JSON of the fields, by their annotations.
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "bool | None": (bool, type(None)),
    "tuple[str, ...]": (tuple,),
}


def _checked(found: dict[str, object]) -> CaptureState:
    """Return the state with these values.

    Raises TypeError if one has another type than its field.
    """
    values: dict[str, object] = {}
    for state_field in fields(CaptureState):
        value, kind = found.get(state_field.name, state_field.default), str(state_field.type)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = tuple(value)
        is_number = kind in ("int", "float")
        if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and is_number):
            raise TypeError(state_field.name)
        values[state_field.name] = value
    state = CaptureState(**values)  # type: ignore[arg-type]  # checked above
    if not os.path.isabs(state.path):  # noqa: PTH117 - the path of another machine stays text
        raise ValueError("path")
    return state


def _modified(file: Path) -> float:
    with contextlib.suppress(OSError):
        return file.stat().st_mtime
    return 0.0


def _default_folder() -> Path:
    base = os.environ.get("IRSCOPE_STATE")
    if not base:
        import platformdirs

        base = platformdirs.user_state_dir("irscope", appauthor=False)
    return Path(base) / "captures"
