"""Reads Inductor's output code: what each of its Triton kernels computes.

    # AOT ID: ['0_forward']
    ...
    # Topologically Sorted Source Nodes: [add, relu], Original ATen: [aten.add, aten.relu]
    # Source node to ATen node mapping:
    ...
    triton_poi_fused_add_relu_0 = async_compile.triton('triton_poi_fused_add_relu_0', ...
    ...
            triton_poi_fused_add_relu_0.run(buf0, arg1_1, 4096, stream=stream0)

The comments are those of `get_kernel_metadata` in torch/_inductor/utils.py (2.11 to 2.13). The line map,
which Inductor also keeps in its cache, has the Python stack of the node that a line was generated for.
"""

from __future__ import annotations

import linecache
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.model.origin import ProgramLine

# The node of a graph that launches a kernel of the program itself.
USER_KERNEL = "triton_kernel_wrapper_mutation"
# Lines of the output code (from 1) and the Python stack that they and the lines after them came from.
LineMap = Sequence[tuple[int, str | None]]

_PART = re.compile(r"^# AOT ID: \['\d+_(\w+)'\]", re.MULTILINE)
_NODES = re.compile(r"#[ \w]* Source Nodes: \[([^\]\n]*)\], Original ATen: \[([^\]\n]*)\]")
_FRAGMENT = re.compile(r"#   %(\w+) : .*? = call_function\[")
_ORIGINAL = re.compile(r"# Original path: (.+):(\d{1,9})$")
_DEFINITION = re.compile(r"(\w+) = async_compile\.triton\('(\w+)'")
_CALL = re.compile(r"\s+(\w+)\.run\(")
# The text of a line is missing if Python cannot read the file.
_FRAME = re.compile(r'File "([^"\n]+)", line (\d{1,9}), in ([^\n]*)(?:\n(?!\s*File ")\s*([^\n]*))?')


@dataclass
class KernelNodes:
    """The origin of a kernel according to an output code.

    `name` is the name of its function. `nodes` are by their names in the program's graph if `traced`, else in
    the graph that Inductor compiled; `operators` are those that they became; `stacks` those of its calls.
    `original` is the place of a kernel that the program itself defines.
    """

    name: str = ""
    nodes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    traced: bool = False
    stacks: tuple[str, ...] = ()
    original: ProgramLine | None = None


def graph_part(text: str) -> str:
    """The part of the program's graph: "forward", "backward" or "inference"; "" if the code does not say."""
    found = _PART.search(text)
    return found[1] if found else ""


def kernels_of(text: str, line_map: LineMap) -> dict[str, KernelNodes]:
    """The Triton kernels that an output code defines, by the names that it gives them, in its order."""
    kernels: dict[str, KernelNodes] = {}
    starts = [line for line, _ in line_map]
    nodes = KernelNodes()
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _NODES.match(line):
            traced = _names(comment[1])
            nodes = KernelNodes("", traced, _names(comment[2]), bool(traced))
        elif original := _ORIGINAL.match(line):
            nodes = KernelNodes("", (USER_KERNEL,), original=_place(original[1], int(original[2])))
        elif (node := _FRAGMENT.match(line)) and not nodes.traced:
            nodes.nodes = (*nodes.nodes, node[1])
        elif definition := _DEFINITION.match(line):
            nodes.name = definition[2]
            kernels[definition[1]], nodes = nodes, KernelNodes()
        elif (call := _CALL.match(line)) and (kernel := kernels.get(call[1])):
            index = bisect_right(starts, number) - 1
            stack = line_map[index][1] if index >= 0 else None
            if stack and stack not in kernel.stacks:
                kernel.stacks = (*kernel.stacks, stack)
    return kernels


def program_line(stack: str, excluded: str) -> ProgramLine | None:
    """The innermost line of a Python stack, as `traceback` prints it, that is not in the folder `excluded`.

    Without such a line the innermost one, None if there is no line.
    """
    frames = [
        ProgramLine(frame[1], int(frame[2]), frame[3].strip(), (frame[4] or "").strip())
        for frame in _FRAME.finditer(stack)
    ]
    own = [frame for frame in frames if not frame.file.startswith(excluded)]
    return (own or frames)[-1] if frames else None


def program_lines(kernel: KernelNodes, stacks: Mapping[str, str], excluded: str) -> tuple[ProgramLine, ...]:
    """The lines of the program that a kernel came from, in their order.

    `stacks` has the Python stack of each node of the program's graph.
    """
    found = {program_line(stack, excluded) for stack in _stacks(kernel, stacks)} | {kernel.original}
    return tuple(sorted(filter(None, found), key=lambda line: (line.file, line.line)))


def _stacks(kernel: KernelNodes, stacks: Mapping[str, str]) -> Iterator[str]:
    yield from kernel.stacks
    if kernel.traced:
        yield from (stacks[name] for name in kernel.nodes if name in stacks)


def _place(file: str, line: int) -> ProgramLine:
    return ProgramLine(file, line, "", linecache.getline(file, line).strip())


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
