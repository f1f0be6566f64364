"""Describes launches as plain data, and finds the parameters that a kernel may write to.

The values of a launch's tensors, before and after it, for `irscope run --values`. Needs torch.

Kept as a file of torch: "before" and "after" map names to the elements of a tensor's memory, from its first
to its last, as one dimension; "after" has only tensors that the launch changed. "same" names an argument that
is the same tensor as an earlier one. Elements of a tuple are "name.0".
"""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from irscope.model import Launch
from irscope.model.integer_values import INTEGER_TYPES, MOST_BYTES, encoded_integers
from irscope.model.text import pluralize

# The most launches kept per variant: a program may launch one with ever different sizes.
MOST_LAUNCHES = 16
_WRITING = frozenset(["store", "scatter", "async_store"])
_LANGUAGE = frozenset(["tl", "gl", "triton", "ttgl", "libdevice", "math"])


def launch_of(function: Any, given: tuple[Any, ...], known: Callable[[Any], bool] = lambda _: True) -> Launch:
    """Return the launch for which Triton passed `given` to a kernel's `run`.

    `given` has three grid sizes, six values of Triton's own, and the arguments. Tensors that are
    not `known` have no values.
    """
    arguments = zip(function.params, given[9:], strict=False)
    passed = [(p.name, value) for p, value in arguments if not p.is_constexpr]
    named = tuple((name, described(value)) for name, value in passed)
    values = tuple(integer_values(function, passed, known))
    return Launch(tuple(int(size) for size in given[:3]), named, tuple(_aliases(passed)), values=values)


def integer_values(
    function: Any, arguments: Iterable[tuple[str, Any]], known: Callable[[Any], bool] = lambda _: True
) -> Iterator[tuple[str, str]]:
    """Yield the integers of small tensors that a kernel only reads: see `model.Launch`.

    There are none within a CUDA graph, where nothing can be copied to the CPU.
    """
    small = [
        (name, value)
        for name, value in arguments
        if (size := INTEGER_TYPES.get(str(getattr(value, "dtype", "")).removeprefix("torch.")))
        and hasattr(value, "untyped_storage")
        and 0 < _elements(value) * size <= MOST_BYTES
    ]
    if not small or _is_capturing():
        return
    written = written_parameters(function)
    for name, tensor in small:
        if name not in written and known(tensor) and not tensor.is_meta:
            text = encoded_integers(str(tensor.dtype).removeprefix("torch."), _copy(tensor).numpy())
            if text:
                yield name, text


def _is_capturing() -> bool:
    """Check whether a CUDA graph is being captured."""
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())


