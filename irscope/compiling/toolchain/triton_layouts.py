"""Triton's own linear layouts of every tensor and buffer in a TTGIR module.

Triton's layout functions abort the process on input they cannot convert. They run in a process of their
own, which reports each layout before and after it converts it; a layout that aborts is skipped on the next
attempt. The process answers in lines of JSON on stdout, where Triton prints too.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from irscope.compiling.processes.child_process import python_command
from irscope.compiling.processes.run_tool import run_tool
from irscope.model import Target
from irscope.targets import backend_named

# "64x32 #ttg.blocked<{...}>" -> input dimension -> the basis vectors of its bits.
Layouts = dict[str, dict[str, list[list[int]]]]

# The input dimensions of a linear layout, and the fields of Gluon's classes with their bases.
_FIELDS = {
    "register": "reg_bases",
    "lane": "lane_bases",
    "warp": "warp_bases",
    "offset": "offset_bases",
    "row": "rows",
    "col": "cols",
    "block": "block_bases",
}
_RESULT = "irscope layout "
_TYPE = re.compile(r"(?:tensor|!ttg\.memdesc)<(?P<shape>(?:\d+x)+)")
_ALLOCATED = re.compile(r", (\d+(?:x\d+)*)>$")
_MOST_ABORTS = 8
# The time limit of each attempt.
_SECONDS = 60.0


def installed_triton() -> str | None:
    """Return the version of the installed Triton, without importing it, or None if there is none."""
    try:
        return metadata.version("triton")
    except metadata.PackageNotFoundError:
        return None


def triton_layouts(ttgir: str, target: Target) -> Layouts:
    """Compute the linear layouts of a module's types, by `layout_key`.

    Layouts that Triton cannot convert are omitted; the result is empty if Triton cannot read the
    module, for example one of another version.
    """
    layouts: Layouts = {}
    fatal: list[str] = []
    while len(fatal) < _MOST_ABORTS:
        started, converted = _convert_in_process(ttgir, target, [*layouts, *fatal])
        layouts |= converted
        unfinished = started - converted.keys()
        if not unfinished:
            break
        fatal += unfinished
    return {key: bases for key, bases in layouts.items() if bases}


def _convert_in_process(ttgir: str, target: Target, skip: list[str]) -> tuple[set[str], Layouts]:
    """Return the layouts whose conversion a new process started, and those that it converted."""
    request = {"ttgir": ttgir, "target": [target.backend, target.arch, target.warp_size], "skip": skip}
    try:
        command = python_command("irscope.compiling.toolchain.triton_layouts")
        printed = run_tool(command, json.dumps(request).encode(), _SECONDS).stdout
    except subprocess.TimeoutExpired as error:
        printed = error.stdout or b""
    started: set[str] = set()
    converted: Layouts = {}
    for line in printed.decode("utf-8", "replace").splitlines():
        if line.startswith(_RESULT) and line.endswith("]"):
            key, bases = json.loads(line.removeprefix(_RESULT))
            started.add(key)
            if bases is not None:
                converted[key] = bases
    return started, converted


def layout_key(shape: list[int], layout: str) -> str:
    """Return the key of a layout of a shape: `64x32 #ttg.blocked<{...}>`, without aliases."""
    return f"{'x'.join(map(str, shape))} {layout}"


def main() -> None:
    """Answers the request on stdin: two lines per layout on stdout, before and after its conversion."""
    request = json.load(sys.stdin)
    for key, bases in _conversions(request["ttgir"], request["target"], set(request["skip"])):
        print(_RESULT + json.dumps([key, bases]), flush=True)


def _conversions(ttgir: str, target: list[Any], skip: set[str]) -> Iterator[tuple[str, Any]]:
    from triton._C.libtriton import gluon_ir, ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    backend, arch, warp_size = target
    context = ir.context()
    ir.load_dialects(context)
    triton_target = GPUTarget(backend, backend_named(backend).triton_arch(arch), warp_size)
    make_backend(triton_target).load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
        file.write(ttgir)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    builder = gluon_ir.GluonOpBuilder(context)
    values: dict[str, Any] = {}

    def visit(operation: Any) -> None:
        for index in range(operation.get_num_results()):
            value = operation.get_result(index)
            values.setdefault(str(value.get_type()), value)

    module.walk(visit)
    done = set(skip)
    for type_, value in values.items():
        if (keyed := _key_and_shape(type_)) is None or keyed[0] in done:
            continue
        key, shape = keyed
        done.add(key)
        yield key, None
        yield key, _bases(builder, value, type_, shape)


def _key_and_shape(type_: str) -> tuple[str, list[int]] | None:
    """Return the key of a type's layout and the shape that it lays out.

    Returns None for a type without a layout. A view of part of a buffer has the layout of the
    whole buffer.
    """
    match = _TYPE.match(type_)
    start = type_.find(", #")
    if match is None or start < 0:
        return None
    allocated = _ALLOCATED.search(type_) if type_.startswith("!") else None
    shape = [int(size) for size in (allocated[1] if allocated else match["shape"][:-1]).split("x")]
    layout = _attribute(type_[start + 2 :])
    return layout_key(shape, layout), shape


def _attribute(text: str) -> str:
    """Return the attribute at the start of `text`, up to its closing bracket."""
    depth = 0
    for position, char in enumerate(text):
        depth += (char == "<") - (char == ">" and text[position - 1] != "-")
        if depth == 0 and char in ">,":
            return text[: position + (char == ">")]
    return text


def _bases(builder: Any, value: Any, type_: str, shape: list[int]) -> dict[str, list[list[int]]]:
    """Triton's bases of a value's layout; {} if this version cannot compute them."""
    try:
        if type_.startswith("tensor"):
            layout = builder.get_gluon_layout_from_tensor(value)
        elif metadata.version("triton").startswith("3.6.") or "#ttg.padded_shared" in type_:
            return {}  # converting it would abort the process
        else:
            layout = builder.get_gluon_layout_from_memdesc(value)
            # For a multi-buffered allocation, the layout is that of one buffer.
            shape = shape[-_rank(layout) :]
        linear = builder.to_linear_layout(layout._to_ir(builder), shape)
    except (AssertionError, AttributeError, IndexError, RuntimeError, TypeError, ValueError):
        return {}
    return {
        dimension: getattr(linear, field) for dimension, field in _FIELDS.items() if hasattr(linear, field)
    }


def _rank(layout: Any) -> int:
    """Return the rank of a Gluon layout of a buffer."""
    for name in ("rank", "order", "block", "shape"):
        extent = getattr(layout, name, None)
        if extent is not None:
            return extent if isinstance(extent, int) else len(extent)
    return 2  # scales in tensor memory
