"""Compilations without a GPU: recorded at the launch, done at the end or when the program needs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from irscope.capturing.messages import LaunchRecorded, ValuesRecorded
from irscope.capturing.record.argument_values import values_of
from irscope.capturing.record.launches import MOST_LAUNCHES, launch_of
from irscope.capturing.record.recorder import RecordedCompilation, Recorder
from irscope.capturing.record.requested_config import TunedNames
from irscope.model import Launch
from irscope.toolchain.patching import never_raises

# Compiles a recorded variant in a worker and loads it from Triton's cache.
CompileNow = Callable[[RecordedCompilation], Any]

# Handles a launch: its compilation, and everything that Triton passes to a kernel's `run`.
OnLaunch = Callable[[RecordedCompilation | None, tuple[Any, ...]], None]


class DeferredKernel:
    """Replaces Triton's CompiledKernel: records launches, and compiles when an attribute is read."""

    # The JIT reads these at each launch.
    function = None
    packed_metadata = None

    def __init__(
        self, recorded: RecordedCompilation | None, compile_now: Callable[[], Any], on_launch: OnLaunch
    ) -> None:
        self._recorded, self._compile_now, self._on_launch = recorded, compile_now, on_launch
        self._kernel: Any = None
        self._launched = False

    def run(self, *arguments: Any) -> None:
        """A launch: grid, stream, function, metadata and hooks as Triton passes them, then the arguments."""
        self._launched = True
        self._on_launch(self._recorded, arguments)

    def launch_metadata(self, grid: Any, stream: Any, *arguments: Any) -> None:
        """None: no launch hook reads it."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """`kernel[grid](...)`, the launch of a kernel that was compiled beforehand."""
        sizes = (*grid, 1, 1)[:3]
        return lambda *arguments, **_: self.run(*sizes, *[None] * 6, *arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "result":  # 3.6 takes an object with a `result` for a future
            raise AttributeError(name)
        if self._kernel is None:
            self._kernel = self._compile_now()
            if self._launched:  # a launch loads the binary, which sets n_regs
                self._kernel._init_handles()
        return getattr(self._kernel, name)


class DeferredCompilations:
    """Returns deferred kernels to the JIT; `pending` are their compilations, in the order of the requests.

    `on_writes` is called with each launch's function and arguments. Within `without_modes`, torch's modes are
    off.
    """

    def __init__(
        self,
        recorder: Recorder,
        compile_now: CompileNow,
        on_writes: Callable[[Any, Any], None],
        without_modes: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._recorder, self._compile_now, self._on_writes = recorder, compile_now, on_writes
        self._without_modes = without_modes
        self._launches: dict[int, set[Launch]] = {}
        self._functions: dict[int, Any] = {}
        self.pending: list[RecordedCompilation] = []

    def on_jit(
        self, source: Any, target: Any, options: Any, tuned: TunedNames, compile_: Callable[[], Any]
    ) -> DeferredKernel:
        """Records a compilation of the JIT, to be done later."""
        self._functions[id(source.fn)] = source.fn
        recorded = self._record(source, target, options, tuned)
        compile_now = compile_ if recorded is None else lambda: self._compile_now(recorded)
        return DeferredKernel(recorded, compile_now, lambda of, given: self._launch(source, of, given))

    def clear(self) -> None:
        """Forgets everything, in a forked process whose parent compiles it."""
        self._recorder.clear()
        self._launches.clear()
        self.pending.clear()

    def remove_kernels(self, device: int) -> None:
        """Removes the deferred kernels from the JIT's cache for `device`."""
        for function in self._functions.values():
            function.device_caches.pop(device, None)

    @never_raises
    def _record(
        self, source: Any, target: Any, options: Any, tuned: TunedNames
    ) -> RecordedCompilation | None:
        recorded, new = self._recorder.request(source, target, options, tuned)
        if recorded is not None and new:
            self.pending.append(recorded)
        return recorded

    @never_raises
    def _launch(self, source: Any, recorded: RecordedCompilation | None, given: tuple[Any, ...]) -> None:
        known = self._launches.setdefault(recorded.number, set()) if recorded is not None else set()
        with self._without_modes():  # to ask a tensor for its shape takes ten times as long with them
            if recorded is not None and not known:
                self._keep_values(source, recorded, given)
            self._on_writes(source.fn, given[9:])
            if recorded is None:
                return
            launch = launch_of(source.fn, given)
        if launch not in known and len(known) < MOST_LAUNCHES:
            known.add(launch)
            self._recorder.send(LaunchRecorded(recorded.number, launch))

    @never_raises
    def _keep_values(self, source: Any, recorded: RecordedCompilation, given: tuple[Any, ...]) -> None:
        most = self._recorder.options.values
        if most is None or "torch" not in sys.modules:
            return
        from irscope.capturing.fake_cuda.tensor_tags import unknown

        values = values_of(source.fn, given, most, lambda tensor: not unknown(tensor))
        if values is not None:
            self._recorder.send(ValuesRecorded(recorded.number, values.file(launched=False)))
