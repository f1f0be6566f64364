"""Hooks into Triton: every compilation that a program requests, and every benchmark of an autotuner."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Protocol

from irscope.compiling.call_stack import frames_outwards
from irscope.compiling.messages import BenchmarkRecorded
from irscope.compiling.toolchain.patching import never_raises, patched
from irscope.compiling.toolchain.pinned_tuning import tuning_run
from irscope.compiling.toolchain.requested_config import TunedNames
from irscope.model import Benchmark, Tuning
from irscope.recording.recorder import RecordedCompilation, Recorder


class OnCompile(Protocol):
    """Handles a compilation: its source, target, options, tuned names, and Triton's own `compile` for it."""

    def __call__(
        self, source: Any, target: Any, options: Any, tuned: TunedNames, compile_: Callable[[], Any]
    ) -> Any:
        """Return the kernel."""


@contextmanager
def intercepted_compilations(on_jit: OnCompile, on_direct: OnCompile) -> Iterator[None]:
    """Pass the JIT's compilations to `on_jit` and direct calls of `triton.compile` to `on_direct`.

    torch.compile makes direct calls. The handlers return the kernel.
    """
    import triton
    from triton.compiler import compiler
    from triton.runtime.jit import JITFunction

    codes = _tuning_codes()
    original = JITFunction._do_compile

    @functools.wraps(original)
    def do_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        tuned = _tuned_names(self, codes)
        before = self.compile

        # Triton calls it as `self.compile(source, target=..., options=...)`, here or in another thread.
        def compile_source(source: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
            call = functools.partial(compiler.compile, source, target=target, options=options, **more)
            return on_jit(source, target, options, tuned, call)

        self.compile = compile_source
        try:
            return original(self, *args, **kwargs)
        finally:
            self.compile = before

    direct = compiler.compile

    @functools.wraps(direct)
    def compile_(source: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
        call = functools.partial(direct, source, target=target, options=options, **more)
        return on_direct(source, target, options, TunedNames(), call)

    with ExitStack() as stack:
        stack.enter_context(patched(JITFunction, "_do_compile", do_compile))
        for module in (triton, triton.compiler):
            stack.enter_context(patched(module, "compile", compile_))
        yield


def _tuning_codes() -> dict[CodeType, str]:
    """Return the code of Triton's functions that set constants of a compilation, and each one's kind."""
    from triton.runtime.autotuner import Autotuner, Heuristics

    return {
        Autotuner._bench.__code__: "config",
        Autotuner.run.__code__: "config",
        Autotuner.warmup.__code__: "config",
        Heuristics.run.__code__: "heuristics",
    }


def _tuned_names(function: Any, codes: dict[CodeType, str]) -> TunedNames:
    """Return the names that the autotuners and heuristics around the current compilation set.

    The compilation is that of `function`. Triton passes the config to no hook, so it is read from
    the frames of Triton's own functions.
    """
    names: set[str] = set()
    autotuned = False
    for frame in frames_outwards(sys._getframe(1)):
        kind = codes.get(frame.f_code)
        owner = frame.f_locals.get("self") if kind else None
        if owner is None or getattr(owner, "base_fn", function.fn) is not function.fn:
            continue
        if kind == "heuristics" and _innermost(owner) is function:
            names |= set(owner.values)
        config = frame.f_locals.get("config", frame.f_locals.get("autotune_config"))
        if kind == "config" and config is not None:
            names |= set(config.all_kwargs())
            autotuned = True
    return TunedNames(autotuned, frozenset(names))


def _innermost(wrapper: Any) -> Any:
    while hasattr(wrapper, "fn") and hasattr(wrapper.fn, "fn"):
        wrapper = wrapper.fn
    return wrapper


@contextmanager
def recorded_benchmarks(recorder: Recorder) -> Iterator[None]:
    """Record the benchmarks of every autotuner. A launch that benchmarks nothing is not slowed down."""
    from triton.runtime.autotuner import Autotuner

    benchmarks = _BenchmarkRecorder(recorder)
    prune, bench = Autotuner.prune_configs, Autotuner._bench

    @functools.wraps(prune)
    def prune_configs(self: Any, kwargs: dict[str, Any]) -> Any:
        configs = prune(self, kwargs)
        benchmarks.begin(self, kwargs, configs)
        return configs

    @functools.wraps(bench)
    def _bench(self: Any, *args: Any, config: Any, **meta: Any) -> Any:
        times = bench(self, *args, config=config, **meta)
        benchmarks.add(self, args, config, meta, times)
        return times

    with patched(Autotuner, "prune_configs", prune_configs), patched(Autotuner, "_bench", _bench):
        yield


@dataclass
class _TuningRun:
    """One run of an autotuner: `left` configs are still to be measured; the fastest will be chosen."""

    key: str
    left: int
    tuning: Tuning | None
    measured: list[tuple[RecordedCompilation, Benchmark]] = field(default_factory=list)


class _BenchmarkRecorder:
    """Follows each run of an autotuner from its pruning to its last measurement."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @never_raises
    def begin(self, tuner: Any, kwargs: dict[str, Any], configs: list[Any]) -> None:
        """Start a run: the tuner has pruned its configs and will measure these."""
        arguments = {**tuner.nargs, **kwargs}
        key = ", ".join(f"{name}={arguments[name]}" for name in tuner.keys if name in arguments)
        tuner.irscope_tuning_run = _TuningRun(key, len(configs), tuning_run(tuner, kwargs, len(configs)))

    @never_raises
    def add(self, tuner: Any, args: Any, config: Any, meta: dict[str, Any], times: Any) -> None:
        """Add what the tuner has measured for a config.

        `times` are the median, 20 % and 80 % quantile in ms, or one number.
        """
        run: _TuningRun | None = getattr(tuner, "irscope_tuning_run", None)
        if run is None:
            return
        ms, p20, p80 = times if isinstance(times, list | tuple) and len(times) == 3 else (times,) * 3
        run.left -= 1
        if math.isfinite(ms):
            # The kernel is compiled: called again as a warm-up, the JIT returns it without a launch.
            kernel = tuner.fn.run(*args, **{**meta, **config.all_kwargs(), "warmup": True})
            recorded = self._recorder.by_kernel.get(kernel)
            if recorded is not None:
                run.measured.append((recorded, Benchmark(run.key, ms, p20, p80)))
        if run.left == 0:
            del tuner.irscope_tuning_run
            self._send(run)

    def _send(self, run: _TuningRun) -> None:
        fastest = min((benchmark.ms for _, benchmark in run.measured), default=None)
        for recorded, benchmark in run.measured:
            chosen = benchmark.ms == fastest
            fastest = None if chosen else fastest  # of equally fast configs, Triton picks the first
            completed = replace(benchmark, chosen=chosen, tuning=run.tuning if chosen else None)
            self._recorder.send(BenchmarkRecorded(recorded.number, completed))
