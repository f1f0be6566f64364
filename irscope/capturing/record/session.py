"""Records what the running process compiles, on this machine's GPU or with a stub driver."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from irscope.backends import parse_target
from irscope.capturing.messages import Note, RunOptions
from irscope.capturing.record.gpu_recorder import recording_on_gpu
from irscope.capturing.record.launch_sweep import sweep_problems, swept
from irscope.capturing.record.link import NEEDS_TRITON, Link
from irscope.capturing.record.recorder import Recorder
from irscope.capturing.record.stub_recorder import compile_pending, compile_recorded, recording_on_stub
from irscope.model import UserError
from irscope.toolchain.patching import never_raises
from irscope.toolchain.stub_driver import StubDriver

# The default target, for a machine without a GPU.
DEFAULT_TARGET = parse_target("cuda:90")


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
        f"irscope: no GPU found: compiling for {DEFAULT_TARGET}; --target (Python: target=) chooses another",
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
        raise UserError(NEEDS_TRITON)
    recorder = Recorder(options, link.put)
    with ExitStack() as stack:
        stack.callback(_send_notes, recorder, link)
        stack.enter_context(_swept_at_end(recorder, link))
        if options.target is None:
            stack.enter_context(recording_on_gpu(recorder))
            yield ForkHooks(recorder.clear, lambda: None)
            return
        stub = StubDriver(options.target, device)
        deferred = stack.enter_context(recording_on_stub(recorder, stub, link))
        yield ForkHooks(deferred.clear, lambda: compile_pending(deferred, options, link))


def _send_notes(recorder: Recorder, link: Link) -> None:
    for note in (recorder.why_empty(), recorder.left_out()):
        if note:
            link.put(Note(note))


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
    compile_recorded(additional, recorder.options, link)
