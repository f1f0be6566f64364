"""Why a product is not computed by a faster instruction: the conditions of Triton's matrix instructions.

They are those of `supportMMA` (lib/Analysis/Utility.cpp), `getMMAVersionSafe` and `ScaledBlockedToMMAv5`
(lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp) in Triton 3.6 to 3.9. Only conditions that TTIR, the
target and the number of warps decide are here: a product that meets them may still be computed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.analysis.matrix_products import MMA_SYNC, TCGEN05, WGMMA, Product
from irscope.backends import CUDA
from irscope.model import Variant
from irscope.model.frozen_value import FrozenValue

# The compute capabilities that have an instruction, and a type that Triton has it for.
_CAPABILITIES = {MMA_SYNC: (80, 1000), WGMMA: (90, 100), TCGEN05: (100, 120)}
_BITS = {"f8E5M2": 8, "f8E4M3FN": 8, "i8": 8, "f16": 16, "bf16": 16, "f32": 32}
_F8 = ("f8E5M2", "f8E4M3FN")
# The bits of a row of the first operand that one instruction of a warp group or tcgen05 needs.
_ROW_BITS = 256
_INT8_EXCEPT = 103
# The obstacle of operands that only FMA multiplies as asked for.
IEEE = 'input_precision="ieee" for f32 operands'
# With a smaller max_num_imprecise_acc, f8 products are summed outside of wgmma, with full precision.
_MIN_IMPRECISE = 32


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Machine(FrozenValue):
    """The target of a variant: its compute capability, 0 on AMD, warps and blocks per cluster.

    0 warps are unknown.
    """

    capability: int
    warps: int
    ctas: int = 1


def machine_of(variant: Variant, warps: int) -> Machine:
    """The machine that a variant with this number of warps is compiled for."""
    ctas = variant.metadata.get("num_ctas")
    is_cuda = variant.target.backend == CUDA.name and str(variant.target.arch).isdecimal()
    return Machine(int(variant.target.arch) if is_cuda else 0, warps, ctas if isinstance(ctas, int) else 1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Obstacle(FrozenValue):
    """A condition that a product does not meet: its subject ("M", "num_warps", "") and what is wrong."""

    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject} {self.text}".lstrip()


def obstacles(name: str, product: Product, machine: Machine) -> list[Obstacle]:
    """The conditions that keep `product` from the NVIDIA instruction `name`; empty if none is known."""
    if name not in _CAPABILITIES or not machine.capability:
        return []
    first, end = _CAPABILITIES[name]
    if not first <= machine.capability < end:
        return [Obstacle(f"cuda:{machine.capability}", f"has no {name}" if name != MMA_SYNC else _TOO_OLD)]
    found = [*_types(name, product, machine.capability)]
    if name != MMA_SYNC:
        found += [*_tiles(name, product, machine), *_warps(name, machine)]
    return found


def scaled_obstacles(product: Product, machine: Machine) -> list[Obstacle]:
    """The conditions that keep `product`, which has scales, from instructions that apply them."""
    if not machine.capability:
        return []
    if machine.capability < 100:
        return [Obstacle(f"cuda:{machine.capability}", "has no instruction that applies scales")]
    if machine.capability >= 120 or machine.ctas != 1:
        return []
    found = [_below("M", product.m, 128), _below("N", product.n, 16)]
    return [*(obstacle for obstacle in found if obstacle), *_warps(TCGEN05, machine)]


_TOO_OLD = "has no matrix instruction that Triton supports"


def _types(name: str, product: Product, capability: int) -> Iterator[Obstacle]:
    """The types of the operands and how precisely they are multiplied."""
    if product.a == product.b == "f32" and product.precision == "ieee":
        yield Obstacle("", IEEE)
    for type_ in dict.fromkeys((product.a, product.b)):
        if type_ not in _BITS and not (name == MMA_SYNC and type_ == "f64"):
            yield Obstacle("", f"it has no instruction for {type_} operands")
    if name == TCGEN05 and capability == _INT8_EXCEPT and product.a == product.b == "i8":
        yield Obstacle("", f"cuda:{capability} has none for i8 operands")
    summed = product.imprecise
    precise = summed is not None and summed < _MIN_IMPRECISE
    if name == WGMMA and product.a in _F8 and product.result == "f32" and precise:
        yield Obstacle("max_num_imprecise_acc", f"= {summed:,} is below {_MIN_IMPRECISE}")


def _tiles(name: str, product: Product, machine: Machine) -> Iterator[Obstacle]:
    """The sizes of the tile; with several blocks per cluster, each has an unknown part of it."""
    if product.rank != 2:
        yield Obstacle("", f"the product has {product.rank} dimensions")
        return
    if machine.ctas == 1 and product.m % 64:
        yield Obstacle("M", f"= {product.m:,} is not a multiple of 64")
    if machine.ctas == 1 and product.n % 8:
        yield Obstacle("N", f"= {product.n:,} is not a multiple of 8")
    if below := _below("K", product.k, _ROW_BITS // _BITS.get(product.a, _ROW_BITS)):
        yield below


def _below(subject: str, size: int, least: int) -> Obstacle | None:
    return Obstacle(subject, f"= {size:,} is below {least}") if size < least else None


def _warps(name: str, machine: Machine) -> Iterator[Obstacle]:
    if not machine.warps:
        return
    if name == WGMMA and machine.warps % 4:
        yield Obstacle("num_warps", f"= {machine.warps} is not a multiple of 4")
    if name == TCGEN05 and machine.warps not in (4, 8):
        yield Obstacle("num_warps", f"= {machine.warps} is neither 4 nor 8")
