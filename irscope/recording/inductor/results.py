"""Records the kernels that Inductor loads from its caches instead of compiling them in this process.

With cold caches, Inductor calls `triton.compile`, which triton_hooks.py sees. With warm ones (its cache of FX
graphs, of autotuning, worker processes), its autotuner receives finished results instead: they name the
entries of Triton's cache, which are read like those of `irscope import`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from irscope.compiling.constexpr_values import plain_value
from irscope.compiling.messages import Note
from irscope.compiling.toolchain.patching import never_raises
from irscope.recording.importers.compilation import ImportedCompilation, RawCompilation, assemble
from irscope.recording.importers.find_source import PythonFiles, functions_in
from irscope.recording.importers.triton_folders import EntryFolder, read_cache_entry
from irscope.recording.importers.untrusted import BadEntryError
from irscope.recording.inductor.graphs import GeneratedKernel, InductorGraphs, generated
from irscope.recording.recorder import Recorder


class InductorResults:
    """Turns the results of Inductor's autotuners into variants."""

    def __init__(self, recorder: Recorder, graphs: InductorGraphs) -> None:
        self._recorder, self._graphs, self._files = recorder, graphs, PythonFiles()

    @never_raises
    def record(self, autotuner: Any) -> None:
        """Record every kernel of an autotuner that was not compiled in this process."""
        for result in autotuner.compile_results:
            if self._recorder.is_recorded(result.kernel.hash):
                continue
            try:
                self._recorder.record_finished(*self._imported(result, autotuner))
            except BadEntryError as error:
                name = getattr(autotuner.fn, "__name__", "a kernel")
                self._recorder.send(Note(f"{name} of torch.compile is not captured: {error}"))

    def _imported(self, result: Any, autotuner: Any) -> tuple[ImportedCompilation, Mapping[str, str]]:
        file = str(getattr(autotuner, "filename", None) or "")
        kernel = self._graphs.of_autotuner(autotuner)
        raw = _raw_compilation(result, autotuner)
        if kernel is not None and file and not Path(file).is_file():
            raw = _with_function(raw, kernel, file)
        compilation = assemble(raw, self._files)
        if kernel is None:
            return compilation, {}
        info = getattr(autotuner, "autotune_cache_info", None) or {}
        if kernel.configs is None and info.get("autotune_cache_state") == "hit":
            # A worker process narrowed the configs; it does not say how many there were.
            kernel = replace(kernel, origin=replace(kernel.origin, configs=0))
        of_kernel = generated(kernel, compilation.source.text or kernel.source)
        return replace(compilation, new=of_kernel.complete(compilation.new)), of_kernel.files


def _raw_compilation(result: Any, autotuner: Any) -> RawCompilation:
    """Read the entry of Triton's cache for a result.

    Its constants are those of the config that Inductor chose.
    """
    from torch._inductor.runtime.cache_dir_utils import triton_cache_dir
    from torch._inductor.runtime.runtime_utils import triton_hash_to_path_key

    folder = Path(triton_cache_dir(autotuner.device_props.index or 0))
    entry = _entry(folder / triton_hash_to_path_key(result.kernel.hash))
    stems = entry.stems()
    if len(stems) != 1:
        raise BadEntryError(f"{entry.path} is not an entry of Triton's cache")
    raw = read_cache_entry(entry, stems[0])
    constants = {**result.compile_meta.get("constants", {}), **result.config.kwargs}
    plain = {name: plain_value(value) for name, value in constants.items() if isinstance(name, str)}
    return replace(raw, constants=plain)


def _with_function(raw: RawCompilation, kernel: GeneratedKernel, file: str) -> RawCompilation:
    """Return the compilation with its function, whose file Inductor did not write to this machine."""
    functions = (f for f in functions_in(kernel.source, file) if f.source.name == raw.name)
    return replace(raw, function=next(functions, None))


def _entry(path: Path) -> EntryFolder:
    try:
        return EntryFolder(path, frozenset(os.listdir(path)))  # noqa: PTH208 - names, not paths
    except OSError as error:
        raise BadEntryError(f"{path}: {error.strerror}") from error
