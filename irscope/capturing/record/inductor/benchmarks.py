"""Records what Inductor measures: the configs of its autotuner, and the choices of max-autotune."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from irscope.capturing.messages import BenchmarkRecorded, Note
from irscope.capturing.record.recorder import Recorder
from irscope.model import Benchmark
from irscope.model.text import pluralize
from irscope.toolchain.patching import never_raises


@dataclass
class _TuningRun:
    """One run of an autotuner: the launchers that were measured, and their times in ms."""

    times: list[tuple[Any, float]] = field(default_factory=list)


class _Current(threading.local):
    """The run of the autotuner that this thread is in."""

    run: _TuningRun | None = None


class InductorBenchmarks:
    """Turns Inductor's measurements into benchmarks of the variants."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._current = _Current()

    def timed(self, bench: Callable[..., Any]) -> Callable[..., Any]:
        """`CachingAutotuner.bench`, which measures one launcher; a launch does not call it."""

        @functools.wraps(bench)
        def measure(autotuner: Any, launcher: Any, *args: Any, **kwargs: Any) -> Any:
            ms = bench(autotuner, launcher, *args, **kwargs)
            run = self._current.run
            if run is not None and isinstance(ms, int | float):
                run.times.append((launcher, float(ms)))
            return ms

        return measure

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
            before = vars(autotuner).pop("irscope_tuning_run", _TuningRun())
            self._finish(autotuner, _TuningRun([*before.times, *run.times]), chosen)
            return chosen

        return descend

    @contextmanager
    def _run(self) -> Iterator[_TuningRun]:
        before, run = self._current.run, _TuningRun()
        self._current.run = run
        try:
            yield run
        finally:
            self._current.run = before

    @never_raises
    def _finish(self, autotuner: Any, run: _TuningRun, chosen: Any) -> None:
        """Sends the times of a run, whose launchers name the entries of Triton's cache."""
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
        """The numbers of the recorded variants by the name of their entry in Triton's cache."""
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
    """Whether coordinate descent follows, which makes the final choice (`CachingAutotuner.run`)."""
    found = getattr(autotuner.launchers[0].config, "found_by_coordesc", False)
    return bool(autotuner.inductor_meta.get("coordinate_descent_tuning")) and not found


def _tuning_key(autotuner: Any) -> str:
    """The sizes that the configs were measured for: "x=4096, r0_=1024"."""
    hints = getattr(autotuner, "size_hints", None)
    return ", ".join(f"{name}={size}" for name, size in hints.items()) if isinstance(hints, dict) else ""
