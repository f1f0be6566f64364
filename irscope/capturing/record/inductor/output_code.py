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

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.model import ProgramLine

# Lines of the output code (from 1) and the Python stack that they and the lines after them came from.
LineMap = Sequence[tuple[int, str | None]]

_PART = re.compile(r"^# AOT ID: \['\d+_(\w+)'\]", re.MULTILINE)
_NODES = re.compile(r"#[ \w]* Source Nodes: \[([^\]\n]*)\], Original ATen: \[([^\]\n]*)\]")
_FRAGMENT = re.compile(r"#   %(\w+) : .*? = call_function\[")
_DEFINITION = re.compile(r"(\w+) = async_compile\.triton\(")
_CALL = re.compile(r"\s+(\w+)\.run\(")
_FRAME = re.compile(r'File "([^"\n]+)", line (\d{1,9}), in ([^\n]*)\n\s*([^\n]*)')


@dataclass
class KernelNodes:
    """A kernel's nodes by their names in the program's graph, their operators, the stacks of its calls."""

    nodes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()


def graph_part(text: str) -> str:
    """The part of the program's graph: "forward", "backward" or "inference"; "" if the code does not say."""
    found = _PART.search(text)
    return found[1] if found else ""


def kernels_of(text: str, line_map: LineMap) -> dict[str, KernelNodes]:
    """The Triton kernels that an output code defines, by name."""
    kernels: dict[str, KernelNodes] = {}
    starts = [line for line, _ in line_map]
    nodes, fragment = KernelNodes(), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _NODES.match(line):
            nodes, fragment = KernelNodes(_names(comment[1]), _names(comment[2])), []
        elif node := _FRAGMENT.match(line):
            fragment.append(node[1])
        elif definition := _DEFINITION.match(line):
            # Without nodes of the program's graph, those of the graph that Inductor compiled.
            nodes.nodes = nodes.nodes or tuple(fragment)
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
        ProgramLine(frame[1], int(frame[2]), frame[3].strip(), frame[4].strip())
        for frame in _FRAME.finditer(stack)
    ]
    own = [frame for frame in frames if not frame.file.startswith(excluded)]
    return (own or frames)[-1] if frames else None


def program_lines(kernel: KernelNodes, stacks: Mapping[str, str], excluded: str) -> tuple[ProgramLine, ...]:
    """The lines of the program that a kernel came from, in their order.

    `stacks` has the Python stack of each node of the program's graph.
    """
    found = {program_line(stack, excluded) for stack in _stacks(kernel, stacks)} - {None}
    return tuple(sorted(filter(None, found), key=lambda line: (line.file, line.line)))


def _stacks(kernel: KernelNodes, stacks: Mapping[str, str]) -> Iterator[str]:
    yield from kernel.stacks
    yield from (stacks[name] for name in kernel.nodes if name in stacks)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
