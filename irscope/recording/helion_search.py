"""Helion's autotuner: which configs it would measure first without a GPU, and its benchmarks on one."""

from __future__ import annotations

import functools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from irscope.compiling.messages import BenchmarkRecorded, Note
from irscope.compiling.toolchain.patching import never_raises, patched, variable_set
from irscope.model import Benchmark
from irscope.model.text import pluralize
from irscope.recording.recorder import Recorder
from irscope.recording.subprocesses import uncaptured_subprocesses

# Helion's autotuner has Triton keep only the binaries of what it compiles, unless this is set.
_BINARY_ONLY = "TRITON_STORE_BINARY_ONLY"
_DEFAULT_SEED = 0


@contextmanager
def simulated_search(recorder: Recorder) -> Iterator[None]:
    """Without a GPU, Helion's autotuner launches the configs that it would measure first.

    It picks the first that compiles. It neither measures them nor reads or writes its cache, where results of
    a real GPU may be.
    """
    from helion.autotuner.base_cache import AutotuneCacheBase
    from helion.autotuner.base_search import BaseSearch

    _ensure_device_guard()

    def autotune(self: Any, **options: Any) -> Any:
        return _launch_first_configs(self, recorder)

    def autotune_uncached(self: Any, **options: Any) -> Any:
        return self.autotuner.autotune()

    with patched(BaseSearch, "autotune", autotune), patched(AutotuneCacheBase, "autotune", autotune_uncached):
        yield


def _ensure_device_guard() -> None:
    """Lets torch's C++ code trace CUDA tensors: Helion traces more with them than their shapes."""
    from irscope.compiling.fake_cuda.device_guard import UnsupportedTorchError, ensure_device_guard

    with suppress(UnsupportedTorchError):
        ensure_device_guard()


def _launch_first_configs(search: Any, recorder: Recorder) -> Any:
    """Launch a kernel of Helion under the first configs of a search; returns the first that compiles."""
    configs, total = first_configs(search, recorder.options.configs)
    name = search.kernel.kernel.name
    compiled, failures = [], Counter[str]()
    for config in configs:
        problem = _launch(search, config)
        failures.update([problem] if problem else [])
        compiled += [] if problem else [config]
    if not compiled:
        from helion.exc import NoConfigFound

        raise NoConfigFound
    if len(configs) < total:
        limit = f"{len(configs)} of the {total} configs that Helion's autotuner would measure first"
        recorder.send(Note(f"{name}: {limit} were compiled; --configs N compiles N"))
        recorder.add_version(f"configs of {name}", f"{len(configs)} of the first {total}")
    _note_failures(recorder, name, failures)
    return compiled[0]


def _launch(search: Any, config: Any) -> str:
    """Launch a kernel under a config; returns what Helion raised, "" if nothing."""
    try:
        for bound, args in _cases(search):
            bound.compile_config(config, allow_print=False)(*args)
    except Exception as error:  # noqa: BLE001 - Helion skips a config that fails, whatever it raises
        return type(error).__name__
    return ""


def _cases(search: Any) -> list[tuple[Any, Any]]:
    """Return the bound kernels and arguments that a search measures.

    There are several in `Kernel.autotune_multi`.
    """
    return list(getattr(search.args, "cases", [(search.kernel, search.args)]))


def first_configs(search: Any, most: int) -> tuple[list[Any], int]:
    """At most `most` of the configs that a search of Helion measures first, and how many these are in all.

    Configs that the program lists itself are never left out.
    """
    if search.kernel.configs and getattr(search, "configs", None) == list(search.kernel.configs):
        return list(search.configs), len(search.configs)
    population = _initial_population(search)
    unique = dict.fromkeys(population)
    first = list(islice(unique, most))
    if hasattr(search, "_apply_config_filter"):  # from 1.1 on
        first, _ = search._apply_config_filter(first)
    return first, len(unique)


def _initial_population(search: Any) -> list[Any]:
    """Return the configs of the first generation of a search; the random ones never vary."""
    state = random.getstate()
    seeded = "HELION_AUTOTUNE_RANDOM_SEED" in os.environ
    random.seed(search.settings.autotune_random_seed if seeded else _DEFAULT_SEED)
    try:
        if hasattr(search, "configs"):
            return list(search.configs)
        if hasattr(search, "_generate_initial_population_flat"):
            return [search.config_gen.unflatten(flat) for flat in search._generate_initial_population_flat()]
        return [search.config_spec.default_config()]
    finally:
        random.setstate(state)


