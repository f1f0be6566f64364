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
from weakref import WeakValueDictionary

from irscope.capturing.compile.worker import failure_of
from irscope.capturing.messages import LaunchSeen, VariantDone
from irscope.capturing.record.hooks import compiling_through
from irscope.capturing.record.launches import launch_of
from irscope.capturing.record.patching import harmless
from irscope.capturing.record.recorder import Recorded, Recorder, Tuning
from irscope.capturing.record.tuning import watching_tuning
from irscope.toolchain.compiler import cache_key, plain_metadata
from irscope.toolchain.pass_instrumentation import PassLog, naming_pass, reporting_passes


class GpuRecorder:
    """Tells of each compilation as it is done, and of the first launch of each."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told = threading.local()
        self._unlaunched: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._listener_before: Callable[..., None] | None = None
        self._one_at_a_time = threading.Lock()

    def on_jit(
        self, source: Any, target: Any, options: Any, tuning: Tuning, compile_: Callable[[], Any]
    ) -> Any:
        """The JIT's compilation, of whose first launch is told too."""
        kernel = self.on_direct(source, target, options, tuning, compile_)
        self._await_launch(kernel)
        return kernel

    def on_direct(
        self, source: Any, target: Any, options: Any, tuning: Tuning, compile_: Callable[[], Any]
    ) -> Any:
        """Compiles as always, and tells of it."""
        recorded = self._record(source, target, options, tuning)
        self._listen_too()
        self._told.times = None
        passes = PassLog()
        try:
            with self._telling_passes(recorded, passes):
                kernel = compile_()
        except Exception as error:
            self._failed(recorded, error, passes)
            raise
        self._compiled(recorded, kernel, passes)
        return kernel

    @contextmanager
    def _telling_passes(self, recorded: Recorded | None, passes: PassLog) -> Iterator[None]:
        """Puts the passes of what is compiled inside into `passes`, where they are asked for.

        One compilation at a time: the stand-ins are those of the whole process.
        """
        if recorded is None or recorded.told or not self._recorder.options.passes:
            yield
            return
        with self._one_at_a_time, reporting_passes(passes.tell):
            yield

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
    def _compiled(self, recorded: Recorded | None, kernel: Any, passes: PassLog) -> None:
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
            passes=passes.passes,
        )
        files = {
            Path(name).suffix[1:]: str(path)
            for name, path in kernel.metadata_group.items()
            if not name.endswith(".json")
        }
        self._recorder.send(VariantDone(recorded.number, recorded.kernel, variant, files))

    @harmless
    def _failed(self, recorded: Recorded | None, error: Exception, passes: PassLog) -> None:
        if recorded is not None and not recorded.told:
            recorded.told = True
            failure = naming_pass(failure_of(error), passes)
            variant = replace(recorded.variant, failure=failure, passes=passes.passes)
            self._recorder.send(VariantDone(recorded.number, recorded.kernel, variant))

    @harmless
    def _await_launch(self, kernel: Any) -> None:
        self._unlaunched[kernel.hash] = kernel

    @harmless
    def on_loaded(self, module: Any, function: Any, name: str, files: Any, hash_: str) -> None:
        """Triton has loaded a kernel, which it does once: the next launch is told of, and no other."""
        kernel = self._unlaunched.pop(hash_, None)
        recorded = self._recorder.by_kernel.get(kernel) if kernel is not None else None
        if recorded is not None and kernel._run is not None:
            kernel._run = self._first_launch(kernel, kernel._run, recorded)

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
    watching = GpuRecorder(recorder)
    with ExitStack() as stack:
        stack.callback(watching.stop_listening)
        stack.enter_context(compiling_through(watching.on_jit, watching.on_direct))
        stack.enter_context(_told_of_loads(watching.on_loaded))
        stack.enter_context(watching_tuning(recorder))
        yield


@contextmanager
def _told_of_loads(hook: Callable[..., None]) -> Iterator[None]:
    """Triton calls `hook` after it has loaded a kernel.

    A wrapper of CompiledKernel's methods would not do: Triton asks at every launch whether it is loaded.
    """
    from triton import knobs

    chain = knobs.runtime.kernel_load_end_hook
    if not hasattr(chain, "add"):  # the program's own function stands there: launches go untold
        yield
        return
    chain.add(hook)
    try:
        yield
    finally:
        chain.remove(hook)
