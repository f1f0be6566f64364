"""Capturing from Python: what a block of code launches, or one kernel under its configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from irscope.capturing.compile.plan import plan_for
from irscope.capturing.compile.request import Job, Outcome, Plan, SweepRequest
from irscope.capturing.messages import Finished, KernelSeen, RunOptions, VariantDone, Versions
from irscope.capturing.record.background_writer import Writing, Written
from irscope.capturing.record.forked import compile_forked
from irscope.capturing.record.recorder import Recorded, Tuning
from irscope.capturing.record.session import capturing, no_gpu_note
from irscope.model import Target, UserError, Value
from irscope.store.writer import CaptureWriter, NewVariant
from irscope.toolchain.compiler import source_of
from irscope.toolchain.kernels import parameters, unwrap
from irscope.toolchain.stub_driver import gpu_target

# A device number that no GPU has: see session.capturing.
_NO_GPU = 1 << 20


def open_writing(path: Path, command: str, force: bool) -> Writing:
    """A new capture at `path`. Raises UserError where it exists (unless `force`) or cannot be."""
    return Writing(partial(CaptureWriter.create, path, force), command, lambda _: None)


class CapturedBlock:
    """The context of `with irscope.capture(...)`: captures what Triton compiles inside it."""

    def __init__(self, path: Path, options: RunOptions, force: bool) -> None:
        self.path = path
        self._options, self._force = options, force
        self._stack = ExitStack()

    def __enter__(self) -> CapturedBlock:
        writing = open_writing(self.path, "irscope.capture", self._force)
        self._stack.callback(writing.close)
        self._stack.callback(writing.ask, Finished())
        self._stack.enter_context(capturing(no_gpu_note(self._options), writing, _NO_GPU))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def compile_kernel(
    kernel: Any,
    path: Path,
    signature: str | None,
    config: Mapping[str, Value | Sequence[Value]],
    const: Mapping[str, Value],
    targets: tuple[Target, ...],
    processes: int | None,
    seconds: float,
    force: bool,
) -> Written:
    """Compiles a `@triton.jit` function as `irscope compile` does, wherever it is defined.

    Raises UserError where the request does not fit it.
    """
    found = unwrap(kernel)
    if found is None:
        raise UserError(f"{kernel!r} is no @triton.jit function")
    axes = {name: tuple(v) if isinstance(v, list | tuple) else (v,) for name, v in config.items()}
    request = SweepRequest(
        Path(found.function.fn.__code__.co_filename),
        found.function.fn.__name__,
        signature,
        const,
        axes,
        targets,
    )
    plan = plan_for(found, request)
    writing = open_writing(path, "irscope.compile", force)
    writing.put(Versions(plan.versions))
    names = tuple(parameter.name for parameter in parameters(found.function))
    writing.put(KernelSeen(0, plan.source, plan.helpers, names))
    for recorded, outcome in compile_forked(_recorded(found.function, plan), processes, seconds):
        made = {field.name: getattr(outcome, field.name) for field in fields(Outcome)}
        writing.put(VariantDone(recorded.number, 0, replace(recorded.variant, **made)))
    return writing.close()


def _recorded(function: Any, plan: Plan) -> list[Recorded]:
    return [_record(function, number, job) for number, job in enumerate(plan.jobs)]


def _record(function: Any, number: int, job: Job) -> Recorded:
    source, options = source_of(function, job)
    variant = NewVariant(job.target, job.specialization, job.config)
    return Recorded(number, 0, source, options, gpu_target(job.target), variant, Tuning())
