"""How many elements the largest tensor of a kernel has at most, given values of its constants."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from math import prod

from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule, argument
from irscope.lint.source.static_values import Known

# Functions that give larger tensors than their operands, or tensors of another kernel's making.
_GROWING = (
    "join",
    "cat",
    "interleave",
    "broadcast_to",
    "histogram",
    "gather",
    "inline_asm_elementwise",
    "dot",
)
_SHAPED = {"zeros": 0, "full": 0, "make_block_ptr": 4, "make_tensor_descriptor": 3, "rand": -1}
_SHAPE_NAMES = {"make_block_ptr": "block_shape", "make_tensor_descriptor": "block_shape"}
_DEFAULT_SHAPE_NAME = "shape"


def most_elements(kernel: KernelSource, module: PythonModule, values: Mapping[str, Known]) -> int | None:
    """An upper bound of the elements of the kernel's largest tensor; None if it has none or it is unknown."""
    lengths: list[int] = []
    shapes: list[int] = []
    for node in kernel.nodes:
        if isinstance(node, ast.Call):
            if _is_opaque(node, kernel, module):
                return None
            if module.tl(node, "arange"):
                length = _length(node, module, values)
                if length is None:
                    return None
                lengths.append(length)
            elif shaped := module.tl(node, *_SHAPED):
                size = _size(shaped, module, values)
                if size is None:
                    return None
                shapes.append(size)
    if not lengths and not shapes:
        return None
    largest = sorted(lengths)[-_dimensions(kernel) :]
    return max([prod(largest), *shapes])


def _is_opaque(call: ast.Call, kernel: KernelSource, module: PythonModule) -> bool:
    """Whether a call may give a tensor of unknown size."""
    name = module.dotted(call.func)
    if name.startswith("triton."):
        return module.tl(call, *_GROWING) is not None
    if isinstance(call.func, ast.Name):
        return not hasattr(builtins, name)
    # A method of a value, or a function of another module.
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    is_value = root.id in kernel.assigned or kernel.parameter(root.id) is not None
    return not is_value or name.rpartition(".")[2] in ("load", *_GROWING)


def _length(call: ast.Call, module: PythonModule, values: Mapping[str, Known]) -> int | None:
    start, end = argument(call, 0, "start"), argument(call, 1, "end")
    if start is None or end is None:
        return None
    bounds = [_known(node, module, values) for node in (start, end)]
    return bounds[1] - bounds[0] if all(isinstance(bound, int) for bound in bounds) else None


def _size(call: ast.Call, module: PythonModule, values: Mapping[str, Known]) -> int | None:
    name = module.dotted(call.func).rpartition(".")[2]
    shape = argument(call, _SHAPED[name], _SHAPE_NAMES.get(name, _DEFAULT_SHAPE_NAME))
    known = _known(shape, module, values) if shape is not None else None
    sizes = [known] if isinstance(known, int) else known
    if not isinstance(sizes, list | tuple) or not all(isinstance(size, int) for size in sizes):
        return None
    return prod(sizes)


def _known(node: ast.expr, module: PythonModule, values: Mapping[str, Known]) -> Known:
    """The value of an expression of constants of the kernel and of the file."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    own = {name: values[name] for name in names if name in values}
    rest = {
        name: module.value(ast.Name(name, ast.Load()), module.scope) for name in names if name not in values
    }
    return module.evaluate(node, own | rest)


def _dimensions(kernel: KernelSource) -> int:
    """The most dimensions that an index such as `[:, None]` gives a tensor."""
    return max(_ranks(kernel), default=1)


def _ranks(kernel: KernelSource) -> Iterator[int]:
    for node in kernel.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            yield len(node.slice.elts)
        elif isinstance(node, ast.Attribute) and node.attr in ("expand_dims", "reshape", "view"):
            yield 3
