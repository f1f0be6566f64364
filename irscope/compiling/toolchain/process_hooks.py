"""Hooks into Triton that report what a warm process must not do: compile, benchmark, build stubs.

    compilation   knobs.compilation.listener       once per specialization and process, hit or miss
    failure       JITFunction._do_compile          once per specialization; only errors are reported
    benchmark     Autotuner._bench                 once per config that an autotuner measures
    build         triton.runtime.build._build      once per launcher or driver stub that Triton builds

None of them runs in a launch. `knobs.autotuning.listener` would report benchmarks too, but only from Triton
3.8 on, and not those that raise.

A hook calls what it replaced. At the end that is restored, unless another tool has replaced the hook: then it
stays, reports nothing and calls what it replaced.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from irscope.model.records import frozen

LOG = logging.getLogger("irscope")


@frozen
class TritonCompilation:
    """Triton (of this `version`) compiled `source` in `seconds`, or loaded it from its cache (`hit`).

    `options` are the backend's parsed ones, None if they could not be read; `hash` names the cache entry.
    `error` is what a compilation raised, which the program gets.
    """

    source: Any
    target: Any
    options: Any
    hash: str
    version: str
    seconds: float
    hit: bool
    error: BaseException | None = None


@frozen
class TritonBenchmark:
    """An autotuner measured one config for `key`: the values of `names`, then element types.

    `reads_results` says whether the autotuner looks for results in Triton's cache; `has_hooks` whether a
    config has a pre_hook, of which Triton keeps no results.
    """

    kernel: str
    names: tuple[str, ...]
    key: tuple[object, ...]
    seconds: float
    reads_results: bool
    has_hooks: bool


@frozen
class TritonBuild:
    """Triton built the extension module `name` with the C compiler."""

    name: str
    seconds: float


Event = TritonCompilation | TritonBenchmark | TritonBuild
Observer = Callable[[Event], None]


class _Observers:
    """The observers of this process, which share one set of hooks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hooks: _TritonHooks | None = None
        self.all: tuple[Observer, ...] = ()

    def add(self, observer: Observer) -> None:
        with self._lock:
            if self._hooks is None:
                self._hooks = _TritonHooks()
            self.all = (*self.all, observer)

    def remove(self, observer: Observer) -> None:
        with self._lock:
            self.all = tuple(registered for registered in self.all if registered != observer)
            if not self.all and self._hooks is not None:
                self._hooks.remove()
                self._hooks = None


_observers = _Observers()


def observe(observer: Observer) -> None:
    """Call `observer` with each event of this process from now on, in the thread where it happens."""
    _observers.add(observer)


def stop_observing(observer: Observer) -> None:
    """End `observe`; the last one restores what the hooks replaced."""
    _observers.remove(observer)


def cache_folder() -> Path:
    """Triton's cache folder in this process."""
    from triton import knobs

    return Path(str(knobs.cache.dir)).expanduser()


def _notify(make_event: Callable[[], Event]) -> None:
    """Send an event to all observers. Raises nothing: the program is in the middle of a launch."""
    try:
        event = make_event()
        for observer in _observers.all:
            observer(event)
    except Exception:
        LOG.exception("irscope: cannot report a compilation, a benchmark or a build")


class _TritonHooks:
    """The hooks that are installed, and what they replaced."""

    def __init__(self) -> None:
        from triton import knobs
        from triton.runtime import build
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        self._active = True
        self._replaced = (
            _replace(knobs.compilation, "listener", self._listener),
            _replace(JITFunction, "_do_compile", self._do_compile),
            _replace(Autotuner, "_bench", self._bench),
            _replace(build, "_build", self._build),
        )

    def remove(self) -> None:
        """Restores what was replaced, unless another tool has replaced it since."""
        self._active = False
        for owner, name, ours, before in self._replaced:
            if vars(owner).get(name) is ours:
                setattr(owner, name, before)

    def _listener(self, before: Callable[..., None] | None) -> Callable[..., None]:
        def listen(**report: Any) -> None:
            if before is not None:
                before(**report)
            if self._active:
                frame = sys._getframe(1)
                _notify(lambda: _compiled(report, frame))

        return listen

    def _do_compile(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def _do_compile(self_: Any, *args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return before(self_, *args, **kwargs)
            except Exception as error:
                if self._active and (local := _locals_of_failure(error)):
                    seconds = time.perf_counter() - start
                    _notify(functools.partial(_failed, local, error, seconds))
                raise

        return _do_compile

    def _bench(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def _bench(self_: Any, *args: Any, config: Any, **meta: Any) -> Any:
            start = time.perf_counter()
            try:
                return before(self_, *args, config=config, **meta)
            finally:
                if self._active:
                    seconds = time.perf_counter() - start
                    _notify(lambda: _benchmarked(self_, meta, seconds))

        return _bench

    def _build(self, before: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(before)
        def _build(name: str, *args: Any, **kwargs: Any) -> str:
            start = time.perf_counter()
            try:
                return before(name, *args, **kwargs)
            finally:
                if self._active:
                    seconds = time.perf_counter() - start
                    _notify(lambda: TritonBuild(name, seconds))

        return _build


def _replace(owner: Any, name: str, hook: Callable[[Any], Any]) -> tuple[Any, str, Any, Any]:
    """Replace an attribute by a hook for it; returns what `remove` needs."""
    before = getattr(owner, name)
    ours = hook(before)
    setattr(owner, name, ours)
    return owner, name, ours, before


def _compiled(report: Mapping[str, Any], frame: Any) -> TritonCompilation:
    metadata, times = report["metadata"], report["times"]
    hit = bool(report["cache_hit"])
    local = {} if hit else _compile_locals(frame)
    return TritonCompilation(
        report["src"],
        metadata["target"],
        local.get("options"),
        str(metadata["hash"]),
        str(metadata["triton_version"]),
        times.total / 1e6,
        hit,
    )


def _compile_locals(frame: Any) -> Mapping[str, Any]:
    """Return the local variables of `triton.compile`, which calls the listener.

    It passes no options to the listener.
    """
    from triton.compiler import compiler

    code = getattr(compiler.compile, "__code__", None)
    while frame is not None:
        if frame.f_code is code:
            return dict(frame.f_locals)
        frame = frame.f_back
    return {}


def _locals_of_failure(error: BaseException) -> Mapping[str, Any]:
    """Return the local variables of `triton.compile` if that raised while it compiled, else {}."""
    from triton.compiler import compiler

    code, trace = getattr(compiler.compile, "__code__", None), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            local = dict(trace.tb_frame.f_locals)
            return local if "metadata" in local else {}  # it exists once no entry was found
        trace = trace.tb_next
    return {}


def _failed(local: Mapping[str, Any], error: BaseException, seconds: float) -> TritonCompilation:
    import triton

    source, target, options, hash_ = (local[name] for name in ("src", "target", "options", "hash"))
    return TritonCompilation(source, target, options, hash_, triton.__version__, seconds, False, error)


def _benchmarked(tuner: Any, meta: dict[str, Any], seconds: float) -> TritonBenchmark:
    from irscope.compiling.toolchain.pinned_tuning import tuning_key

    arguments = {**tuner.nargs, **meta}
    names = tuple(name for name in tuner.keys if name in arguments and name in tuner.arg_names)
    hooked = any(config.pre_hook is not None for config in tuner.configs)
    key = tuning_key(tuner, meta)
    return TritonBenchmark(tuner.base_fn.__name__, names, key, seconds, bool(tuner.cache_results), hooked)
