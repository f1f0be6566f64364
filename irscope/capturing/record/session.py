"""Capturing what the running process compiles: with the GPU that is there, or with a stand-in for one."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from irscope.backends import parse_target
from irscope.capturing.compile.request import Outcome
from irscope.capturing.fake_cuda.unknown_value import launched
from irscope.capturing.messages import Compiling, Message, Note, RunOptions, VariantDone, Wanted
from irscope.capturing.record.deferred import DeferredCompiles
from irscope.capturing.record.forked import compile_forked
from irscope.capturing.record.gpu_recorder import recording_on_gpu
from irscope.capturing.record.hooks import compiling_through
from irscope.capturing.record.launches import written_parameters
from irscope.capturing.record.patching import harmless, replaced
from irscope.capturing.record.recorder import Recorded, Recorder, Tuning, swept, unknown_names
from irscope.model import UserError
from irscope.toolchain.stub_driver import StandInDriver

# Taken where neither a GPU nor --target says which.
DEFAULT_TARGET = parse_target("cuda:90")


class Link(Protocol):
    """The way to whoever writes the capture."""

    def put(self, message: Message) -> None:
        """Sends a message."""

    def ask(self, message: Message) -> Any:
        """Sends a message and waits for its answer."""


def gpu_there() -> bool:
    """Whether this machine has a GPU that the process may use; starts no driver to find out."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", os.environ.get("HIP_VISIBLE_DEVICES"))
    if hidden is not None and hidden.strip() in ("", "-1"):
        return False
    devices = Path("/dev")
    return any(devices.glob("nvidia[0-9]*")) or any((devices / name).exists() for name in ("kfd", "dxg"))


@dataclass
class Running:
    """What a process that is forked while capturing does at its beginning and at its end."""

    forget: Callable[[], None]
    finish: Callable[[], None]


@contextmanager
def capturing(options: RunOptions, link: Link, device: int = 0) -> Iterator[Running]:
    """Everything that Triton is asked to compile inside goes into the capture.

    On a GPU (`options.target` is None) as it is compiled; else when the block ends, however it ends.
    `device` is the number under which the JIT knows the stand-in: one that no GPU has keeps it apart from
    what the process has compiled before. Raises UserError where triton is not installed.
    """
    if importlib.util.find_spec("triton") is None:
        raise UserError("needs triton, not installed here: pip install 'irscope[run]' (Linux)")
    recorder = Recorder(options, link.put)
    with ExitStack() as stack:
        stack.enter_context(_sweeping(recorder, link))
        if options.target is None:
            stack.enter_context(recording_on_gpu(recorder))
            yield Running(recorder.forget, lambda: None)
            return
        yield stack.enter_context(_without(recorder, StandInDriver(options.target, device), link))


@contextmanager
def _without(recorder: Recorder, standin: StandInDriver, link: Link) -> Iterator[Running]:
    from triton.runtime import JITFunction, driver

    before, target = driver._active, standin.target
    driver.set_active(standin)
    with ExitStack() as stack:
        stack.callback(driver.set_active, before)
        touched: Callable[[Any, Any], None] = lambda *_: None  # noqa: E731
        if importlib.util.find_spec("torch") is not None:
            from irscope.capturing.fake_cuda.torch_cuda import posing_as

            stack.enter_context(posing_as(target))
            touched = _kernel_writes
        stack.enter_context(replaced(JITFunction, "run", launched(JITFunction.run)))
        lazy = DeferredCompiles(
            recorder, lambda recorded: _make_now(recorded, standin, recorder, link), touched
        )
        stack.callback(lazy.forget, standin.get_current_device())
        stack.callback(_compile_pending, lazy, recorder.options, link)
        stack.enter_context(compiling_through(lazy.on_jit, _direct(recorder, link)))
        yield Running(lazy.begin_anew, lambda: _compile_pending(lazy, recorder.options, link))