def _aliases(arguments: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """Yield the tensors that overlap an earlier one: see `model.Launch`."""
    spans: list[tuple[str, int, int, int]] = []
    for name, tensor in tensors_in(arguments):
        if not hasattr(tensor, "untyped_storage"):
            continue
        memory, start = tensor.untyped_storage().data_ptr(), tensor.storage_offset() * tensor.element_size()
        end = start + _elements(tensor) * tensor.element_size()
        for earlier, its_memory, its_start, its_end in spans:
            if memory == its_memory != 0 and start < its_end and its_start < end:
                yield name, earlier, start - its_start
                break
        else:
            spans.append((name, memory, start, end))


def described(value: Any) -> str:
    """Describe a run-time argument as text: see `model.Launch`."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        sizes = ", ".join(map(str, value.shape))
        strides = f" strides {list(value.stride())}" if _is_strided(value) else ""
        return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]{strides}"
    if hasattr(value, "base") and hasattr(value, "block_shape"):
        return f"tensordesc {described(value.base)} in blocks of {list(value.block_shape)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(described, value))}{',' if len(value) == 1 else ''})"
    return str(value) if isinstance(value, bool | int | float | None) else type(value).__name__


def _is_strided(value: Any) -> bool:
    """Return True if a tensor is not contiguous."""
    return hasattr(value, "is_contiguous") and not value.is_contiguous()


@cache
def written_parameters(function: Any) -> frozenset[str]:
    """Return the parameters through which a kernel may write, according to its text.

    These reach the pointer of a store or an atomic, through any chain of assignments, or are
    passed to another function. The result of a load does not count as its pointer.
    """
    parameters = frozenset(parameter.name for parameter in function.params)
    tree = function.parse()
    flows: dict[str, set[str]] = {name: set() for name in parameters}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
            value = node.iter if isinstance(node, ast.For) else node.value
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in _flat(targets):
                flows.setdefault(name, set()).update(_names(value) if value else ())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    written_names = {name for call in calls for name in _written_by(call, frozenset(flows))}
    pending = list(written_names)
    while pending:
        for name in flows.get(pending.pop(), set()) - written_names:
            written_names.add(name)
            pending.append(name)
    return parameters & written_names


def _written_by(call: ast.Call, values: frozenset[str]) -> set[str]:
    """Return the names through which this call may write.

    `values` are the names of the function's own values.
    """
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Name):
        return set() if hasattr(builtins, call.func.id) else _flat(arguments)
    if not isinstance(call.func, ast.Attribute):
        return set()
    if call.func.attr in _WRITING or call.func.attr.startswith("atomic_"):
        pointers = [keyword.value for keyword in call.keywords if keyword.arg == "pointer"]
        return _flat([call.func.value, *call.args[:1], *pointers])
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    # A method of a value and the language's functions write nothing; another module's function may.
    harmless = not isinstance(root, ast.Name) or root.id in values or root.id in _LANGUAGE
    return set() if harmless else _flat(arguments)


def _flat(nodes: Iterable[ast.AST]) -> set[str]:
    return {name for node in nodes for name in _names(node)}


def _names(node: ast.AST) -> list[str]:
    """Return the names in an expression, except those inside a load."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load":
        return []
    return [name for child in ast.iter_child_nodes(node) for name in _names(child)]


MIB = 1 << 20


@dataclass
class LaunchValues:
    """The tensors of a launch as they were before it; `left_out` says why some are missing."""

    tensors: dict[str, Any]
    before: dict[str, Any] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def file(self, launched: bool) -> bytes:
        """Return the values as a file; with `launched`, also those after the launch."""
        import torch

        after = {}
        if launched:
            torch.cuda.synchronize()
            for name, values in self.before.items():
                now = _copy(self.tensors[name])
                if not torch.equal(now.view(torch.uint8), values.view(torch.uint8)):
                    after[name] = now
        contents = {"before": self.before, "after": after, "same": self.same, "left_out": self.left_out}
        file = io.BytesIO()
        torch.save(contents, file)
        return file.getvalue()


def values_of(
    function: Any, given: tuple[Any, ...], most: int, known: Callable[[Any], bool] = lambda _: True
) -> LaunchValues | None:
    """Copy the values of a launch's tensors, of at most `most` bytes together.

    Returns None within a CUDA graph. `given` is what Triton passes to a kernel's `run`; tensors
    that are not `known` are left out.
    """
    if _is_capturing():
        return None
    arguments = zip((parameter.name for parameter in function.params), given[9:], strict=False)
    values, size = LaunchValues(dict(tensors_in(arguments))), 0
    first: dict[tuple[Any, ...], str] = {}
    for name, tensor in values.tensors.items():
        memory_key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        if first.setdefault(memory_key, name) != name:
            values.same[name] = first[memory_key]
            continue
        size += _elements(tensor) * tensor.element_size()
        if not known(tensor):
            values.left_out[name] = "computed by a kernel, which did not run"
        elif size > most:
            values.left_out[name] = f"more than {pluralize(most // MIB, 'MiB')} with those before it"
        else:
            values.before[name] = _copy(tensor)
    return values


def tensors_in(arguments: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of arguments by name, including those of descriptors and tuples."""
    for name, value in arguments:
        if hasattr(value, "data_ptr") and hasattr(value, "stride"):
            yield name, value
        elif hasattr(value, "base") and hasattr(value, "block_shape"):
            yield name, value.base
        elif isinstance(value, tuple):
            yield from tensors_in((f"{name}.{index}", item) for index, item in enumerate(value))


def _elements(tensor: Any) -> int:
    """Count the elements of a tensor's memory from the first to the last."""
    if not tensor.numel():
        return 0
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return 1 + sum((int(size) - 1) * int(stride) for size, stride in pairs)


def _copy(tensor: Any) -> Any:
    flat = tensor.detach().as_strided((_elements(tensor),), (1,), tensor.storage_offset())
    return flat.to("cpu", copy=True)
