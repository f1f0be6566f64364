"""Turns the events of a process into cold starts, and explains each by the warm folder's manifest.

A compilation is compared with the nearest entry of its kernel: the parts of the cache key that differ are the
reason. Inductor compiles in worker processes, where Triton's listener of this process hears nothing; its
own counters (`torch._dynamo.utils.counters["inductor"]` of torch 2.11 to 2.13) say how often it compiled a
graph or measured. Imports no torch: without it, all counts are zero.
"""

from __future__ import annotations

import functools
import json
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from irscope.compiling.kernels import called_functions, source_function
from irscope.compiling.toolchain.process_hooks import (
    LOG,
    Event,
    TritonBenchmark,
    TritonBuild,
    TritonCompilation,
)
from irscope.compiling.toolchain.requested_config import (
    TunedNames,
    requested_config,
    requested_target,
    specialization,
)
from irscope.compiling.toolchain.triton_cache import cache_key
from irscope.findings.cache_key_diff import recompilation
from irscope.jobs.warm.cache_folder import file_stem
from irscope.jobs.warm.expecting import ColdStart, Kind
from irscope.jobs.warm.manifest import Manifest, WarmEntry, read_manifest, text_digest
from irscope.model import Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.model.text import pluralize
from irscope.targets import parse_target

_MAX_REASONS = 3


def requested_variant(event: TritonCompilation) -> Variant:
    """Return the compilation that a program requested, with each component of its cache key.

    It has no artifacts.
    """
    source, options, function = event.source, event.options, event.source.fn
    kernel = Kernel(
        0,
        source.name,
        source_function(function),
        tuple(source_function(helper) for helper in called_functions(function)),
        tuple(parameter.name for parameter in function.params),
    )
    tuned = TunedNames()
    return Variant(
        0,
        kernel,
        requested_target(event.target),
        specialization(source, options, tuned, None),
        requested_config(source, options, event.target, tuned, None),
        Toolchain(0, {"triton": event.version}, ""),
        cache_key=cache_key(source, event.target, options),
    )


def missing_text(cold: Variant, entry: WarmEntry | None, manifest: Manifest) -> str:
    """Return the components of a request that differ from the nearest entry, or why none exists."""
    if entry is None:
        kernels = {item.kernel for item in manifest.entries}
        entries = pluralize(len(manifest.entries), "entry")
        return f"no entry of this kernel among the {entries} of {pluralize(len(kernels), 'kernel')}"
    # Manifests have the values of the key only.
    requested = replace(cold, specialization=(), config=Config())
    stored = replace(
        requested,
        kernel=_stored_kernel(entry, cold.kernel, manifest),
        target=parse_target(entry.target),
        toolchain=Toolchain(0, manifest.versions, ""),
        cache_key=entry.components,
    )
    reasons = [item.text for item in recompilation(stored, requested).reasons]
    if not reasons:
        return "nothing: Triton could not use its files, see irscope warm --verify"
    more = len(reasons) - _MAX_REASONS
    rest = f" and {pluralize(more, 'more difference')}" if more > 0 else ""
    return f"{', '.join(reasons[:_MAX_REASONS])}{rest}"


def _stored_kernel(entry: WarmEntry, kernel: Kernel, manifest: Manifest) -> Kernel:
    """Return the entry's kernel.

    The manifest has digests of its functions, so text that differs is unknown.
    """
    stored = {function.name: function for function in map(manifest.sources.__getitem__, entry.sources)}

    def as_stored(function: SourceFunction) -> SourceFunction:
        same = stored[function.name]
        is_equal = text_digest(function.text) == same.digest
        text = function.text if is_equal else f"# another text: {same.digest}"
        return replace(function, file=same.file, line=same.line, text=text)

    helpers = tuple(as_stored(function) for function in kernel.helpers if function.name in stored)
    source = as_stored(kernel.source) if kernel.source.name in stored else kernel.source
    return replace(kernel, source=source, helpers=helpers)


GRAPHS, MEASUREMENTS = "Inductor's graph compiler", "Inductor's benchmark"
_MISSES = ("fxgraph_cache_miss", "fxgraph_cache_bypass")
_BENCHMARKS = "benchmarking."


def inductor_counts() -> dict[str, int]:
    """Return the compiled graphs and measurements so far, by the names GRAPHS and MEASUREMENTS."""
    module = sys.modules.get("torch._dynamo.utils")
    counters: Mapping[str, int] = getattr(module, "counters", {}).get("inductor", {})
    counts = dict(counters)
    # One measurement passes several functions, each of which has a counter.
    measured = max((n for name, n in counts.items() if name.startswith(_BENCHMARKS)), default=0)
    return {GRAPHS: sum(counts.get(name, 0) for name in _MISSES), MEASUREMENTS: measured}


# A tuning run: the kernel, and the tuning key as text.
_Tuning = tuple[str, str]


