"""Helpers of the layout tests: attributes from text, and real stages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from irscope.languages.language import parse
from irscope.layouts.attribute import parse_attribute
from irscope.layouts.convert import linear_layout
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.layouts.linear import LinearLayout, Vector
from irscope.targets import parse_target

STAGES = Path(__file__).parents[1] / "data" / "stages"
TILE = "BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4"
AMPERE = f"matmul_kernel.cuda-80.{TILE},num_stages=3.triton-3.9.0.ttgir"
HOPPER = f"matmul_kernel.cuda-90.{TILE},num_stages=3.triton-3.9.0.ttgir"
BLACKWELL = f"matmul_kernel.cuda-100.{TILE},num_stages=3.triton-3.9.0.ttgir"
ADD = "add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0.ttgir"
ADD_AMD = "add_kernel.hip-gfx942.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0.ttgir"


def layout(text: str, *shape: int, triton: tuple[int, int] = (3, 9)) -> LinearLayout:
    return linear_layout(parse_attribute(text), shape, triton)


def bases(text: str, *shape: int, triton: tuple[int, int] = (3, 9)) -> dict[str, list[list[int]]]:
    found = layout(text, *shape, triton=triton).bases
    return {name: [list(vector) for vector in vectors] for name, vectors in found.items() if vectors}


def kernel(name: str, ptx: str = "") -> KernelLayouts:
    target = parse_target(name.split(".")[1].replace("-", ":"))
    return KernelLayouts(parse((STAGES / name).read_text(), "mlir"), target, "3.9.0", ptx)


def positions(layout: LinearLayout, inputs: Sequence[str]) -> dict[Vector, list[Vector]]:
    """Map each element to its positions, as values of `inputs` in order; the other inputs are 0."""
    found: dict[Vector, list[Vector]] = {}
    for position in product(*(range(layout.size(name)) for name in inputs)):
        element = layout.element(**dict(zip(inputs, position, strict=True)))
        found.setdefault(element, []).append(position)
    return found
