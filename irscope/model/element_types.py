"""The element types of tensors by torch's names."""

from __future__ import annotations

import re

# Triton's pointers to what torch calls: "*fp16" -> torch.float16.
_TORCH_NAMES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "i1": "bool",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}
_INTEGER = re.compile(r"([iu])(\d+)")


def torch_name(type_: str) -> str:
    """The name in torch of a pointer's element type, or of a type that has torch's name already.

    "*fp16" -> "float16", "*ki8" -> "int8", "float32" -> "float32"
    """
    name = type_.lstrip("*").removeprefix("k") if type_.startswith("*") else type_
    match = _INTEGER.fullmatch(name)
    if name in _TORCH_NAMES or match is None:
        return _TORCH_NAMES.get(name, name)
    return f"{'u' if match[1] == 'u' else ''}int{match[2]}"
