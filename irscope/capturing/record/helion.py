"""Records the kernels that Helion generates: the function and config that each came from.

Helion writes a Python file with a Triton kernel per config and imports it, so the file identifies the config.
Its autotuner compiles and measures configs in processes of its own; those are not captured, the kernels that
they compiled are (see helion_search.py).
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from irscope.capturing.record.helion_search import captured_search, simulated_search
from irscope.capturing.record.recorder import Generated, Recorder
from irscope.capturing.record.requested_config import SourceConfig
from irscope.frontends import HELION
from irscope.toolchain.helion_source import HelionSource, helion_source
from irscope.toolchain.patching import never_raises, patched


@contextmanager
def recorded_helion(recorder: Recorder) -> Iterator[None]:
    """Records Helion's kernels within the block; call it when `helion` is imported.

    On a GPU, the benchmarks of its autotuner are recorded too. Without one, the configs that the autotuner
    would measure first are compiled.
    """
    from helion.runtime.kernel import BoundKernel

    generated = GeneratedKernels()
    recorder.add_version("helion", _helion_version())
    search = captured_search if recorder.options.target is None else simulated_search
    with ExitStack() as stack:
        recording = _recording(BoundKernel.compile_config, generated)
        stack.enter_context(recorder.with_frontend(generated.of))
        stack.enter_context(patched(BoundKernel, "compile_config", recording))
        stack.enter_context(search(recorder))
        yield


def _helion_version() -> str:
    try:
        return importlib.metadata.version("helion")
    except importlib.metadata.PackageNotFoundError:  # a checkout of its repository
        return "unknown"


def _recording(original: Callable[..., Any], generated: GeneratedKernels) -> Callable[..., Any]:
    """`BoundKernel.compile_config`, which returns the host function of the generated file."""

    @functools.wraps(original)
    def compile_config(self: Any, config: Any = None, **options: Any) -> Any:
        compiled = original(self, config, **options)
        generated.add(self, config, compiled)
        return compiled

    return compile_config


class GeneratedKernels:
    """The sources of the files that Helion has generated, by path."""

    def __init__(self) -> None:
        self._sources: dict[str, HelionSource] = {}

    @never_raises
    def add(self, bound: Any, config: Any, compiled: Any) -> None:
        """A bound kernel was compiled under a config (None: its only one) to a function of a new file."""
        file = compiled.__code__.co_filename
        if file not in self._sources:
            used = config if config is not None else bound._require_implicit_config()
            self._sources[file] = helion_source(bound, used)

    def of(self, function: Any) -> Generated | None:
        """The function and config that a kernel (a JITFunction) came from; None if Helion did not make it."""
        source = self._sources.get(function.fn.__code__.co_filename)
        if source is None:
            return None
        config = SourceConfig(source.config, source.constants, source.text)
        return Generated({HELION.stages[0].name: source.text}, config=config)