def _note_failures(recorder: Recorder, name: str, failures: Counter[str]) -> None:
    if failures:
        reasons = ", ".join(f"{number} {reason}" for reason, number in failures.items())
        configs = pluralize(failures.total(), "config")
        recorder.send(Note(f"{name}: not captured: {configs} that failed in Helion's autotuner: {reasons}"))


@contextmanager
def captured_search(recorder: Recorder) -> Iterator[None]:
    """On a GPU, records every config that Helion's autotuner measures, with its time, and the chosen one.

    Helion compiles and measures in processes of its own, which leave the kernels in Triton's cache; this
    process loads them from there after each batch of measurements.
    """
    from helion.autotuner.base_search import BaseSearch

    def autotune(self: Any, **options: Any) -> Any:
        self.irscope_tuning = tuning = _Tuning(recorder)
        with variable_set(_BINARY_ONLY, os.environ.get(_BINARY_ONLY, "0")), uncaptured_subprocesses():
            best = original_autotune(self, **options)
        tuning.end(self, best)
        return best

    def benchmark_batch(self: Any, *args: Any, **options: Any) -> Any:
        results = original_batch(self, *args, **options)
        if (tuning := getattr(self, "irscope_tuning", None)) is not None:
            tuning.add(self, results)
        return results

    original_autotune, original_batch = BaseSearch.autotune, BaseSearch.benchmark_batch
    autotune = functools.wraps(original_autotune)(autotune)
    benchmark_batch = functools.wraps(original_batch)(benchmark_batch)
    with patched(BaseSearch, "autotune", autotune), patched(BaseSearch, "benchmark_batch", benchmark_batch):
        yield


@dataclass
class _Tuning:
    """A run of Helion's autotuner; `measured` has each config and its time in ms by the variant's number."""

    recorder: Recorder
    measured: dict[int, tuple[Any, float]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)

    @never_raises
    def add(self, search: Any, results: list[Any]) -> None:
        """Record that the search has measured a batch of configs."""
        for result in results:
            if result.status != "ok":
                self.failures[result.status] += 1
            elif (number := self._number(search, result)) is not None:
                self.measured[number] = (result.config, result.perf)

    @never_raises
    def _number(self, search: Any, result: Any) -> int | None:
        """Return the number of the variant of a config, loaded from Triton's cache."""
        bound, args = _cases(search)[0]
        kernel = _compiled_kernel(bound.compile_config(result.config, allow_print=False), args)
        recorded = None if kernel is None else self.recorder.by_kernel.get(kernel)
        return None if recorded is None else recorded.number

    @never_raises
    def end(self, search: Any, best: Any) -> None:
        """Record that the search has chosen a config."""
        key = _tuning_key(_cases(search)[0][1])
        for number, (config, ms) in self.measured.items():
            benchmark = Benchmark(key, ms, ms, ms, chosen=config == best)
            self.recorder.send(BenchmarkRecorded(number, benchmark))
        _note_failures(self.recorder, search.kernel.kernel.name, self.failures)


class _LaunchReachedError(Exception):
    """Ends a host function of Helion at its first launch; `kernel` is the compiled kernel."""

    def __init__(self, kernel: Any) -> None:
        super().__init__()
        self.kernel = kernel


@dataclass(frozen=True)
class _CompileOnly:
    """A JITFunction that is compiled where Helion would launch it."""

    function: Any

    def run(self, *args: Any, **options: Any) -> Any:
        """`JITFunction.run`, which launches nothing."""
        return self.function.run(*args, **{**options, "warmup": True})


def _compiled_kernel(host: Callable[..., Any], args: Any) -> Any:
    """Compile the Triton kernel that a host function of Helion launches first, without launching it."""
    from helion.runtime import default_launcher

    def launcher(kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        raise _LaunchReachedError(default_launcher(_CompileOnly(kernel), grid, *arguments, **options))

    try:
        host(*args, _launcher=launcher)
    except _LaunchReachedError as launch:
        return launch.kernel
    return None


def _tuning_key(args: Any) -> str:
    """Describe the arguments that a config was tuned for: "float16[512, 1024], float16[1024, 256]"."""
    from irscope.recording.launch_records import described

    return ", ".join(map(described, args))
