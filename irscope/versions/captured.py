"""The variants of a capture as a request: which kernels, from which files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from irscope.model import Kernel, Launch, Target, UserError, Variant
from irscope.model.text import pluralize
from irscope.store import CaptureReader
from irscope.toolchain.job import Job
from irscope.versions.requests import PTXAS, CaptureRequest

_MAX_LISTED = 3


def captured_request(
    path: Path, kernel: str | None, targets: Sequence[Target], passes: bool
) -> CaptureRequest:
    """The variants of a capture whose kernel matches the glob `kernel`, for `targets` (none: all).

    A variant that several versions compiled is one. Raises UserError if none matches, or the files are gone.
    """
    with CaptureReader(path) as reader:
        variants = list(reader.variants())
    chosen = [
        variant
        for variant in variants
        if fnmatchcase(variant.kernel.name, kernel or "*") and (not targets or variant.target in targets)
    ]
    if not chosen:
        names = ", ".join(dict.fromkeys(f"{v.kernel.name} {v.target}" for v in variants)) or "no variants"
        raise UserError(f"{path}: no variant matches --kernel and --target; it has {names}")
    groups: dict[tuple[str, str], dict[Kernel, list[Variant]]] = {}
    for variant in chosen:
        name = variant.kernel.name, variant.kernel.source.file
        groups.setdefault(name, {}).setdefault(variant.kernel, []).append(variant)
    kernels: dict[Kernel, list[Variant]] = {}
    for sources in groups.values():
        latest = max(sources, key=lambda each: each.id)  # the file has one source
        kernels[latest] = [variant for group in sources.values() for variant in group]
    files = {each: Path(each.source.file) for each in kernels if Path(each.source.file).is_file()}
    if not files:
        raise UserError(f"{path}: {_gone(kernels)}; compile them again where these files are")
    return CaptureRequest({each: kernels[each] for each in files}, files, passes)


def left_out(path: Path, request: CaptureRequest, kernel: str | None) -> Iterator[str]:
    """A line per kernel whose file is gone or has another source now, and for what the environment lacks."""
    with CaptureReader(path) as reader:
        found = dict.fromkeys(variant.kernel for variant in reader.variants())
    wanted = [each for each in found if fnmatchcase(each.name, kernel or "*")]
    if gone := [each for each in wanted if not Path(each.source.file).is_file()]:
        yield f"not compiled: {_gone(dict.fromkeys(gone))}"
    environments = dict.fromkeys(
        f"{name}={value}"
        for variants in request.kernels.values()
        for variant in variants
        for name, value in variant.environment.items()
        if name != PTXAS and os.environ.get(name) != value
    )
    if environments:
        yield f"some variants were compiled with {', '.join(environments)}, which is not set now"
    for each, file in request.files.items():
        text = file.read_text(encoding="utf-8", errors="replace")
        if each.source.text.strip() not in text:
            yield f"{file}: {each.name} differs from the captured one; it is compiled as it is now"


def launches_of(request: CaptureRequest) -> Mapping[tuple[object, ...], tuple[Launch, ...]]:
    """The recorded launches by what `launch_key` gives for a job or variant."""
    return {
        launch_key(variant): variant.launches
        for variants in request.kernels.values()
        for variant in variants
        if variant.launches
    }


def launch_key(item: Job | Variant) -> tuple[object, ...]:
    """Identifies a variant, whatever the version."""
    name = item.kernel if isinstance(item.kernel, str) else item.kernel.name
    return name, item.target, item.specialization, item.config


def _gone(kernels: Mapping[Kernel, object]) -> str:
    names = [f"{each.name} ({each.source.file})" for each in kernels]
    more = f" and {pluralize(len(names) - _MAX_LISTED, 'more kernel')}" if len(names) > _MAX_LISTED else ""
    return f"no such file any more: {', '.join(names[:_MAX_LISTED])}{more}"
