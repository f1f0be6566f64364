"""Hooks into Inductor. None of them runs in a launch: they run while it compiles, loads or measures.

Records what Inductor measures: the configs of its autotuner, and the choices of max-autotune.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from irscope.compiling.messages import BenchmarkRecorded, Note
from irscope.compiling.toolchain.patching import never_raises, once_imported, patched
from irscope.model import Benchmark
from irscope.model.text import pluralize
from irscope.recording.inductor.graphs import InductorGraphs
from irscope.recording.inductor.results import InductorResults
from irscope.recording.recorder import Recorder


@dataclass
class _LauncherTimes:
    """One run of an autotuner: the launchers that were measured, and their times in ms."""

    times: list[tuple[Any, float]] = field(default_factory=list)


class _Current(threading.local):
    """The run of the autotuner that this thread is in."""

    run: _LauncherTimes | None = None


class InductorBenchmarks:
    """Turns Inductor's measurements into benchmarks of the variants."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._current = _Current()

    def add_time(self, ms: Any, autotuner: Any, launcher: Any, *_: Any, **__: Any) -> None:
        """`CachingAutotuner.bench` has measured one launcher; a launch does not call it."""
        run = self._current.run
        if run is not None and isinstance(ms, int | float):
            run.times.append((launcher, float(ms)))

    def autotuned(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`CachingAutotuner.autotune_to_one_config`, which leaves one launcher."""

        @functools.wraps(original)
        def autotune(autotuner: Any, *args: Any, **kwargs: Any) -> Any:
            with self._run() as run:
                result = original(autotuner, *args, **kwargs)
            if _continues(autotuner):
                autotuner.irscope_tuning_run = run
            else:
                self._finish(autotuner, run, autotuner.launchers[0])
            return result

        return autotune

    def descended(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`CachingAutotuner.coordinate_descent_tuning`, which returns the launcher that it chose."""

        @functools.wraps(original)
        def descend(autotuner: Any, *args: Any, **kwargs: Any) -> Any:
            with self._run() as run:
                chosen = original(autotuner, *args, **kwargs)
            before = vars(autotuner).pop("irscope_tuning_run", _LauncherTimes())
            self._finish(autotuner, _LauncherTimes([*before.times, *run.times]), chosen)
            return chosen

        return descend

    @contextmanager
    def _run(self) -> Iterator[_LauncherTimes]:
        before, run = self._current.run, _LauncherTimes()
        self._current.run = run
        try:
            yield run
        finally:
            self._current.run = before

    @never_raises
    def _finish(self, autotuner: Any, run: _LauncherTimes, chosen: Any) -> None:
        """Send the times of a run, whose launchers name the entries of Triton's cache."""
        numbers = self._numbers(autotuner)
        key = _tuning_key(autotuner)
        for launcher, ms in run.times:
            number = numbers.get(getattr(launcher, "cache_hash", None) or "")
            if number is not None and math.isfinite(ms):
                benchmark = Benchmark(key, ms, ms, ms, launcher is chosen)
                self._recorder.send(BenchmarkRecorded(number, benchmark))
        if unmeasured := sum(not math.isfinite(ms) for _, ms in run.times):
            configs = pluralize(len(run.times), "config")
            text = f"{unmeasured} of {configs} not measured: Inductor skips those that spill or cannot launch"
            self._recorder.send(Note(f"{getattr(autotuner.fn, '__name__', 'a kernel')}: {text}"))

    def _numbers(self, autotuner: Any) -> Mapping[str, int]:
        """Map the recorded variants' entries in Triton's cache, by name, to the variants' numbers."""
        from torch._inductor.runtime.runtime_utils import triton_hash_to_path_key

        return {triton_hash_to_path_key(hash_): number for hash_, number in self._recorder.numbers().items()}

    @never_raises
    def add_choices(self, timings: Mapping[Any, float], name: str, inputs: Sequence[Any], *_: Any) -> None:
        """max-autotune has measured its choices for an operation: `timings` in ms by choice."""
        if not timings:
            return
        key = f"{name}({', '.join('x'.join(map(str, node.get_size())) for node in inputs)})"
        best = min(timings, key=lambda choice: timings[choice])
        measured = {choice: ms for choice, ms in timings.items() if math.isfinite(ms)}
        files = self._recorder.numbers_by_file()
        triton: dict[int, tuple[float, bool]] = {}
        for choice, ms in measured.items():
            path = getattr(getattr(choice, "bmreq", None), "module_path", None)
            if (number := files.get(path or "")) is not None:
                triton[number] = min(triton.get(number, (math.inf, False)), (ms, choice is best))
        for number, (ms, chosen) in triton.items():
            self._recorder.send(BenchmarkRecorded(number, Benchmark(key, ms, ms, ms, chosen)))
        if triton and getattr(getattr(best, "bmreq", None), "module_path", None) is None:
            fastest = min(ms for ms, _ in triton.values())
            text = f"max-autotune chose the library's {getattr(best, 'name', best)} ({timings[best]:.4g} ms)"
            kernels = f"the fastest of {pluralize(len(triton), 'Triton kernel')} took {fastest:.4g} ms"
            self._recorder.send(Note(f"{key}: {text}; {kernels}"))


def _continues(autotuner: Any) -> bool:
    """Return True if coordinate descent follows.

    It makes the final choice (`CachingAutotuner.run`).
    """
    found_by_descent = getattr(autotuner.launchers[0].config, "found_by_coordesc", False)
    return bool(autotuner.inductor_meta.get("coordinate_descent_tuning")) and not found_by_descent


def _tuning_key(autotuner: Any) -> str:
    """Return the sizes that the configs were measured for: "x=4096, r0_=1024"."""
    hints = getattr(autotuner, "size_hints", None)
    return ", ".join(f"{name}={size}" for name, size in hints.items()) if isinstance(hints, dict) else ""


_AUTOTUNER = "torch._inductor.runtime.triton_heuristics"
_CODE_CACHE = "torch._inductor.codecache"
_ASYNC_COMPILE = "torch._inductor.async_compile"
_COMPILE_FX = "torch._inductor.compile_fx"
_SCHEDULING = "torch._inductor.codegen.simd"
_SELECTOR = "torch._inductor.select_algorithm"

# Creates the replacement of a function from the function.
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@contextmanager
def _annotated(recorder: Recorder) -> Iterator[InductorGraphs]:
    """Add what Inductor says of the kernels that it generates within the block to their variants."""
    graphs = InductorGraphs()
    with ExitStack() as stack, recorder.with_frontend(graphs.generated):
        hooks, follow = _ImportHooks(stack), _GraphHooks(graphs)
        hooks.on(_COMPILE_FX, "compile_fx", _within(follow.compile_fx))
        hooks.on(_CODE_CACHE, "PyCodeCache.load_by_key_path", _within(follow.load_by_key_path))
        hooks.on(_ASYNC_COMPILE, "AsyncCompile.triton", _before(follow.triton))
        hooks.on(_SELECTOR, "AlgorithmSelectorCache.__call__", _before(follow.select))
        hooks.on(_SCHEDULING, "SIMDScheduling.generate_kernel_code_from_nodes", after(follow.generate))
        hooks.on(_AUTOTUNER, "check_autotune_cache", after(follow.check_autotune_cache))
        yield graphs


@contextmanager
def recorded_inductor(recorder: Recorder) -> Iterator[None]:
    """Record what Inductor generates within the block, and on a GPU what it loads and measures."""
    with ExitStack() as stack:
        graphs = stack.enter_context(_annotated(recorder))
        if recorder.options.target is not None:  # without a GPU, it compiles every kernel in this process
            yield
            return
        results, benchmarks = InductorResults(recorder, graphs), InductorBenchmarks(recorder)
        hooks = _ImportHooks(stack)

        def precompiled(_: None, autotuner: Any, *__: Any, **___: Any) -> None:
            results.record(autotuner)

        hooks.on(_AUTOTUNER, "CachingAutotuner.precompile", after(precompiled))
        hooks.on(_AUTOTUNER, "CachingAutotuner.bench", after(benchmarks.add_time))
        hooks.on(_AUTOTUNER, "CachingAutotuner.autotune_to_one_config", benchmarks.autotuned)
        hooks.on(_AUTOTUNER, "CachingAutotuner.coordinate_descent_tuning", benchmarks.descended)
        hooks.when_imported(_SELECTOR, lambda module: _save_feedback(module, benchmarks, stack))
        yield


class _ImportHooks:
    """Replaces functions of modules that may not be imported yet, until the stack is closed."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._open = stack, True
        stack.callback(self._close)

    def when_imported(self, module: str, action: Callable[[Any], None]) -> None:
        """Call `action` with the module, now or right after its import."""

        def act() -> None:
            if self._open:
                action(sys.modules[module])

        once_imported(module, act)

    def on(self, module: str, path: str, wrap: Wrap) -> None:
        """Replace the function at `path` ("Class.method") of a module, if this version of torch has it."""
        self.when_imported(module, lambda found: self._replace(found, path, wrap))

    @never_raises
    def _replace(self, module: Any, path: str, wrap: Wrap) -> None:
        *classes, name = path.split(".")
        owner = functools.reduce(lambda of, each: getattr(of, each, None), classes, module)
        before = vars(owner).get(name) if owner is not None else None
        if isinstance(before, classmethod):
            self._stack.enter_context(patched(owner, name, classmethod(wrap(before.__func__))))
        elif before is not None:
            self._stack.enter_context(patched(owner, name, wrap(before)))

    def _close(self) -> None:
        self._open = False


def _within(context: Callable[..., AbstractContextManager[None]]) -> Wrap:
    """Call the function within the context that `context` makes from its arguments."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            with context(*args, **kwargs):
                return original(*args, **kwargs)

        return call

    return wrap


def _before(action: Callable[..., None]) -> Wrap:
    """Call `action` with the function's arguments before the function."""

    def context(*args: Any, **kwargs: Any) -> AbstractContextManager[None]:
        action(*args, **kwargs)
        return nullcontext()

    return _within(context)


def after(action: Callable[..., None]) -> Wrap:
    """Call `action` with the function's result and arguments after the function."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            action(result, *args, **kwargs)
            return result

        return call

    return wrap


class _GraphHooks:
    """The hooks by which `graphs` follow Inductor; their parameters are those of Inductor's functions."""

    def __init__(self, graphs: InductorGraphs) -> None:
        self._graphs = graphs

    def compile_fx(self, model_: Any, *_: Any, **__: Any) -> AbstractContextManager[None]:
        """Inductor compiles a graph of the program."""
        return self._graphs.compiling(model_)

    def load_by_key_path(
        self, cls: Any, key: str, path: str, linemap: Any = None, attrs: Any = None, *_: Any, **__: Any
    ) -> AbstractContextManager[None]:
        """Load a module of Inductor's; only an output code has attributes."""
        return nullcontext() if attrs is None else self._graphs.loading(path, linemap or ())

    def triton(self, compiler: Any, kernel_name: str, source_code: str, *_: Any, **__: Any) -> None:
        """Return an output code creates a kernel."""
        self._graphs.add_kernel(kernel_name, source_code)

    def select(self, selector: Any, name: str, choices: Any, *_: Any, **__: Any) -> None:
        """max-autotune is about to measure its choices."""
        self._graphs.add_choices(choices)

    def generate(self, source: str, scheduling: Any, nodes: Any, *_: Any, **__: Any) -> None:
        """Inductor has generated the source of a kernel to be measured."""
        self._graphs.add_trial(source, nodes)

    def check_autotune_cache(self, result: Any, configs: Any, filename: Any, *_: Any, **__: Any) -> None:
        """Inductor's autotune cache has returned the configs to compile."""
        if len(result[0]) < len(configs):
            self._graphs.add_narrowed(filename, len(configs), result[0][0])


@never_raises
def _save_feedback(selector: Any, benchmarks: InductorBenchmarks, stack: ExitStack) -> None:
    """Has max-autotune report the times of its choices, until the stack is closed."""
    if not hasattr(selector, "add_feedback_saver"):
        return
    feedback = benchmarks.add_choices
    selector.add_feedback_saver(feedback)
    cache = getattr(selector, "get_algorithm_selector_cache", None)
    savers = getattr(cache() if cache else None, "feedback_saver_fns", None)
    if isinstance(savers, list):
        stack.callback(lambda: savers.remove(feedback) if feedback in savers else None)
