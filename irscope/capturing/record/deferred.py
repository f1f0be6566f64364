"""Compilations without a GPU: noted when the program launches, made later or when it looks into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irscope.capturing.messages import LaunchSeen, Message
from irscope.capturing.record.launches import MOST_LAUNCHES, launch_of
from irscope.capturing.record.patching import harmless
from irscope.capturing.record.recorder import Recorded, Recorder, Tuning
from irscope.model import Launch

# Compiles a recorded variant in a worker and, where that went well, loads it from Triton's cache.
MakeNow = Callable[[Recorded], Any]


class DeferredKernel:
    """Stands for Triton's CompiledKernel: takes launches, and compiles when its contents are asked for."""

    # What the JIT reads at each launch.
    function = None
    packed_metadata = None

    def __init__(self, recorded: Recorded | None, make: Callable[[], Any], launched: LaunchTaken) -> None:
        self._recorded, self._make, self._launched = recorded, make, launched
        self._made: Any = None
        self._ran = False

    def run(self, *arguments: Any) -> None:
        """A launch: grid, stream, function, metadata and hooks as Triton passes them, then arguments."""
        self._ran = True
        self._launched(self._recorded, arguments)

    def launch_metadata(self, grid: Any, stream: Any, *arguments: Any) -> None:
        """Nobody asks for it."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """`kernel[grid](...)`, the launch of a kernel that was compiled beforehand."""
        sizes = (*grid, 1, 1)[:3]
        return lambda *arguments, **_: self.run(*sizes, *[None] * 6, *arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "result":  # 3.6 takes what has a `result` for a future
            raise AttributeError(name)
        if self._made is None:
            self._made = self._make()
            if self._ran:  # a launch loads the binary, and n_regs is there from then on
                self._made._init_handles()
        return getattr(self._made, name)


# Takes a launch: of which compilation, and everything that Triton passes to a kernel's `run`.
LaunchTaken = Callable[[Recorded | None, tuple[Any, ...]], None]


class DeferredCompiles:
    """Hands out lazy kernels; `pending` are the compilations to be made, in the order they were asked for."""

    def __init__(self, recorder: Recorder, make: MakeNow, touched: Callable[[Any, Any], None]) -> None:
        self._recorder, self._make, self._touched = recorder, make, touched
        self._launches: dict[int, set[Launch]] = {}
        self._functions: dict[int, Any] = {}
        self.pending: list[Recorded] = []

    def on_jit(
        self, source: Any, target: Any, options: Any, tuning: Tuning, compile_: Callable[[], Any]
    ) -> DeferredKernel:
        """The JIT's compilation: recorded now, made later."""
        self._functions[id(source.fn)] = source.fn
        recorded = self._record(source, target, options, tuning)
        make = compile_ if recorded is None else lambda: self._make(recorded)
        return DeferredKernel(recorded, make, lambda which, given: self._launch(source, which, given))

    def begin_anew(self) -> None:
        """What was recorded until now is another process's to compile."""
        self._recorder.forget()
        self._launches.clear()
        self.pending.clear()

    def forget(self, device: int) -> None:
        """Takes the lazy kernels out of the JIT's memory of `device`."""
        for function in self._functions.values():
            function.device_caches.pop(device, None)

    @harmless
    def _record(self, source: Any, target: Any, options: Any, tuning: Tuning) -> Recorded | None:
        from triton.compiler import make_backend

        parsed = make_backend(target).parse_options(dict(options or {}))
        recorded, new = self._recorder.record(source, parsed, target, tuning)
        if recorded is not None and new:
            self.pending.append(recorded)
        return recorded

    @harmless
    def _launch(self, source: Any, recorded: Recorded | None, given: tuple[Any, ...]) -> None:
        self._touched(source.fn, given[9:])
        if recorded is None:
            return
        launch = launch_of(source.fn, given)
        seen = self._launches.setdefault(recorded.number, set())
        if launch not in seen and len(seen) < MOST_LAUNCHES:
            seen.add(launch)
            message: Message = LaunchSeen(recorded.number, launch)
            self._recorder.send(message)