class Collector:
    """Collects cold starts from any thread; `report` is called with each when it is first noticed.

    `folder` is the warm folder. `graphs` are Inductor's counts at the start.
    """

    def __init__(
        self, folder: Path, report: Callable[[ColdStart], object], graphs: Mapping[str, int] | None = None
    ) -> None:
        self.folder = folder
        self._report = report
        self._lock = threading.Lock()
        self._cold: list[ColdStart] = []
        self._tunings: dict[_Tuning, int] = {}
        self._graphs = inductor_counts() if graphs is None else graphs

    @property
    def cold(self) -> tuple[ColdStart, ...]:
        """Return the cold starts so far, in the order in which they were noticed."""
        with self._lock:
            return tuple(self._cold)

    def observe(self, event: Event) -> None:
        """Add what an event says."""
        if isinstance(event, TritonBenchmark):
            self._add_benchmark(event)
        elif isinstance(event, TritonBuild):
            self._add(ColdStart("build", event.name, event.seconds, missing=self._why_built(event.name)))
        elif not event.hit:
            self._add(self._compilation(event))

    def finish(self) -> None:
        """Add what Inductor counted."""
        for name, count in inductor_counts().items():
            if (more := count - self._graphs.get(name, 0)) > 0:
                remedy = "fill TORCHINDUCTOR_CACHE_DIR on the GPU" if name == GRAPHS else ""
                self._add(ColdStart("graph", name, 0.0, missing=remedy, count=more))

    def _add(self, cold: ColdStart) -> int:
        with self._lock:
            self._cold.append(cold)
            index = len(self._cold) - 1
        self._report(cold)
        return index

    def _add_benchmark(self, event: TritonBenchmark) -> None:
        """Add one cold start per tuning run, with the configs that were measured so far."""
        run = (event.kernel, _key_text(event))
        with self._lock:
            index = self._tunings.get(run)
            if index is not None:
                earlier = self._cold[index]
                seconds = earlier.seconds + event.seconds
                self._cold[index] = replace(earlier, seconds=seconds, count=earlier.count + 1)
                return
        missing = _why_benchmarked(event, self.folder)
        self._tunings[run] = self._add(
            ColdStart("benchmark", event.kernel, event.seconds, run[1], missing=missing)
        )

    def _compilation(self, event: TritonCompilation) -> ColdStart:
        name = str(getattr(event.source, "name", "a kernel"))
        kind: Kind = "compilation" if event.error is None else "failure"
        cold = ColdStart(kind, name, event.seconds, hash=event.hash)
        if event.options is None or not hasattr(event.source, "fn"):
            return replace(cold, missing="compiled from IR or with unknown options; no entry has its key")
        try:
            return self._explained(cold, event)
        except Exception as error:  # noqa: BLE001 - the compilation is reported even if it cannot be explained
            LOG.debug("irscope: cannot explain a compilation", exc_info=True)
            return replace(cold, missing=f"cannot be explained ({type(error).__name__}: {error})")

    def _explained(self, cold: ColdStart, event: TritonCompilation) -> ColdStart:
        variant = requested_variant(event)
        arguments = [f"{argument.name}={argument}" for argument in variant.specialization]
        cold = replace(cold, arguments=", ".join(filter(None, [*arguments, str(variant.config)])))
        if event.error is not None:
            from irscope.compiling.worker import failure_of

            failure = failure_of(event.error)
            return replace(cold, missing=f"{failure.kind}: {failure.summary}")
        manifest = self._manifest
        if manifest is None:
            return replace(cold, missing=f"{self.folder} has no manifest: build it with irscope warm")

        def distance(entry: WarmEntry) -> int:
            ours, theirs = entry.components, variant.cache_key
            return sum(ours.get(name) != theirs.get(name) for name in ours.keys() | theirs.keys())

        entries = [entry for entry in manifest.entries if entry.kernel == variant.kernel.name]
        entry = min(entries, key=distance, default=None)
        cold = replace(cold, missing=missing_text(variant, entry, manifest))
        if entry is None:
            return cold
        programs = f" of {', '.join(entry.inputs)}" if entry.inputs else ""
        return replace(cold, nearest=f"entry {entry.folder[:12]}{programs}")

    def _why_built(self, name: str) -> str:
        """Return why Triton found no shared object; its keys have library folders and the Python version."""
        if not any(stub.name == name for stub in (self._manifest.stubs if self._manifest else ())):
            return f"{self.folder} has none"
        return "the folder has it for other libraries, another Python or Triton: see irscope warm --verify"

    @functools.cached_property
    def _manifest(self) -> Manifest | None:
        return read_manifest(self.folder)


def _key_text(event: TritonBenchmark) -> str:
    """Return a tuning key: "M=512, N=64, torch.float16"."""
    values = [f"{name}={value}" for name, value in zip(event.names, event.key, strict=False)]
    return ", ".join([*values, *map(str, event.key[len(event.names) :])])


def _why_benchmarked(event: TritonBenchmark, folder: Path) -> str:
    """Return why Triton found no tuning result in the folder.

    See Autotuner.check_disk_cache, 3.6 to 3.9.
    """
    if not event.reads_results:
        return "Triton reads no tuning results: set TRITON_CACHE_AUTOTUNING=1 before the kernels are imported"
    if event.has_hooks or not event.key:
        unkept = "configs with a pre_hook" if event.key else "an empty key"
        return f"Triton keeps no tuning results of {unkept}"
    keys: list[list[str]] = []
    for file in sorted(folder.glob(f"*/{file_stem(event.kernel)}.autotune.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):  # it is damaged
            keys.append([str(value) for value in json.loads(file.read_bytes())["key"]])
    if not keys:
        return "the folder has no tuning result of this kernel"
    requested = [str(value) for value in event.key]
    if requested in keys:
        return "the folder has a result for this key, but for another source, environment or set of configs"

    def distance(key: list[str]) -> tuple[bool, int]:
        differing = sum(a != b for a, b in zip(key, requested, strict=False))
        return len(key) != len(requested), differing

    nearest = min(keys, key=distance)
    return f"no tuning result has this key; nearest of {pluralize(len(keys), 'key')}: {', '.join(nearest)}"
