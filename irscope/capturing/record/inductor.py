"""Records the kernels that torch.compile loads from its caches on a GPU.

With cold caches, Inductor calls `triton.compile`, which triton_hooks.py sees. With warm ones (its cache of FX
graphs, of autotuning, worker processes), its autotuner receives finished results instead: they name the
entries of Triton's cache, which are read like those of `irscope import`.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from irscope.capturing.after_import import after_import
from irscope.capturing.importers.compilation import RawCompilation, assemble
from irscope.capturing.importers.find_source import PythonFiles
from irscope.capturing.importers.triton_folders import EntryFolder, read_cache_entry
from irscope.capturing.importers.untrusted import BadEntryError
from irscope.capturing.messages import Note
from irscope.capturing.record.recorder import Recorder
from irscope.toolchain.constants import plain_value
from irscope.toolchain.patching import never_raises, patched

_AUTOTUNER = "torch._inductor.runtime.triton_heuristics"


@contextmanager
def recorded_inductor(recorder: Recorder) -> Iterator[None]:
    """Records what Inductor's autotuners load within the block."""
    with ExitStack() as stack:

        def install() -> None:
            autotuner = sys.modules[_AUTOTUNER].CachingAutotuner
            precompile = _recording(autotuner.precompile, InductorResults(recorder))
            stack.enter_context(patched(autotuner, "precompile", precompile))

        if _AUTOTUNER in sys.modules:
            install()
        else:
            after_import((_AUTOTUNER,), install)
        yield


def _recording(original: Callable[..., None], results: InductorResults) -> Callable[..., None]:
    """`CachingAutotuner.precompile`, after which every config has a kernel."""

    @functools.wraps(original)
    def precompile(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        results.record(self)

    return precompile


class InductorResults:
    """Turns the results of Inductor's autotuners into variants."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._files = recorder, PythonFiles()

    @never_raises
    def record(self, autotuner: Any) -> None:
        """Records every kernel of an autotuner that was not compiled in this process."""
        for result in autotuner.compile_results:
            if self._recorder.is_recorded(result.kernel.hash):
                continue
            try:
                raw = _raw_compilation(result, autotuner)
                self._recorder.record_finished(assemble(raw, self._files))
            except BadEntryError as error:
                name = getattr(autotuner.fn, "__name__", "a kernel")
                self._recorder.send(Note(f"{name} of torch.compile is not captured: {error}"))


def _raw_compilation(result: Any, autotuner: Any) -> RawCompilation:
    """The entry of Triton's cache for a result, with the config that Inductor chose the constants from."""
    from torch._inductor.runtime.cache_dir_utils import triton_cache_dir
    from torch._inductor.runtime.runtime_utils import triton_hash_to_path_key

    folder = Path(triton_cache_dir(autotuner.device_props.index or 0))
    entry = _entry(folder / triton_hash_to_path_key(result.kernel.hash))
    stems = entry.stems()
    if len(stems) != 1:
        raise BadEntryError(f"{entry.path} is not an entry of Triton's cache")
    raw = read_cache_entry(entry, stems[0])
    constants = {**result.compile_meta.get("constants", {}), **result.config.kwargs}
    raw.constants = {name: plain_value(value) for name, value in constants.items() if isinstance(name, str)}
    return raw


def _entry(path: Path) -> EntryFolder:
    try:
        return EntryFolder(path, frozenset(os.listdir(path)))  # noqa: PTH208 - names, not paths
    except OSError as error:
        raise BadEntryError(f"{path}: {error.strerror}") from error
