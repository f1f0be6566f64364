"""Records compilations, first launches and autotuning results on a GPU without changing the program.

None of this code runs in a launch that compiles nothing.
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

from irscope.compiling.job import PassLog, with_failed_pass
from irscope.compiling.messages import LaunchRecorded, ValuesRecorded, VariantDone
from irscope.compiling.toolchain.compiler import plain_metadata
from irscope.compiling.toolchain.pass_instrumentation import reporting_passes
from irscope.compiling.toolchain.patching import never_raises
from irscope.compiling.toolchain.requested_config import TunedNames
from irscope.compiling.toolchain.triton_cache import cache_key
from irscope.compiling.worker import failure_of
from irscope.recording.launch_records import LaunchValues, launch_of, values_of
from irscope.recording.recorder import RecordedCompilation, Recorder, recorded_frontends
from irscope.recording.triton_hooks import intercepted_compilations, recorded_benchmarks


class GpuRecorder:
    """Records each compilation when it is done, and the first launch of each kernel."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._thread = threading.local()
        self._unlaunched: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._listener_before: Callable[..., None] | None = None
        self._passes_lock = threading.Lock()

    def on_jit(
        self, source: Any, target: Any, options: Any, tuned: TunedNames, compile_: Callable[[], Any]
    ) -> Any:
        """Compiles for the JIT; records the compilation and later the first launch."""
        kernel = self.on_direct(source, target, options, tuned, compile_)
        self._await_launch(kernel)
        return kernel

    def on_direct(
        self, source: Any, target: Any, options: Any, tuned: TunedNames, compile_: Callable[[], Any]
    ) -> Any:
        """Compiles and records the compilation."""
        recorded = self._record(source, target, options, tuned)
        self._listen()
        self._thread.times = None
        passes = PassLog()
        try:
            with self._recorded_passes(recorded, passes):
                kernel = compile_()
        except Exception as error:
            self._failed(recorded, error, passes)
            raise
        self._compiled(recorded, kernel, passes)
        return kernel

    @contextmanager
    def _recorded_passes(self, recorded: RecordedCompilation | None, passes: PassLog) -> Iterator[None]:
        """Add the passes of the compilation within the block to `passes`, if they are to be recorded.

        One compilation at a time: the instrumentation patches the whole process.
        """
        if recorded is None or recorded.sent or not self._recorder.options.passes:
            yield
            return
        with self._passes_lock, reporting_passes(passes.add):
            yield

    @never_raises
    def _listen(self) -> None:
        """Installs the listener to Triton's compile times, in front of one that the program installed."""
        from triton import knobs

        if knobs.compilation.listener is not self._listener:
            self._listener_before = knobs.compilation.listener
            knobs.compilation.listener = self._listener

    @functools.cached_property
    def _listener(self) -> Callable[..., None]:
        def listen(**report: Any) -> None:
            if getattr(self._thread, "inside", False):
                return  # the program's listener was installed in front of this one and calls it
            self._thread.inside = True
            try:
                if self._listener_before is not None:
                    self._listener_before(**report)
            finally:
                self._thread.inside = False
            self._thread.times = (report["times"], report["cache_hit"])

        return listen

    def stop_listening(self) -> None:
        """Restores the program's listener, unless it installed another one since."""
        from triton import knobs

        if knobs.compilation.listener is self._listener:
            knobs.compilation.listener = self._listener_before

    @never_raises
    def _record(
        self, source: Any, target: Any, options: Any, tuned: TunedNames
    ) -> RecordedCompilation | None:
        return self._recorder.request(source, target, options, tuned)[0]

    @never_raises
    def _compiled(self, recorded: RecordedCompilation | None, kernel: Any, passes: PassLog) -> None:
        if recorded is None:
            return
        self._recorder.by_kernel[kernel] = recorded
        self._recorder.finished(kernel.hash, recorded.number)
        if recorded.sent:
            return
        recorded.sent = True
        times, cached = self._thread.times or (None, False)
        stages = times.lowering_stages if times is not None and not cached else ()
        variant = replace(
            recorded.variant,
            metadata={**recorded.variant.metadata, **plain_metadata(kernel.metadata)},
            seconds={name: microseconds / 1e6 for name, microseconds in stages},
            cache_key={
                **recorded.variant.cache_key,
                **cache_key(recorded.source, recorded.target, recorded.options),
            },
            cached=cached,
            passes=passes.passes,
        )
        files = {
            Path(name).suffix[1:]: str(path)
            for name, path in kernel.metadata_group.items()
            if not name.endswith(".json")
        }
        files |= recorded.files
        self._recorder.send(VariantDone(recorded.number, recorded.kernel, variant, files))

    @never_raises
    def _failed(self, recorded: RecordedCompilation | None, error: Exception, passes: PassLog) -> None:
        if recorded is not None and not recorded.sent:
            recorded.sent = True
            failure = with_failed_pass(failure_of(error), passes)
            variant = replace(recorded.variant, failure=failure, passes=passes.passes)
            self._recorder.send(VariantDone(recorded.number, recorded.kernel, variant, recorded.files))

    @never_raises
    def _await_launch(self, kernel: Any) -> None:
        self._unlaunched[kernel.hash] = kernel

    @never_raises
    def on_loaded(self, module: Any, function: Any, name: str, files: Any, hash_: str) -> None:
        """Record the next launch of a kernel that Triton has loaded, which it does once per kernel."""
        kernel = self._unlaunched.pop(hash_, None)
        recorded = self._recorder.by_kernel.get(kernel) if kernel is not None else None
        if recorded is not None and kernel._run is not None:
            kernel._run = self._first_launch(kernel, kernel._run, recorded)

    def _first_launch(
        self, kernel: Any, run: Callable[..., Any], recorded: RecordedCompilation
    ) -> Callable[..., Any]:
        def launch(*given: Any) -> Any:
            kernel._run = run
            self._launched(recorded, given)
            values = self._values(recorded, given)
            result = run(*given)
            self._values_after(recorded, values)
            return result

        return launch

    @never_raises
    def _values(self, recorded: RecordedCompilation, given: tuple[Any, ...]) -> LaunchValues | None:
        most = self._recorder.options.values
        return None if most is None else values_of(recorded.source.fn, given, most)

    @never_raises
    def _values_after(self, recorded: RecordedCompilation, values: LaunchValues | None) -> None:
        if values is not None:
            self._recorder.send(ValuesRecorded(recorded.number, values.file(launched=True)))

    @never_raises
    def _launched(self, recorded: RecordedCompilation, given: tuple[Any, ...]) -> None:
        self._recorder.send(LaunchRecorded(recorded.number, launch_of(recorded.source.fn, given)))


@contextmanager
def recording_on_gpu(recorder: Recorder) -> Iterator[None]:
    """Record everything that is compiled, launched and tuned within the block."""
    gpu_recorder = GpuRecorder(recorder)
    with ExitStack() as stack:
        stack.callback(gpu_recorder.stop_listening)
        stack.enter_context(intercepted_compilations(gpu_recorder.on_jit, gpu_recorder.on_direct))
        stack.enter_context(_load_hook(gpu_recorder.on_loaded))
        stack.enter_context(recorded_benchmarks(recorder))
        stack.enter_context(recorded_frontends(recorder))
        yield


@contextmanager
def _load_hook(hook: Callable[..., None]) -> Iterator[None]:
    """Has Triton call `hook` after it has loaded a kernel.

    Patching CompiledKernel's methods would run code at every launch, because Triton checks each time
    whether the kernel is loaded.
    """
    from triton import knobs

    chain = knobs.runtime.kernel_load_end_hook
    if not hasattr(chain, "add"):  # the program replaced it by its own function: launches are not recorded
        yield
        return
    chain.add(hook)
    try:
        yield
    finally:
        chain.remove(hook)
