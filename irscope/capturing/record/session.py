"""Records what the running process compiles, on this machine's GPU or with a stub driver."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from irscope.backends import parse_target
from irscope.capturing.fake_cuda.stub_modules import stub_modules
from irscope.capturing.fake_cuda.unknown_value import Assumptions, checked_arguments
from irscope.capturing.messages import (
    Answer,
    CompilationsStarted,
    MissingQuery,
    Note,
    Question,
    Record,
    RunOptions,
    VariantDone,
)
from irscope.capturing.record.deferred import DeferredCompilations
from irscope.capturing.record.forked import compile_forked
from irscope.capturing.record.frontends import recorded_frontends
from irscope.capturing.record.gpu_recorder import recording_on_gpu
from irscope.capturing.record.launch_sweep import sweep_problems, swept
from irscope.capturing.record.launches import written_parameters
from irscope.capturing.record.recorder import RecordedCompilation, Recorder
from irscope.capturing.record.requested_config import TunedNames
from irscope.capturing.record.triton_hooks import intercepted_compilations
from irscope.model import UserError
from irscope.toolchain.patching import never_raises, patched
from irscope.toolchain.stub_driver import StubDriver, register_usage

# The default target, for a machine without a GPU.
DEFAULT_TARGET = parse_target("cuda:90")


class Link(Protocol):
    """The destination of this process's records."""

    def put(self, record: Record) -> None:
        """Sends a record."""

    def ask(self, question: Question) -> Answer | None:
        """Sends a question and waits for its answer; None if the other process has ended."""


def has_gpu() -> bool:
    """Whether this machine has a GPU that the process may use; does not start a driver to find out."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", os.environ.get("HIP_VISIBLE_DEVICES"))
    if hidden is not None and hidden.strip() in ("", "-1"):
        return False
    devices = Path("/dev")
    return any(devices.glob("nvidia[0-9]*")) or any((devices / name).exists() for name in ("kfd", "dxg"))


def with_default_target(options: RunOptions) -> RunOptions:
    """The options; without a GPU and a target, with the default target, announced on stderr."""
    if options.target is not None or has_gpu():
        return options
    print(
        f"irscope: no GPU found: compiling for {DEFAULT_TARGET}; set target to choose another",
        file=sys.stderr,
    )
    return replace(options, target=DEFAULT_TARGET)


@dataclass
class ForkHooks:
    """The hooks of a process that is forked while recording: at its start and at its end."""

    clear: Callable[[], None]
    finish: Callable[[], None]


@contextmanager
def recording(options: RunOptions, link: Link, device: int = 0) -> Iterator[ForkHooks]:
    """Records everything that Triton is asked to compile within the block.

    On a GPU (`options.target` is None) it is compiled at once; else when the block ends, even by an
    exception. `device` is the number under which the JIT caches the stub's kernels: a number that no GPU
    has separates them from what the process compiled before. Raises UserError if triton is missing.
    """
    if importlib.util.find_spec("triton") is None:
        raise UserError("needs triton, which is not installed: pip install 'irscope[run]' (Linux)")
    recorder = Recorder(options, link.put)
    with ExitStack() as stack:
        stack.callback(_note_if_empty, recorder, link)
        stack.enter_context(_swept_at_end(recorder, link))
        if options.target is None:
            stack.enter_context(recording_on_gpu(recorder))
            yield ForkHooks(recorder.clear, lambda: None)
            return
        yield stack.enter_context(_recording_on_stub(recorder, StubDriver(options.target, device), link))


def _note_if_empty(recorder: Recorder, link: Link) -> None:
    if reason := recorder.why_empty():
        link.put(Note(reason))


@contextmanager
def _recording_on_stub(recorder: Recorder, stub: StubDriver, link: Link) -> Iterator[ForkHooks]:
    from triton.runtime import JITFunction, driver

    before = driver._active
    driver.set_active(stub)
    with ExitStack() as stack:
        stack.callback(driver.set_active, before)
        stack.enter_context(stub_modules(recorder.options.stubs))
        on_writes: Callable[[Any, Any], None] = lambda *_: None  # noqa: E731
        without_modes: Callable[[], AbstractContextManager[None]] = nullcontext
        if importlib.util.find_spec("torch") is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the program might not import these modules of torch
                from irscope.capturing.fake_cuda.torch_cuda import fake_cuda

            stack.enter_context(fake_cuda(stub.target, Assumptions(recorder.options.assumed)))
            on_writes, without_modes = _mark_written, _without_torch_modes()
        stack.enter_context(patched(JITFunction, "run", checked_arguments(JITFunction.run)))
        deferred = DeferredCompilations(
            recorder,
            lambda recorded: _compile_now(recorded, stub, recorder, link),
            on_writes,
            without_modes,
        )
        stack.callback(deferred.remove_kernels, stub.get_current_device())
        stack.callback(_compile_pending, deferred, recorder.options, link)
        stack.enter_context(intercepted_compilations(deferred.on_jit, _on_direct(recorder, stub, link)))
        stack.enter_context(recorded_frontends(recorder))
        yield ForkHooks(deferred.clear, lambda: _compile_pending(deferred, recorder.options, link))


def _without_torch_modes() -> Callable[[], AbstractContextManager[None]]:
    import torch

    return torch._C.DisableTorchFunction  # type: ignore[no-any-return]


def _on_direct(recorder: Recorder, stub: StubDriver, link: Link) -> Callable[..., Any]:
    """Handles direct calls of triton.compile without a GPU: compiles and records at once."""

    def compile_(source: Any, target: Any, options: Any, tuned: TunedNames, call: Callable[[], Any]) -> Any:
        from triton.compiler import make_backend
        from triton.runtime import driver

        if hasattr(source, "fn"):
            target = target or driver.active.get_current_target()
            parsed = make_backend(target).parse_options(dict(options or {}))
            recorded, new = recorder.record(source, parsed, target, tuned)
            if recorded is not None and new:
                _compile([recorded], recorder.options, link)
        kernel = call()
        stub.utils.registers[kernel.kernel] = register_usage(stub.target, kernel.asm)
        return kernel

    return compile_


def _mark_written(function: Any, arguments: tuple[Any, ...]) -> None:
    """Marks the values of the tensors that a launched kernel may write to as unknown."""
    from irscope.capturing.fake_cuda.tensor_tags import set_unknown

    written = written_parameters(function)
    for parameter, value in zip(function.params, arguments, strict=False):
        if parameter.name in written:
            set_unknown([value, getattr(value, "base", None)])


def _compile_now(recorded: RecordedCompilation, stub: StubDriver, recorder: Recorder, link: Link) -> Any:
    """Compiles a kernel that the program inspects: in a worker, then from Triton's cache."""
    import triton

    if not recorded.sent:
        _compile([recorded], recorder.options, link)
    kernel = triton.compiler.compiler.compile(
        recorded.source, target=recorded.target, options=vars(recorded.options)
    )
    stub.utils.registers[kernel.kernel] = register_usage(stub.target, kernel.asm)
    return kernel


