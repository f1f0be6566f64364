"""Counts what a program asks Triton's JIT for, independently of irscope: see ../programs.py.

Python imports this file at its start if the folder is in PYTHONPATH. After triton's JIT is imported, every
call of `JITFunction.run` is counted; at exit, each process writes its counts to LAUNCH_COUNTS/PID.json:

- kernels: the names of the functions that were launched or warmed up
- variants: the keys in the JIT's own caches, by the function's text
- launches: the calls that were launches
- failures: the first lines of the exceptions that left `JITFunction.run`
"""

from __future__ import annotations

import atexit
import functools
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Callable
from typing import Any

_JIT = "triton.runtime.jit"
_names: set[str] = set()
_variants: set[str] = set()
_failures: dict[str, str] = {}
_launches = 0


class _Finder(importlib.abc.MetaPathFinder):
    """Finds triton's JIT like the finders after this one, and patches it when it is loaded."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of triton's JIT with a patching loader; None for every other module."""
        if name != _JIT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            module.JITFunction.run = _counted(module.JITFunction.run)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _counted(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        global _launches  # noqa: PLW0603 - one count per process
        try:
            kernel = run(self, *args, **kwargs)
        except BaseException as error:
            _failures.setdefault(self.__name__, f"{type(error).__name__}: {error}".splitlines()[0])
            raise
        _names.add(self.__name__)
        _launches += not kwargs.get("warmup")
        for device, cache in self.device_caches.items():
            _count_keys(self, device, cache[0])
        return kernel

    return counted


def _count_keys(function: Any, device: int, kernels: Any) -> None:
    """Adds the keys of the JIT's cache if there are new ones."""
    if getattr(function, "_counted_keys", {}).get(device) != len(kernels):
        function.__dict__.setdefault("_counted_keys", {})[device] = len(kernels)
        _variants.update(f"{function.cache_key} {function.__name__} {key}" for key in kernels)


def _write() -> None:
    if not _names and not _failures:
        return
    counts = {
        "kernels": sorted(_names),
        "variants": len(_variants),
        "launches": _launches,
        "failures": _failures,
    }
    path = os.path.join(os.environ["LAUNCH_COUNTS"], f"{os.getpid()}.json")  # noqa: PTH118 - a quick start
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(counts, file)


if "LAUNCH_COUNTS" in os.environ:
    sys.meta_path.insert(0, _Finder())
    atexit.register(_write)
