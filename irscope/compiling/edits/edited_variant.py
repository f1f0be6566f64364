"""Builds a variant from an edited stage of another one, with what is known of how that was compiled.

The unedited stage is rebuilt too, at the same time: if its machine code is not the original's, the edit is
not the only difference, and the variant says so.

Builds a stage file without a capture: what it is and what it was compiled for is read from its text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from irscope.compiling.toolchain.pass_edits import PassEditError
from irscope.compiling.toolchain.pass_edits import split_passes as parse_passes
from irscope.compiling.toolchain.rebuild import CompilerDiagnostic, PassEdits, RebuildError, Rebuilt, rebuild
from irscope.compiling.toolchain.rebuild_child import STAGE_MARK
from irscope.model import Config, SourceFunction, Target, UserError, Value, Variant
from irscope.model.files import check_regular
from irscope.model.records import frozen
from irscope.model.stage import gluon_stage
from irscope.model.text import printable
from irscope.model.variant import EDIT, ENVIRONMENT, Edit, edit_to_json, environment_components
from irscope.store.new_variant import NewVariant
from irscope.targets import backend_of, stage_named, stages_of, target_named
from irscope.targets.elf import code_digest

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


@frozen
class BuiltFile:
    """The build of a stage file: a variant with its kernel and versions."""

    source: SourceFunction
    new: NewVariant
    versions: Mapping[str, str]
    diagnostics: tuple[CompilerDiagnostic, ...]


def stage_of(path: Path) -> str:
    """Return the stage that a file's suffix names.

    Raises UserError if it names none that can be built from.
    """
    try:
        stage = stage_named(path.suffix[1:])
    except ValueError:
        raise UserError(f"{path}: its suffix names no stage (.ttir, .ttgir, .llir, .ptx, .amdgcn)") from None
    if stage.binary or stage.derived_from:
        raise UserError(f"{path}: nothing can be built from {stage.name}")
    return stage.name


def read_stage(path: Path) -> str:
    """Read the text of a stage file. Raises UserError if it cannot be read."""
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
    python: Path | None,
    ptxas: Path | None,
    seconds: float,
) -> BuiltFile:
    """Build everything below a stage file. Raises UserError, RebuildError."""
    stage, text = stage_of(path), read_stage(path)
    compile_target = target or _target(path, text)
    built = rebuild(
        stage, text, compile_target, options, edits=passes, python=python, ptxas=ptxas, seconds=seconds
    )
    name = next(iter(kernel_names(text)), path.stem)
    new = NewVariant(
        compile_target,
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
    """Return the target that the text names. Raises UserError if it names none."""
    for pattern, form in _TARGETS:
        if match := pattern.search(text):
            target = target_named(form.format(match[1]))
            if backend_of(target).targets:
                return target
    raise UserError(f"{path}: does not say what it is compiled for; give --target, for example cuda:90")


__all__ = [
    "BuiltVariant",
    "CompilerDiagnostic",
    "EditRequest",
    "PassEdits",
    "RebuildError",
    "build_variant",
    "first_stage",
    "split_passes",
]

NO_EDITS = PassEdits()
# The content of a stage of the original; None if it does not have it.
ReadStage = Callable[[str], bytes | None]

# Metadata of the original that is not the edit's.
_NOT_INHERITED = ("hash", EDIT)


@frozen
class EditRequest:
    """A build that starts at `stage` with `text` (None: the original's), with passes left out or replaced.

    `name` identifies the edit ("": a free one). `python` has the Triton to use, and may have another version
    than the original only if `any_triton`. `seconds` is the time limit.
    """

    stage: str
    text: str | None = None
    passes: PassEdits = NO_EDITS
    name: str = ""
    python: Path | None = None
    ptxas: Path | None = None
    any_triton: bool = False
    seconds: float = 600.0


@frozen
class BuiltVariant:
    """The variant of an edit before it is stored, its versions, and what the compiler reported."""

    new: NewVariant
    versions: Mapping[str, str]
    diagnostics: tuple[CompilerDiagnostic, ...]


def build_variant(
    original: Variant, read: ReadStage, request: EditRequest, taken: Collection[str]
) -> BuiltVariant:
    """Build the variant of an edit; `taken` are names of other edits.

    Raises RebuildError if the compiler rejects the stage, UserError if the original does not have it or was
    compiled by another Triton.
    """
    before = _text(original, read, request.stage)
    text = before if request.text is None else request.text
    if text == before and not request.passes and request.ptxas is None:
        raise UserError(f"{request.stage} of #{original.id} was not changed; there is nothing to build")
    _check_kernel(original, request.stage, before, text)
    earlier = _earlier_passes(original, request)
    passes = _joined(earlier, request.passes)
    with ThreadPoolExecutor(1) as pool:
        unedited = pool.submit(_unedited, original, before, request, earlier)
        rebuilt = _rebuild(original, text, request, passes)
        _check_triton(original, rebuilt, request)
        doubt = _doubt(original, read, unedited.result())
    edit = Edit(
        name=request.name or _free_name(request, taken),
        of=original.edit.name if original.edit else "",
        stage=request.stage,
        diff=_diff(before, text, request.stage),
        skipped=passes.skip,
        replaced=tuple((stage, ",".join(names)) for stage, names in passes.replace.items()),
        doubt=doubt,
    )
    versions = dict(original.toolchain.versions) | ({"triton": rebuilt.triton} if rebuilt.triton else {})
    return BuiltVariant(_variant(original, read, edit, text, rebuilt), versions, rebuilt.diagnostics)


def split_passes(text: str) -> tuple[str, ...]:
    """Return the passes of a list in MLIR's notation. Raises UserError if it is malformed."""
    try:
        return parse_passes(text)
    except PassEditError as error:
        raise UserError(f"--passes: {error}") from error


def first_stage(original: Variant) -> str:
    """Return the first stage that everything else can be built from: the front end's module, or TTIR.

    For an edit, return the stage that it was built from. Raises UserError if there is none.
    """
    if original.edit is not None and original.edit.stage in original.artifacts:
        return original.edit.stage
    for stage in ("source", "glir", "ttir", "ttgir"):
        if stage in original.artifacts:
            return stage
    raise UserError(f"#{original.id} has none of source, ttir and ttgir to build from")


def _text(original: Variant, read: ReadStage, stage: str) -> str:
    content = read(stage)
    if content is None:
        has = [
            stage_info.name
            for stage_info in stages_of(original)
            if stage_info.name in original.artifacts and not stage_info.binary
        ]
        raise UserError(f"#{original.id} has no {stage}; it has {', '.join(has) or 'no stage'}")
    return content.decode("utf-8", "replace")


def _check_kernel(original: Variant, stage: str, before: str, text: str) -> None:
    """Raise UserError if a stage defines another kernel than the original's: nothing could launch it."""
    expected, defined = kernel_names(before), kernel_names(text)
    if expected and not set(expected) & set(defined):
        of = f"has the kernel {printable(defined[0])}" if defined else "has no kernel"
        raise UserError(
            f"the edited {stage} {of}, and #{original.id} is {printable(expected[0])}: "
            "edit the stage of that variant, or keep the name of its kernel"
        )


def _earlier_passes(original: Variant, request: EditRequest) -> PassEdits:
    """Return the passes that an edit of an edit leaves out and replaces as that one did.

    Raises UserError if it is built from a stage above: its own edit would be lost.
    """
    edit = original.edit
    if edit is None or not edit.stage:
        return NO_EDITS
    order = [stage.name for stage in stages_of(original)]
    if order.index(request.stage) < order.index(edit.stage):
        raise UserError(
            f"#{original.id} was built from its {edit.stage}: build from that or a stage below,"
            f" not from {request.stage}"
        )
    if request.stage != edit.stage:
        return NO_EDITS
    return PassEdits(edit.skipped, {stage: split_passes(passes) for stage, passes in edit.replaced})


def _joined(earlier: PassEdits, passes: PassEdits) -> PassEdits:
    skip = tuple(dict.fromkeys([*earlier.skip, *passes.skip]))
    return PassEdits(skip, {**earlier.replace, **passes.replace})


def _unedited(
    original: Variant, before: str, request: EditRequest, passes: PassEdits
) -> Rebuilt | RebuildError:
    try:
        return _rebuild(original, before, replace(request, ptxas=None), passes)
    except RebuildError as error:
        return error


def _rebuild(original: Variant, text: str, request: EditRequest, passes: PassEdits) -> Rebuilt:
    return rebuild(
        request.stage,
        text,
        original.target,
        {**original.metadata, **dict(original.config.values)},
        metadata={k: value for k, value in original.metadata.items() if k not in _NOT_INHERITED},
        environment={name: value for name, value in original.environment.items() if name.isupper()},
        edits=passes,
        python=request.python,
        ptxas=request.ptxas,
        gluon=gluon_stage(original.artifacts) is not None,
        seconds=request.seconds,
    )


def _check_triton(original: Variant, rebuilt: Rebuilt, request: EditRequest) -> None:
    made_with = original.toolchain.versions.get("triton", "")
    if made_with and rebuilt.triton and rebuilt.triton != made_with and not request.any_triton:
        raise UserError(
            f"#{original.id} was compiled with Triton {made_with}, and this is {rebuilt.triton}: the edit"
            " would not be the only difference; give --python of one that has it, or --any-triton"
        )


def _doubt(original: Variant, read: ReadStage, unedited: Rebuilt | RebuildError) -> str:
    """Describe how a rebuild of the unedited stage differs from the original.

    Returns "" if the machine code is equal.
    """
    if isinstance(unedited, RebuildError):
        return f"the unedited stage does not build: {unedited}"
    binary = backend_of(original.target).binary
    before, after = read(binary), unedited.artifacts.get(binary)
    if before is None or after is None:
        return f"the original has no {binary} to compare with"
    if _code(before) == _code(after):
        return ""
    assembly = backend_of(original.target).assembly
    if read(assembly) in (unedited.artifacts.get(assembly), unedited.artifacts.get(binary)):
        return f"the assembler gives another {binary} each time for the same {assembly}"
    return f"rebuilding the unedited stage gives another {binary} than the original's"


def _code(content: bytes) -> str:
    try:
        return code_digest(content)
    except ValueError:  # damaged, as captures may be
        return ""


def _free_name(request: EditRequest, taken: Collection[str]) -> str:
    """Return a name that no other edit has: "ttgir-1", "no-tritongpu-prefetch"."""
    changed = request.text is not None or not request.passes.skip
    base = request.stage if changed else f"no-{request.passes.skip[0].replace('#', '-')}"
    names = [*([] if changed else [base]), *(f"{base}-{number}" for number in range(1, len(taken) + 2))]
    return next(name for name in names if name not in taken)


def _diff(before: str, after: str, stage: str) -> str:
    if before == after:
        return ""
    lines = difflib.unified_diff(
        before.split("\n"), after.split("\n"), stage, f"{stage} edited", "", "", 1, ""
    )
    return "\n".join(lines)


def _variant(original: Variant, read: ReadStage, edit: Edit, text: str, rebuilt: Rebuilt) -> NewVariant:
    """Create the new variant: the original's stages above the edited one, and the rebuilt ones below."""
    artifacts: dict[str, bytes] = {}
    for stage in stages_of(original):
        if stage.name == edit.stage:
            break
        if stage.name in original.artifacts and (content := read(stage.name)) is not None:
            artifacts[stage.name] = content
    artifacts[edit.stage] = text.encode()
    metadata: dict[str, Any] = {k: value for k, value in rebuilt.metadata.items() if k not in _NOT_INHERITED}
    environment = environment_components(original.cache_key)
    return NewVariant(
        original.target,
        original.specialization,
        original.config,
        metadata={**metadata, EDIT: edit_to_json(edit)},
        seconds=rebuilt.seconds,
        cache_key={**environment, f"{ENVIRONMENT}{EDIT}": edit.name},
        log=rebuilt.log,
        output="\n".join(
            line for line in rebuilt.output.splitlines() if line.strip() and not line.startswith(STAGE_MARK)
        ),
        artifacts={**artifacts, **rebuilt.artifacts},
        launches=original.launches,
    )
