"""Compiles a kernel of this program on a cluster, whose workers import the file that it is in."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irscope.capturing.cluster.cluster import Cluster
from irscope.capturing.compile.sweep import compile_plan, planned
from irscope.capturing.messages import SweepRequest
from irscope.capturing.record.in_process import CompileResult, axis_values
from irscope.model import Target, UserError
from irscope.store import CaptureReader, CaptureWriter
from irscope.toolchain.kernels import unwrap


def compile_on_cluster(
    kernel: Any,
    path: Path,
    signature: str | None,
    config: Mapping[str, Any],
    const: Mapping[str, Any],
    targets: tuple[Target, ...],
    seconds: float,
    force: bool,
    cluster: Any,
) -> CompileResult:
    """Compiles a `@triton.jit` function as `irscope compile --cluster` does.

    Raises UserError if the request does not fit the kernel, the kernel is not in a file that can be imported,
    `path` exists (unless `force`), or the cluster cannot be used.
    """
    request = _request(kernel, signature, config, const, targets)
    at = Cluster(cluster, lambda note: warnings.warn(f"irscope: {note}", stacklevel=5))
    with (
        planned(request, None, seconds=seconds, cluster=at) as (plan, executor),
        CaptureWriter.create(path, force) as writer,
    ):
        progress = compile_plan(plan, executor, writer, "irscope.compile", seconds, lambda *_: None)
    with CaptureReader(path) as capture:
        variants = capture.variants()
    first = next((variant.failure for variant in variants if variant.failure is not None), None)
    reused = sum(variant.cached and variant.failure is None for variant in variants)
    return CompileResult(progress.done - progress.failed, progress.failed, reused, first, plan.notes)


def _request(
    kernel: Any,
    signature: str | None,
    config: Mapping[str, Any],
    const: Mapping[str, Any],
    targets: tuple[Target, ...],
) -> SweepRequest:
    found = unwrap(kernel)
    if found is None:
        raise UserError(f"{kernel!r} is not a @triton.jit function")
    function = found.function.fn
    file = Path(function.__code__.co_filename)
    if not file.is_file() or "<locals>" in function.__qualname__:
        raise UserError(
            f"{function.__name__}: on a cluster, a kernel has to be at the top level of a file, which its"
            " workers import"
        )
    axes = {name: axis_values(value) for name, value in config.items()}
    request = SweepRequest(file, function.__name__, signature, const, axes, targets)
    try:
        pickle.dumps(request)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UserError(f"a value in config or const cannot be sent to another process: {error}") from error
    return request
