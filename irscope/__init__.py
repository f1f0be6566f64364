"""irscope: what the Triton compiler made of a kernel under each config, and what differs between two."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`irscope.capture` and `irscope.compile`, loaded when they are asked for."""
    if name == "capture":
        return import_module("irscope.notebook").capture
    if name == "compile":
        return import_module("irscope.notebook").compile
    raise AttributeError(f"module 'irscope' has no attribute '{name}'")
