"""Builds a stage file without a capture: what it is and what it was compiled for is read from its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from irscope.backends import backend_of, stage_named, target_named
from irscope.model import Config, SourceFunction, Target, UserError, Value
from irscope.model.files import check_regular
from irscope.store.new_variant import NewVariant
from irscope.toolchain.diagnostics import Diagnostic
from irscope.toolchain.rebuild import PassEdits, rebuild

# The largest stage file; captures hold no larger stages either.
_MAX_BYTES = 256 * 1024 * 1024

_TARGETS = (
    (re.compile(r'ttg\.target = "((?:cuda|hip):\w+)"'), "{}"),
    (re.compile(r"^\.target sm_(\d+)", re.MULTILINE), "cuda:{}"),
    (re.compile(r'^\s*\.amdgcn_target "[\w.]+-amd-amdhsa-\w*-(gfx\w+)', re.MULTILINE), "hip:{}"),
    (re.compile(r'"target-cpu"="sm_(\d+)a?"'), "cuda:{}"),
    (re.compile(r'"target-cpu"="(gfx\w+)"'), "hip:{}"),
)
_KERNELS = (
    re.compile(r"tt\.func public @([\w$.]+)"),
    re.compile(r"^define (?:ptx_kernel|amdgpu_kernel) \w+ @([\w$.]+)", re.MULTILINE),
    re.compile(r"\.visible \.entry ([\w$]+)"),
    re.compile(r"^\s*\.amdhsa_kernel ([\w$.]+)", re.MULTILINE),
)


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """The build of a stage file: a variant with its kernel and versions."""

    source: SourceFunction
    new: NewVariant
    versions: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]


def stage_of(path: Path) -> str:
    """The stage that a file's suffix names. Raises UserError if it names none that can be built from."""
    try:
        stage = stage_named(path.suffix[1:])
    except ValueError:
        raise UserError(f"{path}: its suffix names no stage (.ttir, .ttgir, .llir, .ptx, .amdgcn)") from None
    if stage.binary or stage.derived_from:
        raise UserError(f"{path}: nothing can be built from {stage.name}")
    return stage.name


def read_stage(path: Path) -> str:
    """The text of a stage file. Raises UserError if it cannot be read."""
    try:
        if check_regular(path).st_size > _MAX_BYTES:
            raise UserError(f"{path}: larger than {_MAX_BYTES:,} bytes")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def build_file(
    path: Path,
    target: Target | None,
    options: Mapping[str, Value],
    passes: PassEdits,
    python: Path | None = None,
    ptxas: Path | None = None,
    seconds: float = 600.0,
) -> BuiltFile:
    """Builds everything below a stage file. Raises UserError, RebuildError."""
    stage, text = stage_of(path), read_stage(path)
    found = target or _target(path, text)
    built = rebuild(stage, text, found, options, edits=passes, python=python, ptxas=ptxas, seconds=seconds)
    name = next(iter(kernel_names(text)), path.stem)
    new = NewVariant(
        found,
        (),
        Config(tuple(sorted(options.items(), key=lambda pair: pair[0]))),
        metadata=built.metadata,
        seconds=built.seconds,
        log=built.log,
        artifacts={stage: text.encode(), **built.artifacts},
    )
    source = SourceFunction(name, str(path), 1, "")
    return BuiltFile(source, new, {"triton": built.triton}, built.diagnostics)


def kernel_names(text: str) -> list[str]:
    """Return the names of the kernels that the text of a stage defines, in any language."""
    return [name for pattern in _KERNELS for name in pattern.findall(text)]


def _target(path: Path, text: str) -> Target:
    """The target that the text names. Raises UserError if it names none."""
    for pattern, form in _TARGETS:
        if match := pattern.search(text):
            target = target_named(form.format(match[1]))
            if backend_of(target).targets:
                return target
    raise UserError(f"{path}: does not say what it is compiled for; give --target, for example cuda:90")
