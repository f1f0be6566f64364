"""Recording on a GPU: the program runs as always, and tells of what it compiles, launches and tunes.

Nothing here is on the path of a launch that compiles nothing.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

from irscope.capture.compiler import cache_key, plain_metadata
from irscope.capture.running.hooks import compiling_through
from irscope.capture.running.launches import launch_of
from irscope.capture.running.messages import LaunchSeen, VariantDone
from irscope.capture.running.patching import harmless, replaced
from irscope.capture.running.recorder import Recorded, Recorder, Tuning
from irscope.capture.running.tuning import watching_tuning
from irscope.capture.worker import failure_of


class Watching:
    """Tells of each compilation as it is done, and of the first launch of each."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told = threading.local()
        self._unlaunched: WeakSet[Any] = WeakSet()
        self._listener_before: Callable[..., None] | None = None

    def on_jit(
        self, source: Any, target: Any, options: Any, tuning: Tuning, compile_: Callable[[], Any]
    ) -> Any:
        """The JIT's compilation, of whose first launch is told too."""
        kernel = self.on_direct(source, target, options, tuning, compile_)
        self._unlaunched.add(kernel)
        return kernel

    def on_direct(
        self, source: Any, target: Any, options: Any, tuning: Tuning, compile_: Callable[[], Any]
    ) -> Any:
        """Compiles as always, and tells of it."""
        recorded = self._record(source, target, options, tuning)
        self._listen_too()
        self._told.times = None
        try:
            kernel = compile_()
        except Exception as error:
            self._failed(recorded, error)
            raise
        self._compiled(recorded, kernel)
        return kernel

    @harmless
    def _listen_too(self) -> None:
        """Listens to Triton's compile times after whoever listens already, also one that took our place."""
        from triton import knobs

        if knobs.compilation.listener is not self._listener:
            self._listener_before = knobs.compilation.listener
            knobs.compilation.listener = self._listener

    @functools.cached_property
    def _listener(self) -> Callable[..., None]:
        def listen(**told: Any) -> None:
            if getattr(self._told, "inside", False):
                return  # the one before us calls us in turn: it took our place and chained us
            self._told.inside = True
            try:
                if self._listener_before is not None:
                    self._listener_before(**told)
            finally:
                self._told.inside = False
            self._told.times = (told["times"], told["cache_hit"])

        return listen

    def stop_listening(self) -> None:
        """Leaves the one that listened before us, where nobody took our place."""
        from triton import knobs

        if knobs.compilation.listener is self._listener:
            knobs.compilation.listener = self._listener_before

    @harmless
    def _record(self, source: Any, target: Any, options: Any, tuning: Tuning) -> Recorded | None:
        from triton.compiler import make_backend
        from triton.runtime import driver

        if not hasattr(source, "fn"):  # a file of IR, which is no kernel of the program's
            return None
        target = target or driver.active.get_current_target()
        parsed = make_backend(target).parse_options(dict(options or {}))
        recorded: Recorded | None = self._recorder.record(source, parsed, target, tuning)[0]
        return recorded

    @harmless
    def _compiled(self, recorded: Recorded | None, kernel: Any) -> None:
        if recorded is None:
            return
        self._recorder.by_kernel[kernel] = recorded
        if recorded.told:
            return
        recorded.told = True
        times, cached = self._told.times or (None, False)
        stages = times.lowering_stages if times is not None and not cached else ()
        variant = replace(
            recorded.variant,
            metadata=plain_metadata(kernel.metadata),
            seconds={name: microseconds / 1e6 for name, microseconds in stages},
            cache_key=cache_key(recorded.source, recorded.target, recorded.options),
            cached=cached,
        )
        files = {
            Path(name).suffix[1:]: str(path)
            for name, path in kernel.metadata_group.items()
            if not name.endswith(".json")
        }
        self._recorder.send(VariantDone(recorded.number, recorded.kernel, variant, files))

    @harmless
    def _failed(self, recorded: Recorded | None, error: Exception) -> None:
        if recorded is not None and not recorded.told:
            recorded.told = True
            variant = replace(recorded.variant, failure=failure_of(error))
            self._recorder.send(VariantDone(recorded.number, recorded.kernel, variant))

    def after_loading(self, init_handles: Callable[[Any], None]) -> Callable[[Any], None]:
        """Triton's loading of a kernel, after which the first launch is told of, and no other."""

        @functools.wraps(init_handles)
        def loaded(kernel: Any) -> None:
            init_handles(kernel)
            recorded = self._recorder.by_kernel.get(kernel)
            if recorded is not None and kernel in self._unlaunched and kernel._run is not None:
                self._unlaunched.discard(kernel)
                kernel._run = self._first_launch(kernel, kernel._run, recorded)

        return loaded

    def _first_launch(self, kernel: Any, run: Callable[..., Any], recorded: Recorded) -> Callable[..., Any]:
        def launch(*given: Any) -> Any:
            kernel._run = run
            self._launched(recorded, given)
            return run(*given)

        return launch

    @harmless
    def _launched(self, recorded: Recorded, given: tuple[Any, ...]) -> None:
        self._recorder.send(LaunchSeen(recorded.number, launch_of(recorded.source.fn, given)))


@contextmanager
def recording_on_gpu(recorder: Recorder) -> Iterator[None]:
    """Everything that is compiled, launched and tuned inside is told of."""
    from triton.compiler.compiler import CompiledKernel

    watching = Watching(recorder)
    with ExitStack() as stack:
        stack.callback(watching.stop_listening)
        stack.enter_context(compiling_through(watching.on_jit, watching.on_direct))
        loaded = watching.after_loading(CompiledKernel._init_handles)
        stack.enter_context(replaced(CompiledKernel, "_init_handles", loaded))
        stack.enter_context(watching_tuning(recorder))
        yield
