"""The user's config file: its path, its format and its content."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irscope.model import UserError
from irscope.workspace import PYTHON, all_stages, stage_named

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
    """The path that IRSCOPE_CONFIG names, else `config.toml` in the platform's folder for irscope."""
    if named := os.environ.get("IRSCOPE_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("irscope", appauthor=False) / "config.toml"


def load(path: Path) -> Settings:
    """The settings in the file at `path`; none if it does not exist.

    Raises UserError, one line that starts with the path, if the file cannot be read or has an error.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"{path}: too large for a config file")
        document = _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise UserError(f"{path}: {' '.join(str(error).split())}") from None
    try:
        return _settings(document)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


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
    if stage and not (isinstance(stage, str) and _is_text_stage(stage)):
        known = (PYTHON, *(each.name for each in all_stages() if not each.binary))
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(known)}")
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


def _is_text_stage(name: str) -> bool:
    try:
        return name == PYTHON or not stage_named(name).binary
    except ValueError:
        return False


def _keys(text: str) -> str:
    """`X, f8` as a binding needs it: `X,f8`."""
    return ",".join(filter(None, (key.strip() for key in text.split(","))))
