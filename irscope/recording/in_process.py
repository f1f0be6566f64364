"""Capturing from Python: what a block of code launches, or one kernel under its configs.

Compiles a kernel of this program on a cluster, whose workers import the file that it is in.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from irscope.compiling.cluster.cluster import Cluster
from irscope.compiling.job import Job
from irscope.compiling.kernels import FoundKernel, unwrap
from irscope.compiling.messages import (
    Finished,
    KernelRecorded,
    RunOptions,
    SweepRequest,
    ToolchainUsed,
    VariantDone,
)
from irscope.compiling.plan import plan_for
from irscope.compiling.sweep import compile_plan, planned, unfinished_variant
from irscope.compiling.toolchain.compiler import source_of
from irscope.compiling.toolchain.requested_config import TunedNames
from irscope.compiling.toolchain.stub_driver import gpu_target
from irscope.model import Failure, Target, UserError
from irscope.model.records import frozen
from irscope.recording.background_writer import BackgroundWriter
from irscope.recording.deferred import compile_forked
from irscope.recording.process_recorder import recording, with_default_target
from irscope.recording.recorder import RecordedCompilation
from irscope.store import CaptureReader
from irscope.store.writer import CaptureWriter

# A device number that no GPU has; see session.recording.
_NO_GPU = 1 << 20


def open_background_writer(path: Path, command: str, force: bool) -> BackgroundWriter:
    """Create a capture at `path` and open its writer.

    Raises UserError if it exists (unless `force`) or cannot be created.
    """
    return BackgroundWriter(partial(CaptureWriter.create, path, force), command, lambda _: None)


class CapturedBlock:
    """The context of `with irscope.capture(...)`: captures what Triton compiles within the block.

    Warns at its end, for example of a name in `sweep` that no kernel has.
    """

    def __init__(self, path: Path, options: RunOptions, force: bool) -> None:
        self.path = path
        self._options, self._force = options, force
        self._stack = ExitStack()
        self._notes: list[str] = []

    def __enter__(self) -> CapturedBlock:
        with ExitStack() as stack:  # closes the capture if the recording cannot start
            writer = open_background_writer(self.path, "irscope.capture", self._force)
            self._notes = writer.written.notes
            stack.callback(writer.close)
            stack.callback(writer.ask, Finished())
            stack.enter_context(recording(with_default_target(self._options), writer, _NO_GPU))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        for note in self._notes:
            warnings.warn(f"irscope: {note}", stacklevel=2)


@frozen
class CompileResult:
    """The result of `compile_kernel`, in numbers of variants.

    `compiled` succeeded; `reused` of these came from Triton's cache; `failed` did not compile, and
    `first_failure` is the failure of the first of them. `notes` are lines for the user.
    """

    compiled: int
    failed: int
    reused: int
    first_failure: Failure | None
    notes: tuple[str, ...]


def compile_kernel(
    found_kernel: FoundKernel,
    request: SweepRequest,
    path: Path,
    processes: int | None,
    seconds: float,
    force: bool,
) -> CompileResult:
    """Compiles a `@triton.jit` function as `irscope compile` does, wherever it is defined.

    Raises UserError if the request does not fit the kernel or `path` exists (unless `force`). Variants
    that fail are counted in the result.
    """
    plan = plan_for(found_kernel, request)
    failures: dict[int, Failure] = {}
    reused = 0
    writer = open_background_writer(path, "irscope.compile", force)
    try:
        writer.put(ToolchainUsed(plan.versions))
        writer.put(KernelRecorded(0, plan.source, plan.helpers, plan.parameters))
        compilations = [_compilation(found_kernel, number, job) for number, job in enumerate(plan.jobs)]
        for recorded, outcome in compile_forked(compilations, processes, seconds):
            writer.put(VariantDone(recorded.number, 0, outcome.added_to(recorded.variant)))
            reused += outcome.cached and outcome.failure is None
            if outcome.failure is not None:
                failures[recorded.number] = outcome.failure
    finally:
        writer.close()
    first = failures[min(failures)] if failures else None
    return CompileResult(len(plan.jobs) - len(failures), len(failures), reused, first, plan.notes)


def axis_values(value: Any) -> tuple[Any, ...]:
    """Return the values of a config entry: those in a list or tuple, or one value.

    A named tuple is one value.
    """
    return tuple(value) if type(value) in (list, tuple) else (value,)


def _compilation(found: FoundKernel, number: int, job: Job) -> RecordedCompilation:
    source, options = source_of(found, job)
    target, variant = gpu_target(job.target), unfinished_variant(job)
    return RecordedCompilation(number, 0, source, options, target, variant, TunedNames())


def compile_on_cluster(
    found_kernel: FoundKernel, request: SweepRequest, path: Path, seconds: float, force: bool, cluster: Any
) -> CompileResult:
    """Compiles a `@triton.jit` function as `irscope compile --cluster` does.

    Raises UserError if the request does not fit the kernel, the kernel is not in a file that can be imported,
    `path` exists (unless `force`), or the cluster cannot be used.
    """
    function = found_kernel.function.fn
    if not request.file.is_file() or "<locals>" in function.__qualname__:
        raise UserError(
            f"{function.__name__}: on a cluster, a kernel has to be at the top level of a file, which its"
            " workers import"
        )
    try:
        pickle.dumps(request)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UserError(f"a value in config or const cannot be sent to another process: {error}") from error
    dask_cluster = Cluster(cluster, lambda note: warnings.warn(f"irscope: {note}", stacklevel=5))
    with (
        planned(request, None, seconds=seconds, cluster=dask_cluster) as (plan, executor),
        CaptureWriter.create(path, force) as writer,
    ):
        progress = compile_plan(plan, executor, writer, "irscope.compile", seconds, lambda *_: None)
    with CaptureReader(path) as capture:
        variants = capture.variants()
    first = next((variant.failure for variant in variants if variant.failure is not None), None)
    reused = sum(variant.cached and variant.failure is None for variant in variants)
    return CompileResult(progress.done - progress.failed, progress.failed, reused, first, plan.notes)


def kernel_request(
    kernel: Any,
    signature: str | None,
    config: Mapping[str, Any],
    const: Mapping[str, Any],
    targets: tuple[Target, ...],
) -> tuple[FoundKernel, SweepRequest]:
    """Return the kernel and the request for it. Raises UserError if it is not a `@triton.jit` function."""
    found_kernel = unwrap(kernel)
    if found_kernel is None:
        helion = type(kernel).__module__.startswith("helion.")
        advice = "; launch a Helion kernel within irscope.capture" if helion else ""
        raise UserError(f"{kernel!r} is not a @triton.jit function{advice}")
    function = found_kernel.function.fn
    axes = {name: axis_values(value) for name, value in config.items()}
    file = Path(function.__code__.co_filename)
    return found_kernel, SweepRequest(file, function.__name__, signature, const, axes, targets)
