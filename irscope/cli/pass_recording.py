"""Compiles variants once more with their passes, as a user of the app asks, and stores them like what-ifs."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from irscope.compiling.messages import Plan, WhatIfRequest
from irscope.compiling.pool import Stop, Stopped, Worker, run_jobs
from irscope.compiling.sweep import IMPORT_SECONDS, compiled_before, unfinished_variant
from irscope.model import UserError, Variant
from irscope.tui.live_connection import Publish
from irscope.workspace import CaptureWriter
from irscope.workspace.live import PassesRecorded, PassesRefused
from irscope.workspace.what_if import PassRequest

if TYPE_CHECKING:
    from irscope.cli.what_if import Storage
    from irscope.store import NewVariant


def record_passes(
    request: PassRequest, storage: Storage, seconds: float, publish: Publish, stop: Stop, worker: Worker
) -> None:
    """Compiles and stores a variant with its passes; ends the worker."""
    variant, workers = request.variant, [worker]
    try:
        plan = worker.ask(_what_if_request(request), IMPORT_SECONDS, stop)
        _check_same(plan, request)
        new = _compile(plan, variant, workers, seconds, stop)
        storage.store(partial(_write, variant, new, storage, publish))
    except Stopped:  # the app has quit
        pass
    except (UserError, OSError, sqlite3.Error) as error:
        publish(PassesRefused(variant.id, str(error)))
    finally:
        for started_worker in workers:
            started_worker.stop()


def _what_if_request(request: PassRequest) -> WhatIfRequest:
    variant = request.variant
    kernel_place = request.file, variant.kernel.name, variant.target
    reasons = variant.reasons is not None
    return WhatIfRequest(*kernel_place, variant.specialization, variant.config, {}, reasons, passes=True)


def _check_same(plan: Plan, request: PassRequest) -> None:
    """Raise UserError unless the first job of a plan compiles the variant as it was compiled before.

    A function that has moved within its file, or with it, is the same.
    """
    variant, kernel = request.variant, request.variant.kernel
    texts = [function.text for function in (plan.source, *plan.helpers)]
    if texts != [function.text for function in (kernel.source, *kernel.helpers)]:
        raise UserError(f"{kernel.name} in {request.file} has changed since #{variant.id} was compiled")
    placed = replace(plan, source=kernel.source, helpers=kernel.helpers)
    if plan.jobs[0] not in compiled_before(placed, [variant]):
        raise UserError(f"#{variant.id} was compiled with other settings of Triton than irscope has now")


def _compile(plan: Plan, variant: Variant, workers: list[Worker], seconds: float, stop: Stop) -> NewVariant:
    """Return the variant with its passes. Raise UserError if it has none, or fails unlike before."""
    job = plan.jobs[0]
    ((_, outcome),) = run_jobs([job], workers, seconds, lambda _: None, stop=stop)
    new = outcome.added_to(unfinished_variant(job))
    if new.failure is not None and (variant.failure is None or not new.passes):
        raise UserError(f"#{variant.id} with passes: {new.failure.summary}")
    if not new.passes:
        raise UserError(f"#{variant.id} has no passes that can be recorded")
    return replace(new, config=variant.config, launches=variant.launches, benchmarks=variant.benchmarks)


def _write(
    variant: Variant, new: NewVariant, storage: Storage, publish: Publish, writer: CaptureWriter
) -> None:
    """Add the variant; in a capture that has it without passes, it replaces that one."""
    kernel, toolchain = variant.kernel, variant.toolchain
    stored = writer.add_variant(
        writer.add_kernel(kernel.source, kernel.helpers, kernel.parameters),
        writer.add_toolchain(toolchain.versions, toolchain.command),
        toolchain.versions.get("triton", ""),
        new,
        variant.id,
    )
    publish(PassesRecorded(variant.id, storage.path, stored))
