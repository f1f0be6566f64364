"""Turns the events of a process into cold starts, and explains each by the warm folder's manifest."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from irscope.model.text import pluralize
from irscope.toolchain.process_hooks import LOG, Benchmarked, Built, Compiled, Event
from irscope.warming.cold_start import ColdStart, Kind
from irscope.warming.inductor_counters import GRAPHS, inductor_counts
from irscope.warming.manifest import Manifest, read_manifest

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
        """The cold starts so far, in the order in which they were noticed."""
        with self._lock:
            return tuple(self._cold)

    def observe(self, event: Event) -> None:
        """Adds what an event says."""
        if isinstance(event, Benchmarked):
            self._add_benchmark(event)
        elif isinstance(event, Built):
            self._add(ColdStart("build", event.name, event.seconds, missing=self._why_built(event.name)))
        elif not event.hit:
            self._add(self._compilation(event))

    def finish(self) -> None:
        """Adds what Inductor counted."""
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

    def _add_benchmark(self, event: Benchmarked) -> None:
        """One cold start per tuning run, with the configs that were measured so far."""
        run = (event.kernel, _key_text(event))
        with self._lock:
            index = self._tunings.get(run)
            if index is not None:
                known = self._cold[index]
                seconds = known.seconds + event.seconds
                self._cold[index] = replace(known, seconds=seconds, count=known.count + 1)
                return
        missing = _why_benchmarked(event, self.folder)
        self._tunings[run] = self._add(
            ColdStart("benchmark", event.kernel, event.seconds, run[1], missing=missing)
        )

    def _compilation(self, event: Compiled) -> ColdStart:
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

    def _explained(self, cold: ColdStart, event: Compiled) -> ColdStart:
        # Imported only now: a process that compiles nothing does not pay for it.
        from irscope.warming.nearest_entry import (
            arguments_text,
            entry_text,
            missing_text,
            nearest_entry,
            requested_variant,
        )

        variant = requested_variant(event)
        cold = replace(cold, arguments=arguments_text(variant))
        if event.error is not None:
            return replace(cold, missing=_error_text(event.error))
        manifest = self._manifest
        if manifest is None:
            return replace(cold, missing=f"{self.folder} has no manifest: build it with irscope warm")
        entry = nearest_entry(variant, manifest)
        missing = missing_text(variant, entry, manifest)
        return replace(cold, missing=missing, nearest="" if entry is None else entry_text(entry))

    def _why_built(self, name: str) -> str:
        """Why Triton found no shared object; its keys have library folders and the Python version."""
        stubs = [stub for stub in self._manifest.stubs if stub.name == name] if self._manifest else []
        if not stubs:
            return f"{self.folder} has none"
        return "the folder has it for other libraries, another Python or Triton: see irscope warm --verify"

    @functools.cached_property
    def _manifest(self) -> Manifest | None:
        return read_manifest(self.folder)


def _error_text(error: BaseException) -> str:
    from irscope.capturing.compile.worker import failure_of

    failure = failure_of(error)
    return f"{failure.kind}: {failure.summary}"


def _key_text(event: Benchmarked) -> str:
    """A tuning key: "M=512, N=64, torch.float16"."""
    values = [f"{name}={value}" for name, value in zip(event.names, event.key, strict=False)]
    return ", ".join([*values, *map(str, event.key[len(event.names) :])])


def _why_benchmarked(event: Benchmarked, folder: Path) -> str:
    """Why Triton found no tuning result in the folder (Autotuner.check_disk_cache, 3.6 to 3.9)."""
    if not event.reads_results:
        return "Triton reads no tuning results: set TRITON_CACHE_AUTOTUNING=1 before the kernels are imported"
    if event.has_hooks or not event.key:
        unkept = "configs with a pre_hook" if event.key else "an empty key"
        return f"Triton keeps no tuning results of {unkept}"
    keys = _pinned_keys(folder, event.kernel)
    if not keys:
        return "the folder has no tuning result of this kernel"
    wanted = [str(value) for value in event.key]
    if wanted in keys:
        return "the folder has a result for this key, but for another source, environment or set of configs"
    best = min(keys, key=lambda key: (len(key) != len(wanted), _differing(key, wanted)))
    return f"no tuning result has this key; nearest of {pluralize(len(keys), 'key')}: {', '.join(best)}"


def _differing(a: list[str], b: list[str]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=False))


def _pinned_keys(folder: Path, kernel: str) -> list[list[str]]:
    """The tuning keys of the kernel in the autotune files of a cache folder; skips damaged files."""
    found = []
    for file in sorted(folder.glob(f"*/{kernel[:150]}.autotune.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            found.append([str(value) for value in json.loads(file.read_bytes())["key"]])
    return found
