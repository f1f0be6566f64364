"""The caches of flag_gems' autotuner without a GPU: read as they are, but nothing is written to them.

`LibTuner` is a subclass of Triton's autotuner with a `run` and a database of its own. Invented times in that
database would choose the configs of later runs on a GPU, and the next capture would have only these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from irscope.toolchain.patching import patched

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
        """The `set` of a cache of times."""

        def set_(cache: Any, config: Any, times: Any) -> None:
            self._measured += 1
            self._values.setdefault(cache, {})[config] = times

        return set_

    @property
    def choose(self) -> Callable[..., None]:
        """The `set` of a cache of configs, which the tuner calls when it has measured all for a key."""

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
        """The `get` of a cache: from memory, else from its database."""

        def get(cache: Any, key: Any) -> Any:
            values = self._values.get(cache, {})
            return values[key] if key in values else original(cache, key)

        return get
