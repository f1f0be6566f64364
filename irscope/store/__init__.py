"""The capture file: one SQLite file of kernels, variants and their artifacts.

The names below are loaded when they are first asked for: a command that only reads does not load the writer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irscope.store.names import find_variant, select_variants, variant_names, variant_number
    from irscope.store.new_variant import NewPass, NewVariant
    from irscope.store.reader import CaptureReader
    from irscope.store.writer import CaptureWriter

__all__ = [
    "CaptureReader",
    "CaptureWriter",
    "NewPass",
    "NewVariant",
    "find_variant",
    "select_variants",
    "variant_names",
    "variant_number",
]

_HOMES = {
    "CaptureReader": "reader",
    "CaptureWriter": "writer",
    "NewPass": "new_variant",
    "NewVariant": "new_variant",
    "find_variant": "names",
    "select_variants": "names",
    "variant_names": "names",
    "variant_number": "names",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'irscope.store' has no attribute '{name}'")
    return getattr(import_module(f"irscope.store.{_HOMES[name]}"), name)
