"""The process that rebuilds: it makes the stages below a stage's text with Triton's own backend.

It is started with a folder: `request.json` and the text are its input; each stage that it makes is a file
there as soon as it is made, then `result.json`. If LLVM ends the process, the files of the stages before
remain. It runs with every Triton from 3.6 to 3.9, also in a Python that has none of the packages that irscope
needs.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from irscope.compiling.toolchain.pass_edits import PassEditError, edited_passes

REQUEST, RESULT, CURRENT = "request.json", "result.json", "current"
# Written to fd 2 before each stage, so that what the compiler prints there can be assigned to it.
STAGE_MARK = "==irscope stage "

# A stage of a Triton backend: takes the module or text and the metadata, returns the next.
_Run = Callable[[Any, dict[str, Any]], Any]

_MLIR = ("source", "ttir", "glir", "ttgir")
# Options that the backend computes from the target and its own installation.
_COMPUTED_OPTIONS = frozenset({
    "arch",
    "backend_name",
    "warp_size",
    "extern_libs",
    "ir_override",
    "supported_fp8_dtypes",
    "deprecated_fp8_dot_operand_dtypes",
    "default_dot_input_precision",
    "allowed_dot_input_precisions",
    "max_num_imprecise_acc_default",
    "ptx_version",
})  # fmt: skip
_PTX_VERSION = re.compile(r"^\.version (\d+)\.(\d+)", re.MULTILINE)


def main(folder: str) -> int:
    """Rebuild as `request.json` in the folder says. Returns 0 if all stages were made."""
    place = Path(folder)
    request = json.loads((place / REQUEST).read_text())
    result: dict[str, Any] = {
        "metadata": {}, "seconds": {}, "log": None, "notes": [], "skipped": [], "ran": {}, "error": None
    }  # fmt: skip
    try:
        _rebuild(place, request, result)
    except Exception as error:  # noqa: BLE001 - whatever Triton raises is the result
        result["error"] = [type(error).__name__, str(error)]
    (place / RESULT).write_text(json.dumps(result, default=_jsonable))
    return 0 if result["error"] is None else 1


def _rebuild(place: Path, request: Mapping[str, Any], result: dict[str, Any]) -> None:
    import triton
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    target = GPUTarget(*request["target"])
    backend = make_backend(target)
    stage = result["stage"] = request["stage"]
    result["triton"] = triton.__version__
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    _enter(place, stage)
    module = _parsed(place / f"input.{stage}", stage, context, ir)
    options = backend.parse_options(_options(request["options"], module if stage in _MLIR else None, stage))
    if stage == "ptx":
        module = _readable_ptx(module, backend, options, result["notes"])
    if stage not in _MLIR:
        _prepare_llvm(backend)
    metadata = result["metadata"] = _first_metadata(request, options, stage)
    below = _stages_below(backend, options, stage, bool(request["gluon"]))
    for name, run in below.items():
        _enter(place, name)
        start = time.perf_counter()
        module = _run(name, run, backend, request, module, metadata, result)
        result["seconds"][name] = time.perf_counter() - start
        content = module if isinstance(module, bytes) else str(module).encode()
        (place / f"made.{name}").write_bytes(content)
        if name == request["until"]:
            break
    _check_skipped(request["skip"], result)


def _run(
    name: str,
    run: _Run,
    backend: Any,
    request: Mapping[str, Any],
    module: Any,
    metadata: dict[str, Any],
    result: dict[str, Any],
) -> Any:
    """Make a stage, with the passes edited as requested; keeps the log of ptxas."""
    printed, logged = io.StringIO(), name == request["log_stage"]
    replacement = request["passes"].get(name)
    with edited_passes(backend, request["skip"], replacement) as applied:
        try:
            with contextlib.redirect_stdout(printed) if logged else contextlib.nullcontext():
                module = run(module, metadata)
        finally:
            result["ran"][name] = applied.ran
            result["skipped"] += applied.skipped
            if logged:
                result["log"] = printed.getvalue()
    return module


def _check_skipped(skip: Sequence[str], result: Mapping[str, Any]) -> None:
    """Raise PassEditError if a pass that should be skipped is not among those that would have run."""
    for name in skip:
        if name.partition("#")[0] not in result["skipped"]:
            ran = sorted({pass_name for names in result["ran"].values() for pass_name in names})
            near = difflib.get_close_matches(name, ran, 1)
            hint = f"did you mean {near[0]}?" if near else f"those that ran: {', '.join(ran)}"
            raise PassEditError(f"no pass '{name}' runs below {result['stage']}; {hint}")


def _enter(place: Path, stage: str) -> None:
    """Says which stage is being made: in a file for a process that does not survive, and on fd 2."""
    (place / CURRENT).write_text(stage)
    os.write(2, f"\n{STAGE_MARK}{stage}\n".encode())


def _parsed(path: Path, stage: str, context: Any, ir: Any) -> Any:
    if stage not in _MLIR:
        return path.read_text()
    module = ir.parse_mlir_module(str(path), context)
    module.context = context
    return module


def _options(given: Mapping[str, Any], module: Any, stage: str) -> dict[str, Any]:
    """Return the options for the backend: the module's own number of warps and blocks come first."""
    options = {name: _hashable(value) for name, value in given.items() if name not in _COMPUTED_OPTIONS}
    if stage in ("glir", "ttgir"):
        for name in ("num_warps", "num_ctas"):
            value = module.get_int_attr(f"ttg.{name.replace('_', '-')}")
            if value is not None:
                options[name] = value
    return options


