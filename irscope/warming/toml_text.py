"""The TOML that irscope writes and reads: strings, numbers and tables."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from irscope.model import UserError
from irscope.model.files import check_regular
from irscope.model.text import printable

_BARE = re.compile(r"[A-Za-z0-9_-]+")
# The largest file that is read: 100,000 pins are about half of it.
_MAX_BYTES = 200_000_000


def text_value(value: str) -> str:
    """A TOML string; characters that are not printable are escaped, as JSON escapes some of them."""
    text = json.dumps(value, ensure_ascii=False)
    if printable(text) == text:
        return text
    return "".join(part if printable(part) == part else f"\\U{ord(part):08x}" for part in text)


def key_value(name: str) -> str:
    """A TOML key."""
    return name if _BARE.fullmatch(name) else text_value(name)


def read_toml(path: Path) -> dict[str, Any]:
    """The document in a file. Raises UserError if it cannot be read or is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        if check_regular(path).st_size > _MAX_BYTES:
            raise UserError(f"{path}: larger than {_MAX_BYTES:,} bytes")
        document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML: {error}") from error
    return document
