"""Records what the running process compiles, on this machine's GPU or with a stub driver.

The further compilations of a launch that `irscope run --sweep` requests.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irscope.compiling.constexpr_values import Constants
from irscope.compiling.messages import Note, RunOptions
from irscope.compiling.plan import settable_options
from irscope.compiling.toolchain.patching import never_raises
from irscope.compiling.toolchain.requested_config import TunedNames
from irscope.compiling.toolchain.stub_driver import StubDriver
from irscope.model import Expression, UserError, Value
from irscope.model.errors import print_note
from irscope.recording.gpu_recorder import recording_on_gpu
from irscope.recording.program_link import NEEDS_TRITON, Link
from irscope.recording.recorder import RecordedCompilation, Recorder
from irscope.recording.stub_recorder import compile_pending, compile_recorded, recording_on_stub
from irscope.targets import parse_target

# The values of a sweep, by kernel and name.
Sweep = Mapping[tuple[str, str], tuple[Value | Expression, ...]]


def sweep_problems(recorded: RecordedCompilation, sweep: Sweep) -> Iterator[str]:
    """Yield a line per name in a sweep of this kernel that is neither a `tl.constexpr` nor an option.

    Also yield a line per value that cannot be evaluated.
    """
    name = recorded.source.fn.fn.__name__
    constants = [parameter.name for parameter in recorded.source.fn.params if parameter.is_constexpr]
    for kernel, of in sweep:
        if kernel == name and of not in constants and of not in vars(recorded.options):
            usable = ", ".join([*constants, *settable_options(recorded.variant.target)])
            yield f"sweep: '{of}' is neither a tl.constexpr of {kernel} nor an option; known: {usable}"
    yield from _sweep_values(recorded, sweep)[1]


def _sweep_values(recorded: RecordedCompilation, sweep: Sweep) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the objects of each name in a sweep of this kernel.

    Also return a line per value that cannot be evaluated.
    """
    constants, name = Constants(recorded.source.fn), recorded.source.fn.fn.__name__
    objects = {
        of: [_evaluated(constants, value) for value in values]
        for (kernel, of), values in sweep.items()
        if kernel == name
    }
    problems = [
        f"sweep: {of}={v}" for of, values in objects.items() for v in values if isinstance(v, UserError)
    ]
    return {
        of: [v for v in values if not isinstance(v, UserError)] for of, values in objects.items()
    }, problems


def _evaluated(known: Constants, value: Value | Expression) -> Any:
    """Return the object of a value, or the UserError if it cannot be evaluated."""
    try:
        return known.real(value)
    except UserError as error:
        return error


def swept(recorded: RecordedCompilation, sweep: Sweep) -> Iterator[tuple[Any, Any, TunedNames]]:
    """Yield a compilation with each combination of its kernel's values.

    Each has the source, options and tuned names.
    """
    from itertools import product

    from triton.compiler import make_backend

    source, options = recorded.source, vars(recorded.options)
    axes, _ = _sweep_values(recorded, sweep)
    indexes = {parameter.name: parameter.num for parameter in source.fn.params if parameter.is_constexpr}
    for values in product(*axes.values()) if axes else ():
        constants, changed = dict(source.constants), dict(options)
        for of, value in zip(axes, values, strict=True):
            # A launch's keyword sets both, if a parameter has the name of an option.
            if of in indexes:
                constants[(indexes[of],)] = value
            if of in options or of not in indexes:
                changed[of] = value
        new_source = type(source)(source.fn, source.signature, constants, source.attrs)
        tuned = TunedNames(recorded.tuned.autotuned, recorded.tuned.names | set(axes))
        yield new_source, make_backend(recorded.target).parse_options(changed), tuned


# The default target, for a machine without a GPU.
DEFAULT_TARGET = parse_target("cuda:90")


def has_gpu() -> bool:
    """Return True if this machine has a GPU that the process may use.

    Does not start a driver to find out.
    """
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", os.environ.get("HIP_VISIBLE_DEVICES"))
    if hidden is not None and hidden.strip() in ("", "-1"):
        return False
    devices = Path("/dev")
    return any(devices.glob("nvidia[0-9]*")) or any((devices / name).exists() for name in ("kfd", "dxg"))


def with_default_target(options: RunOptions) -> RunOptions:
    """Return the options; without a GPU and a target, with the default target, announced on stderr."""
    if options.target is not None or has_gpu():
        return options
    print_note(f"no GPU found: compiling for {DEFAULT_TARGET}; --target (Python: target=) chooses another")
    return replace(options, target=DEFAULT_TARGET)


@dataclass
class ForkHooks:
    """The hooks of a process that is forked while recording: at its start and at its end."""

    clear: Callable[[], None]
    finish: Callable[[], None]


@contextmanager
def recording(options: RunOptions, link: Link, device: int = 0) -> Iterator[ForkHooks]:
    """Record everything that Triton is asked to compile within the block.

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
    compilations = list(recorder.known.values())
    names = {recorded.source.fn.fn.__name__ for recorded in compilations}
    for kernel in {kernel for kernel, _ in recorder.options.sweep} - names:
        link.put(Note(f"sweep: no kernel named '{kernel}' was launched, only {', '.join(names) or 'none'}"))
    problems = {
        line for recorded in compilations for line in sweep_problems(recorded, recorder.options.sweep)
    }
    for line in sorted(problems):
        link.put(Note(line))
    additional = []
    for recorded in compilations:
        for source, options, tuned in swept(recorded, recorder.options.sweep):
            variant, new = recorder.record(source, options, recorded.target, tuned)
            if variant is not None and new:
                additional.append(variant)
    compile_recorded(additional, recorder.options, link)