def _compile_pending(deferred: DeferredCompilations, options: RunOptions, link: Link) -> None:
    pending = [recorded for recorded in deferred.pending if not recorded.sent]
    if not pending:
        return
    answer = link.ask(MissingQuery(tuple((recorded.kernel, recorded.variant) for recorded in pending)))
    if answer is not None and answer.missing:
        pending = [recorded for recorded, missing in zip(pending, answer.missing, strict=True) if missing]
    _compile(pending, options, link)


def _compile(compilations: list[RecordedCompilation], options: RunOptions, link: Link) -> None:
    if not compilations:
        return
    link.put(CompilationsStarted(len(compilations)))
    for recorded, outcome in compile_forked(compilations, options.processes, options.seconds, options.passes):
        recorded.sent = True
        variant = outcome.added_to(recorded.variant)
        link.put(VariantDone(recorded.number, recorded.kernel, variant, recorded.files))


@contextmanager
def _swept_at_end(recorder: Recorder, link: Link) -> Iterator[None]:
    """Compiles the kernels recorded within the block with the values of the sweep, when the block ends."""
    try:
        yield
    finally:
        if recorder.options.sweep:
            _sweep(recorder, link)


@never_raises
def _sweep(recorder: Recorder, link: Link) -> None:
    found = list(recorder.known.values())
    names = {recorded.source.fn.fn.__name__ for recorded in found}
    for kernel in {kernel for kernel, _ in recorder.options.sweep} - names:
        link.put(Note(f"sweep: no kernel named '{kernel}' was launched, only {', '.join(names) or 'none'}"))
    problems = {line for recorded in found for line in sweep_problems(recorded, recorder.options.sweep)}
    for line in sorted(problems):
        link.put(Note(line))
    additional = []
    for recorded in found:
        for source, options, tuned in swept(recorded, recorder.options.sweep):
            variant, new = recorder.record(source, options, recorded.target, tuned)
            if variant is not None and new:
                additional.append(variant)
    _compile(additional, recorder.options, link)
