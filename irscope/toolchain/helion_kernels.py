"""Helion kernels of a file: their names, example arguments, and configs, from the user's options.

`helion_kernel` reads the file's text; the other functions need Helion, and run where the file is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from irscope.model import Dtype, UserError, parse_value
from irscope.model.text import split_entries
from irscope.toolchain.signature import NAMED

_TENSOR = re.compile(
    r"(?P<dtype>[a-z]\w*)\s*\[(?P<sizes>[\d,\s]*)\](?:\s*strides\s*\[(?P<strides>[\d,\s]*)\])?"
)
# torch's names of Triton's element types.
_TORCH_NAMES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool", "i8": "int8",
    "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "int1": "bool", "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip


def helion_kernel(path: Path, name: str | None) -> str | None:
    """The Helion kernel `name` of a file; without a name, the only one of a file that has no `@triton.jit`.

    None if that is not a Helion kernel, or if the file is not Python. Raises UserError if there are several.
    """
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text) if "helion" in text else ast.Module([], [])
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
    names = list(dict.fromkeys(helion_kernels(tree)))
    if name is not None:
        return name if name in names else None
    if not names or "triton.jit" in text:
        return None
    if len(names) > 1:
        raise UserError(f"{path}: choose one of {', '.join(names)}, as {path}::KERNEL")
    return names[0]


def helion_kernels(tree: ast.Module) -> Iterator[str]:
    """The names that `@helion.kernel`, or a call of it, defines in a module."""
    modules = dict(_imported_from_helion(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if any(_makes_kernel(decorator, modules) for decorator in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign) and _makes_kernel(node.value, modules):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _imported_from_helion(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a file imports from Helion, with the path of each: "h", "helion"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "helion":
                    yield (alias.asname or "helion"), (alias.name if alias.asname else "helion")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "helion":
            for alias in node.names:
                yield (alias.asname or alias.name), f"{node.module}.{alias.name}"


def _makes_kernel(node: ast.expr, modules: Mapping[str, str]) -> bool:
    """Whether an expression is `helion.kernel`, `helion.kernel(...)`, or one that ends in `_kernel`."""
    while isinstance(node, ast.Call):
        node = node.func
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in modules:
        return False
    last = names[0] if names else modules[node.id].rpartition(".")[2]
    return last in ("kernel", "jit") or last.endswith("_kernel")


def example_arguments(kernel: Any, signature: str, constants: Mapping[str, str]) -> tuple[Any, ...]:
    """The arguments for which a Helion kernel is compiled: uninitialized tensors on the device, and values.

    `signature` has an entry per parameter, in order or as NAME=ENTRY: `fp16[512, 64]` is a tensor (with
    `strides [1, 512]` if it is not contiguous), `[fp16[8], fp16[9]]` a list, anything else a value. Raises
    UserError if it does not fit the kernel.
    """
    entries = split_entries(signature)
    named = {match[1]: match[2] for entry in entries if (match := NAMED.fullmatch(entry))} | dict(constants)
    positional = [_argument(entry) for entry in entries if not NAMED.fullmatch(entry)]
    try:
        values = {name: _argument(text) for name, text in named.items()}
        return tuple(kernel.normalize_args(*positional, **values))
    except TypeError as error:
        names = ", ".join(kernel.signature.parameters)
        example = ", ".join("fp32[1024, 1024]" for _ in kernel.signature.parameters)
        raise UserError(
            f'--signature: {error}; {kernel.name} has {names}, and needs an entry for each: "{example}"'
        ) from error


def _argument(text: str) -> Any:
    import torch

    text = text.strip()
    if match := _TENSOR.fullmatch(text):
        sizes, strides = (_numbers(match[group]) for group in ("sizes", "strides"))
        dtype = _dtype(match["dtype"])
        if match["strides"] is None:
            return torch.empty(sizes, dtype=dtype, device="cuda")
        return torch.empty_strided(sizes, strides, dtype=dtype, device="cuda")
    if text[:1] in ("[", "(") and text[-1:] in ("]", ")"):
        items = [_argument(item) for item in split_entries(text[1:-1])]
        return items if text[0] == "[" else tuple(items)
    value = parse_value(text)
    return _dtype(value.name) if isinstance(value, Dtype) else value


def _numbers(text: str | None) -> list[int]:
    return [int(number) for number in (text or "").split(",") if number.strip()]


def _dtype(name: str) -> Any:
    import torch

    dtype = getattr(torch, _TORCH_NAMES.get(name, name), None)
    if not isinstance(dtype, torch.dtype):
        raise UserError(f"--signature: '{name}' is not an element type such as fp16, bf16, fp32 or int32")
    return dtype


def config_value(text: str) -> Any:
    """A value of Helion's config as a user writes it or as irscope shows it: `[64, 32]`, `[pointer]`, `4`."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [config_value(item) for item in split_entries(text[1:-1])]
    return parse_value(text)


def combined_configs(configs: Sequence[Any], axes: Mapping[str, Sequence[str]]) -> list[Any]:
    """Each config with the product of the axes (name -> texts of values), which win over its own values."""
    from helion import Config

    values = {name: [config_value(text) for text in texts] for name, texts in axes.items()}
    combined = [
        Config(**{**config.config, **dict(zip(values, chosen, strict=True))})
        for config in configs
        for chosen in product(*values.values())
    ]
    return list(dict.fromkeys(combined))
