"""Stubs of compiled extension modules, which a library imports but which cannot be built on this machine.

flash_attn, for example, imports its CUDA extension first; its Triton kernels do not need it.

Notices that a program asks the GPU's driver, past torch and Triton, and says so if the program then fails.

flag_gems runs nvidia-smi to find out the vendor of the device, xformers asks NVML for clock rates. Without a
GPU neither answers, and the error of the library names neither.

The caches of flag_gems' autotuner without a GPU: read as they are, but nothing is written to them.

`LibTuner` is a subclass of Triton's autotuner with a `run` and a database of its own. Invented times in that
database would choose the configs of later runs on a GPU, and the next capture would have only these.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from irscope.compiling.toolchain.patching import patched
from irscope.compiling.toolchain.stub_driver import NeedsGpuError
from irscope.model.errors import print_note

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
        """Return the spec of a stub, or None for any other module."""
        if name in self._names or any(name.startswith(f"{stub}.") for stub in self._names):
            return ModuleSpec(name, self, is_package=True)
        if _EXTENSION.search(name) and name not in self.missing:
            self.missing.append(name)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Create an empty stub."""
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


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
    """Print a line per extension module that the program asked for in vain."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, _StubFinder)]
    for name in (name for finder in finders for name in finder.missing):
        advice = f"install it, or --stub-module {name} if your kernels do not need it"
        print_note(f"the extension module {name} is missing: {advice}")


_TOOLS = ("nvidia-smi", "rocm-smi", "amd-smi", "rocminfo")
_NVML = ("pynvml", "nvidia-ml-py", "NVML")
# The tools that the program has run, in order.
_asked: dict[str, None] = {}


@contextmanager
def noticed_driver_queries() -> Iterator[None]:
    """Within the block, the tools of a driver that the program starts are remembered."""
    _asked.clear()
    with patched(subprocess.Popen, "__init__", _noticing(subprocess.Popen.__init__)):
        yield


def print_driver_queries(error: BaseException | None) -> None:
    """Print what a program that failed asked the driver, and what to do; `error` is what it raised."""
    if _asked:
        advice = "tell the library the device by its own setting (flag_gems: GEMS_VENDOR=nvidia)"
        print_note(f"the program ran {' and '.join(_asked)}, which finds no GPU here: {advice}")
    if any(name in text for text in _texts(error) for name in _NVML):
        advice = "pip install nvidia-ml-py if pynvml is missing; where it asks for values, remove that call"
        print_note(f"the program asked NVML, which answers nothing without a GPU: {advice}")


def _noticing(start: Callable[..., None]) -> Callable[..., None]:
    """Wrap `subprocess.Popen.__init__`, which also `run`, `check_output` and asyncio call."""

    @functools.wraps(start)
    def init(self: Any, args: Any, *more: Any, **options: Any) -> None:
        with suppress(Exception):  # what the program passes may be wrong
            words = shlex.split(args) if isinstance(args, str) else list(map(os.fspath, args))
            name = os.path.basename(os.fsdecode(words[0]))  # noqa: PTH119 - it may be bytes
            if name in _TOOLS:
                _asked[name] = None
        start(self, args, *more, **options)

    return init


def _texts(error: BaseException | None) -> Iterator[str]:
    """Yield the class and text of an exception and of those that caused it."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        with suppress(Exception):  # the program's own class
            yield f"{type(error).__name__}: {error}"
        error = error.__cause__ or error.__context__


MODULE = "flag_gems.utils.libentry"
# The classes of a cache of chosen configs, and of a cache of times.
_CHOSEN, _TIMES = "ConfigCache", "BenchmarkCache"


@contextmanager
def flag_gems_caches_in_memory(say: Callable[[str], None]) -> Iterator[None]:
    """Within the block, what the tuner stores is kept in memory; call it when MODULE is imported.

    `say` takes a line per kernel that says how many configs the tuner measures.
    """
    module = import_module(MODULE)
    memory = _Memory(say)
    with ExitStack() as stack:
        for name, store in ((_CHOSEN, memory.choose), (_TIMES, memory.measure)):
            cache = getattr(module, name, None)
            if cache is not None and callable(getattr(cache, "set", None)):
                stack.enter_context(patched(cache, "get", memory.reading(cache.get)))
                stack.enter_context(patched(cache, "set", store))
        yield


class _Memory:
    """What the caches would have stored, by cache and key."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._values: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
        self._measured = 0
        self._kernels: set[str] = set()

    @property
    def measure(self) -> Callable[..., None]:
        """Return the `set` of a cache of times."""

        def set_(cache: Any, config: Any, times: Any) -> None:
            self._measured += 1
            self._values.setdefault(cache, {})[config] = times

        return set_

    @property
    def choose(self) -> Callable[..., None]:
        """Return the `set` of a cache of configs.

        The tuner calls it when it has measured all configs for a key.
        """

        def set_(cache: Any, key: Any, config: Any) -> None:
            self._values.setdefault(cache, {})[key] = config
            kernel = str(getattr(cache, "table_name", "a kernel")).rpartition("_")[0]
            if kernel not in self._kernels and self._measured:
                self._kernels.add(kernel)
                what = f"flag_gems' tuner measures {self._measured:,} configs before it launches one"
                self._say(f"{kernel}: {what}; --max-variants captures fewer")
            self._measured = 0

        return set_

    def reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the `get` of a cache, which reads from memory, else from the cache's database."""

        def get(cache: Any, key: Any) -> Any:
            values = self._values.get(cache, {})
            return values[key] if key in values else original(cache, key)

        return get
