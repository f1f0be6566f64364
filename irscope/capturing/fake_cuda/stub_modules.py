"""Stubs of compiled extension modules, which a library imports but which cannot be built on this machine.

flash_attn, for example, imports its CUDA extension first; its Triton kernels do not need it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from irscope.toolchain.stub_driver import NeedsGpuError

# The usual names of extension modules: flash_attn_2_cuda, selective_scan_cuda, sgl_kernel, vllm._C.
_EXTENSION = re.compile(r"(_cuda|_hip|_rocm|_kernels?|_ext|_C)$")


class _StubModule(ModuleType):
    """A module whose functions stop the program when they are called; it has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*_: Any, **__: Any) -> NoReturn:
            raise NeedsGpuError(f"calls {self.__name__}.{name}, which --stub-module replaces")

        return call


class _StubFinder(MetaPathFinder, Loader):
    """Finds the stubs, after every other finder has failed, and collects the extensions that are missing."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.missing: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a stub; None for any other module."""
        if name in self._names or any(name.startswith(f"{stub}.") for stub in self._names):
            return ModuleSpec(name, self, is_package=True)
        if _EXTENSION.search(name) and name not in self.missing:
            self.missing.append(name)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty stub."""
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing."""


@contextmanager
def stub_modules(names: tuple[str, ...]) -> Iterator[None]:
    """Within the block, modules in `names` and their submodules can be imported if they are missing."""
    finder = _StubFinder(names)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def print_missing() -> None:
    """Prints a line per extension module that the program asked for in vain."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, _StubFinder)]
    for name in (name for finder in finders for name in finder.missing):
        advice = f"install it, or --stub-module {name} if your kernels do not need it"
        print(f"irscope: the extension module {name} is missing: {advice}", file=sys.stderr)
