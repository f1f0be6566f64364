"""How a kernel's stages get in. The only room that imports triton or torch, inside functions and workers.

The room bears the name of the public function `irscope.capture`, so it can be called as that function.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package, which can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`irscope.notebook.capture`, which stands above all rooms: it captures and shows."""
        return import_module("irscope.notebook").capture(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