def _stages_below(backend: Any, options: Any, stage: str, gluon: bool) -> dict[str, _Run]:
    from triton import knobs
    from triton.backends.compiler import Language

    stages: dict[str, _Run] = {}
    with knobs.runtime.scope():
        knobs.runtime.add_stages_inspection_hook = None
        backend.add_stages(stages, options, Language.GLUON if gluon or stage == "glir" else Language.TRITON)
    if stage == "source":
        return stages
    if stage not in stages:
        raise ValueError(f"the {backend.target.backend} backend has no stage {stage}")
    names = list(stages)
    return {name: stages[name] for name in names[names.index(stage) + 1 :]}


def _prepare_llvm(backend: Any) -> None:
    """Set up LLVM as the stages above `llir` leave it (`make_llir` of 3.6 to 3.9)."""
    from triton._C.libtriton import llvm

    llvm.init_targets()
    if backend.target.backend == "cuda":
        from triton._C.libtriton import nvidia

        if hasattr(nvidia, "set_short_ptr"):  # 3.6 to 3.8; a flag of each call in 3.9
            nvidia.set_short_ptr()


def _readable_ptx(text: str, backend: Any, options: Any, notes: list[str]) -> str:
    """Return the PTX with the newest version that this ptxas reads, if its own is newer."""
    from triton.backends.nvidia.compiler import get_ptx_version_from_options

    newest = int(get_ptx_version_from_options(options, backend.target.arch))
    version = _PTX_VERSION.search(text)
    if version is None or int(version[1]) * 10 + int(version[2]) <= newest:
        return text
    lowered = f"{newest // 10}.{newest % 10}"
    notes.append(f".version {version[1]}.{version[2]} lowered to {lowered}, the newest that this ptxas reads")
    return _PTX_VERSION.sub(f".version {lowered}", text, count=1)


def _first_metadata(request: Mapping[str, Any], options: Any, stage: str) -> dict[str, Any]:
    """Return the metadata before the first stage is made.

    Below LLVM IR, the original's metadata is kept: specialized warps have changed its number of
    warps.
    """
    original, option_values = (
        request["metadata"],
        {n: value for n, value in vars(options).items() if n[:1] != "_"},
    )
    return {**original, **option_values} if stage in _MLIR else {**option_values, **original}


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _jsonable(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") else str(value)
