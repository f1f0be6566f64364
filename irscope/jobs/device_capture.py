"""Compiles the variants of a capture for the targets of other devices, on demand, into the user's cache.

The file has the variants of the capture as well. It is kept until the capture changes, so that a second
question compiles nothing.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from irscope.jobs.versions.environments import Environment, own_triton
from irscope.jobs.versions.requests import CaptureRequest, launch_key
from irscope.jobs.versions.version_sweep import compile_versions, planned_environments
from irscope.model import Target, UserError, Variant
from irscope.store import CaptureReader, CaptureWriter
from irscope.store.merge_captures import MergedCapture

Report = Callable[[int, int], None]


def missing_targets(variants: Sequence[Variant], targets: Sequence[Target]) -> list[Target]:
    """Return the targets for which no variant was compiled."""
    present = {variant.target for variant in variants}
    return [target for target in dict.fromkeys(targets) if target not in present]


def for_targets(request: CaptureRequest, targets: Sequence[Target]) -> CaptureRequest:
    """Return a request for the same configs and specializations, each for all of `targets`.

    A config that was captured for several targets is one.
    """
    kernels = {}
    for kernel, variants in request.kernels.items():
        configs = {(variant.specialization, variant.config): variant for variant in reversed(variants)}
        ordered = list(reversed(configs.values()))
        kernels[kernel] = [replace(variant, target=target) for variant in ordered for target in targets]
    return replace(request, kernels=kernels)


def compile_for(
    path: Path,
    request: CaptureRequest,
    targets: Sequence[Target],
    processes: int | None,
    seconds: float,
    report: Report,
) -> tuple[Path, list[str]]:
    """Compiles what the cache lacks of a capture's configs for `targets`.

    Returns a capture with these and the original variants, and a line per kernel that cannot be planned.
    `seconds` is the time limit per variant. Raises UserError if Triton is missing, or no kernel can be
    compiled.
    """
    own = own_triton()
    if own is None:
        raise UserError("other devices need Triton, which compiles for them: pip install triton")
    environment = Environment(own[0], Path(sys.executable), own[1])
    cached = _cached(path, environment)
    if not cached.exists():
        for old in cached.parent.glob(f"{cached.name.rpartition('-')[0]}-*"):
            old.unlink(missing_ok=True)
        cached.parent.mkdir(parents=True, exist_ok=True)
        MergedCapture.write([path], cached)
    launches = {
        (*launch_key(variant)[:1], target, *launch_key(variant)[2:]): variant.launches
        for variants in request.kernels.values()
        for variant in variants
        if variant.launches
        for target in targets
    }
    asked = for_targets(request, targets)
    with CaptureReader(cached) as reader:
        compiled = {launch_key(variant) for variant in reader.variants()}
    if all(launch_key(variant) in compiled for variants in asked.kernels.values() for variant in variants):
        return cached, []
    with (
        planned_environments(asked, [environment], processes, seconds) as planned,
        CaptureWriter.resume(cached) as writer,
    ):
        rejected = list(dict.fromkeys(line for sweep in planned for line in sweep.rejected))
        compile_versions(
            planned,
            writer,
            shlex.join(sys.argv),
            processes,
            seconds,
            lambda progress: report(progress.kept + progress.done, progress.total),
            launches,
        )
    return cached, rejected


def _cached(path: Path, environment: Environment) -> Path:
    """Return the file in the cache: another one if the capture or the compiler changes."""
    import platformdirs

    state = path.stat()
    resolved = str(path.resolve())
    identity = f"{resolved}\0{state.st_size}\0{state.st_mtime_ns}\0{environment.identity}"
    place, content = (
        hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        for text in (resolved, identity)
    )
    base = Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope"))
    return base / "devices" / f"{place}-{content}.irscope"