def _direct(recorder: Recorder, link: Link) -> Callable[..., Any]:
    """Direct calls of triton.compile without a GPU are done and told of at once."""

    def compile_(source: Any, target: Any, options: Any, tuning: Tuning, call: Callable[[], Any]) -> Any:
        from triton.compiler import make_backend
        from triton.runtime import driver

        if hasattr(source, "fn"):
            target = target or driver.active.get_current_target()
            parsed = make_backend(target).parse_options(dict(options or {}))
            recorded, new = recorder.record(source, parsed, target, tuning)
            if recorded is not None and new:
                _compile([recorded], recorder.options, link)
        return call()

    return compile_


def _kernel_writes(function: Any, arguments: tuple[Any, ...]) -> None:
    """What a launched kernel may write to has values from now on that nobody knows."""
    from irscope.capturing.fake_cuda.tensor_tags import set_unknown

    written = written_parameters(function)
    for parameter, value in zip(function.params, arguments, strict=False):
        if parameter.name in written:
            set_unknown([value, getattr(value, "base", None)])


def _make_now(recorded: Recorded, standin: StandInDriver, recorder: Recorder, link: Link) -> Any:
    """Compiles what the program looks into: in a worker, then from Triton's cache."""
    import triton

    from irscope.capturing.record.registers import registers_of

    if not recorded.told:
        _compile([recorded], recorder.options, link)
    made = triton.compiler.compiler.compile(
        recorded.source, target=recorded.target, options=vars(recorded.options)
    )
    standin.utils.registers[made.kernel] = registers_of(made.asm)
    return made


def _compile_pending(lazy: DeferredCompiles, options: RunOptions, link: Link) -> None:
    wanted = [recorded for recorded in lazy.pending if not recorded.told]
    answer = link.ask(Wanted(tuple((recorded.kernel, recorded.variant) for recorded in wanted)))
    if answer is not None:
        wanted = [recorded for recorded, missing in zip(wanted, answer, strict=True) if missing]
    _compile(wanted, options, link)


def _compile(wanted: list[Recorded], options: RunOptions, link: Link) -> None:
    if not wanted:
        return
    link.put(Compiling(len(wanted)))
    for recorded, outcome in compile_forked(wanted, options.processes, options.seconds, options.passes):
        recorded.told = True
        link.put(VariantDone(recorded.number, recorded.kernel, _finished(recorded, outcome)))


def _finished(recorded: Recorded, outcome: Outcome) -> Any:
    return replace(recorded.variant, **{f.name: getattr(outcome, f.name) for f in fields(Outcome)})


@contextmanager
def _sweeping(recorder: Recorder, link: Link) -> Iterator[None]:
    """Compiles, when the block ends, the values of --sweep for what was recorded in it."""
    try:
        yield
    finally:
        if recorder.options.sweep:
            _sweep(recorder, link)


@harmless
def _sweep(recorder: Recorder, link: Link) -> None:
    found = list(recorder.known.values())
    names = {recorded.source.fn.fn.__name__ for recorded in found}
    for kernel in {kernel for kernel, _ in recorder.options.sweep} - names:
        link.put(Note(f"--sweep {kernel}: no launch of a kernel called so; there is: {', '.join(names)}"))
    unknown = {line for recorded in found for line in unknown_names(recorded, recorder.options.sweep)}
    for line in sorted(unknown):
        link.put(Note(line))
    more = []
    for recorded in found:
        for source, options, tuning in swept(recorded, recorder.options.sweep):
            again, new = recorder.record(source, options, recorded.target, tuning)
            if again is not None and new:
                more.append(again)
    _compile(more, recorder.options, link)


def no_gpu_note(options: RunOptions) -> RunOptions:
    """The options with a target where there is no GPU and none was named, said on stderr."""
    if options.target is not None or gpu_there():
        return options
    print(f"irscope: no GPU here: posing as {DEFAULT_TARGET}; --target names another", file=sys.stderr)
    return replace(options, target=DEFAULT_TARGET)
