"""The PYTHONPATH with which the Pythons that a program starts run startup/sitecustomize.py."""

from __future__ import annotations

import os
from pathlib import Path

_STARTUP = Path(__file__).parent / "startup"


def startup_path() -> str:
    """The PYTHONPATH of this process with the folder `startup` first."""
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in others if entry and entry != str(_STARTUP)]
    return os.pathsep.join([str(_STARTUP), *kept])
