"""Records what a program compiles and launches without a GPU, with a stub in place of Triton's driver.

Programs whose autotuners choose what pins say, instead of compiling and measuring every config.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

from irscope.compiling.fake_cuda import libraries
from irscope.compiling.fake_cuda.unknown_value import Assumptions, checked_arguments
from irscope.compiling.messages import CompilationsStarted, MissingQuery, Note, RunOptions, VariantDone
from irscope.compiling.toolchain.patching import never_raises, once_imported, patched
from irscope.compiling.toolchain.pinned_tuning import PinnedTuning, write_autotune_files
from irscope.compiling.toolchain.requested_config import TunedNames
from irscope.compiling.toolchain.stub_driver import StubDriver, register_usage
from irscope.recording.deferred import DeferredCompilations, compile_forked
from irscope.recording.launch_records import written_parameters
from irscope.recording.program_link import Link
from irscope.recording.recorder import RecordedCompilation, Recorder, recorded_frontends
from irscope.recording.triton_hooks import intercepted_compilations


@contextmanager
def pinned_autotuners(recorder: Recorder) -> Iterator[None]:
    """Within the block, the program's autotuners use the pins; their files are written after it."""
    pinned = PinnedTuning(recorder.options.pins)
    try:
        with pinned.installed():
            yield
    finally:
        _finish(recorder, pinned)


@never_raises
def _finish(recorder: Recorder, pinned: PinnedTuning) -> None:
    write_autotune_files(pinned.files.values())
    for line in (*pinned.problems, *pinned.unpinned_lines()):
        recorder.send(Note(line))


@contextmanager
def recording_on_stub(recorder: Recorder, stub: StubDriver, link: Link) -> Iterator[DeferredCompilations]:
    """Record everything that is compiled and launched within the block, and compiles it when that ends."""
    from triton.runtime import JITFunction, driver

    before = driver._active
    driver.set_active(stub)
    with ExitStack() as stack:
        stack.callback(driver.set_active, before)
        once_imported("torch", partial(_fake_cuda, stub, recorder.options, stack))
        once_imported(libraries.MODULE, partial(_keep_caches, recorder, stack))
        stack.enter_context(patched(JITFunction, "run", checked_arguments(JITFunction.run)))
        deferred = DeferredCompilations(
            recorder,
            lambda recorded: _compile_now(recorded, stub, recorder, link),
            _mark_written,
            _without_torch_modes,
        )
        stack.callback(deferred.remove_kernels, stub.get_current_device())
        stack.callback(compile_pending, deferred, recorder.options, link)
        stack.enter_context(intercepted_compilations(deferred.on_jit, _on_direct(recorder, stub, link)))
        stack.enter_context(recorded_frontends(recorder))
        if recorder.options.pins:
            stack.enter_context(pinned_autotuners(recorder))
        yield deferred


def _fake_cuda(stub: StubDriver, options: RunOptions, stack: ExitStack) -> None:
    """From now on, CPU tensors simulate CUDA tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program might not import these modules of torch
        from irscope.compiling.fake_cuda.torch_cuda import fake_cuda

    stack.enter_context(fake_cuda(stub.target, Assumptions(options.assumed)))


def _keep_caches(recorder: Recorder, stack: ExitStack) -> None:
    """From now on, flag_gems' autotuner does not store invented times."""
    caches = libraries.flag_gems_caches_in_memory(lambda line: recorder.send(Note(line)))
    stack.enter_context(caches)


def _without_torch_modes() -> AbstractContextManager[None]:
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch._C.DisableTorchFunction()


def _on_direct(recorder: Recorder, stub: StubDriver, link: Link) -> Callable[..., Any]:
    """Handle direct calls of triton.compile without a GPU: compiles and record at once."""

    def compile_(source: Any, target: Any, options: Any, tuned: TunedNames, call: Callable[[], Any]) -> Any:
        recorded, new = recorder.request(source, target, options, tuned)
        if recorded is not None and new:
            compile_recorded([recorded], recorder.options, link)
        kernel = call()
        stub.utils.registers[kernel.kernel] = register_usage(stub.target, kernel.asm)
        return kernel

    return compile_


def _mark_written(function: Any, arguments: tuple[Any, ...]) -> None:
    """Mark the values of the tensors that a launched kernel may write to as unknown."""
    if "torch" not in sys.modules:
        return
    from irscope.compiling.fake_cuda.tensor_tags import set_unknown

    written_names = written_parameters(function)
    for parameter, value in zip(function.params, arguments, strict=False):
        if parameter.name in written_names:
            set_unknown([value, getattr(value, "base", None)])


def _compile_now(recorded: RecordedCompilation, stub: StubDriver, recorder: Recorder, link: Link) -> Any:
    """Compiles a kernel that the program inspects: in a worker, then from Triton's cache."""
    import triton

    if not recorded.sent:
        compile_recorded([recorded], recorder.options, link)
    kernel = triton.compiler.compiler.compile(
        recorded.source, target=recorded.target, options=vars(recorded.options)
    )
    stub.utils.registers[kernel.kernel] = register_usage(stub.target, kernel.asm)
    return kernel


def compile_pending(deferred: DeferredCompilations, options: RunOptions, link: Link) -> None:
    """Compiles the recorded compilations that are neither done nor in the capture already."""
    pending = [recorded for recorded in deferred.pending if not recorded.sent]
    if not pending:
        return
    answer = link.ask(MissingQuery(tuple((recorded.kernel, recorded.variant) for recorded in pending)))
    if answer is not None and answer.missing:
        pending = [recorded for recorded, missing in zip(pending, answer.missing, strict=True) if missing]
    compile_recorded(pending, options, link)


def compile_recorded(compilations: list[RecordedCompilation], options: RunOptions, link: Link) -> None:
    """Compiles in forked workers, and sends each variant when it is done."""
    if not compilations:
        return
    link.put(CompilationsStarted(len(compilations)))
    for recorded, outcome in compile_forked(compilations, options.processes, options.seconds, options.passes):
        recorded.sent = True
        variant = outcome.added_to(recorded.variant)
        link.put(VariantDone(recorded.number, recorded.kernel, variant, recorded.files))
