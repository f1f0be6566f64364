"""The products of matrices in TTIR and TTGIR: what the kernel asks for, and which hardware computes it.

TTIR:   %r = tt.dot %x, %y, %acc, inputPrecision = tf32 : tensor<64x32xf32> * tensor<32x128xf32> -> ...
        -> Product(m=64, n=128, k=32, a="f32", b="f32", precision="tf32")
TTGIR:  %r = ttng.warp_group_dot %x, %y, %acc : !ttg.memdesc<...> * !ttg.memdesc<...> -> tensor<..., #mma>
        -> MatrixPath("wgmma", shape="m64n128k8", a="f32", b="f32", a_in="shared memory")

Why a product is not computed by a faster instruction: the conditions of Triton's matrix instructions.

They are those of `supportMMA` (lib/Analysis/Utility.cpp), `getMMAVersionSafe` and `ScaledBlockedToMMAv5`
(lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp) in Triton 3.6 to 3.9. Only conditions that TTIR, the
target and the number of warps decide are here: a product that meets them may still be computed otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from irscope.facts.instruction_mix import KernelPlace
from irscope.facts.source.map import SourcePlace, kernel_place, place_of
from irscope.languages.document import Document, Layout, Operation
from irscope.languages.mlir.parser import module_warps
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.targets import CUDA

TCGEN05, WGMMA, MMA_SYNC, MFMA, WMMA, FMA = "tcgen05", "wgmma", "mma.sync", "MFMA", "WMMA", "FMA"

# TTGIR operations that name their hardware; the others get it from the layout of their result.
_NAMED = {
    "ttng.tc_gen5_mma": TCGEN05,
    "ttng.tc_gen5_mma_scaled": TCGEN05,
    "ttng.warp_group_dot": WGMMA,
}
_DOTS = ("tt.dot", "tt.dot_scaled")
_LAYOUT_KINDS = {"ttg.amd_mfma": MFMA, "ttg.amd_wmma": WMMA, "ttg.blocked": FMA}
# How many products of a lower precision make one of f32 operands (Triton's F32DotTC pass).
_PRODUCTS = {"tf32x3": 3, "bf16x3": 3, "bf16x6": 6}

_TYPE = re.compile(r"(tensor|memdesc)<((?:\d{1,9}x){1,9})(\w{1,20})")
_PRECISION = re.compile(r"inputPrecision = (\w{1,20})")
_IMPRECISE = re.compile(r"maxNumImpreciseAcc = (\d{1,12})")
_SCALED_TYPES = re.compile(r"lhs = (\w{1,10}) rhs = (\w{1,10})")
_SCALE = re.compile(r" scale %")
# The types of MLIR that `tt.dot_scaled` has other names for.
_ELEMENTS = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "fp16": "f16"}
_ALIAS = re.compile(r"(?<!\w)#[a-zA-Z]\w{0,60}")
_NUMBERS = re.compile(r"\d{1,6}")


@frozen
class Product:
    """One `tl.dot` or `tl.dot_scaled` of TTIR: an m x k matrix times a k x n matrix.

    `a` and `b` are the types of its operands ("f16", "f8E4M3FN"; "e2m1" if scaled), `result` that of the
    sum. `precision` is "ieee" unless it says otherwise. `imprecise` is the most products of f8 that may be
    summed with less precision, None if it says nothing.
    """

    m: int
    n: int
    k: int
    rank: int
    a: str
    b: str
    result: str
    precision: str = "ieee"
    imprecise: int | None = None
    scaled: bool = False

    @property
    def products(self) -> int:
        """Number of products of the hardware that make this one."""
        return _PRODUCTS.get(self.precision, 1) if self.a == self.b == "f32" else 1


@frozen
class MatrixPath:
    """How TTGIR computes a product.

    `name` is the instruction: TCGEN05, WGMMA, MMA_SYNC, MFMA, WMMA, or FMA for no matrix instruction.
    `shape` is that of one instruction, "" if TTGIR does not say; `a` and `b` are the types of the operands
    that it multiplies, `a_in` is where the first is ("" if it is always the same for the instruction).
    `scaled`: the instruction applies the scales. `two_ctas`: two blocks compute one product together.
    """

    name: str
    a: str
    b: str
    shape: str = ""
    a_in: str = ""
    scaled: bool = False
    two_ctas: bool = False


@frozen
class Dot:
    """The products of one line of Python, and how they are computed.

    `lines` are those of TTGIR that show it, `layouts` the aliases in them. `called_from` are the lines of the
    kernel itself that the products come from; they differ from the own line if that is in a helper.
    """

    products: tuple[Product, ...]
    paths: tuple[MatrixPath, ...]
    lines: tuple[int, ...]
    layouts: frozenset[str]
    called_from: frozenset[KernelPlace]

    @property
    def path(self) -> MatrixPath | None:
        """Return how the place is computed, or None if it is computed in several ways."""
        return self.paths[0] if len(set(self.paths)) == 1 else None

    @property
    def product(self) -> Product | None:
        """Return the product, or None if it is unknown or there are several."""
        return self.products[0] if len(set(self.products)) == 1 else None


class _Type(NamedTuple):
    """The type of an operand or result; `rest` is the text up to the next type, which has its layout."""

    in_memory: bool
    shape: tuple[int, ...]
    element: str
    rest: str


def dots_by_place(ttir: Document | None, ttgir: Document) -> dict[SourcePlace, Dot]:
    """Return the products of a kernel by the line that asks for them: of the kernel or of a helper."""
    products: dict[SourcePlace, list[Product]] = {}
    for operation in ttir.operations if ttir else ():
        product = _product(_text(ttir, operation)) if operation.opcode in _DOTS else None
        if product and operation.location:
            products.setdefault(place_of(operation.location), []).append(product)
    computed: dict[SourcePlace, list[Operation]] = {}
    for operation in ttgir.operations:
        if operation.location and (operation.opcode in _DOTS or operation.opcode in _NAMED):
            computed.setdefault(place_of(operation.location), []).append(operation)
    _move_to_their_products(computed, products)
    return {
        source_place: _dot(products.get(source_place, ()), operations, ttgir)
        for source_place, operations in computed.items()
    }


def element_type(name: str) -> str:
    """Return MLIR's name of the type of an operand: `f8E4M3FN` for the `e4m3` of a scaled product."""
    return _ELEMENTS.get(name, name)


def num_warps(ttgir: Document) -> int:
    """Count the warps that compute a product, without those of warp specialization; 0 if unknown."""
    return module_warps(ttgir.text) or 0


def operand_places(ttgir: Document) -> set[KernelPlace]:
    """Return the places whose values go from shared memory into the registers of a product."""
    return {
        kernel_place(operation.location)
        for operation in ttgir.operations
        if operation.opcode == "ttg.local_load" and "#ttg.dot_op<" in _text(ttgir, operation)
    }


def _move_to_their_products(
    computed: dict[SourcePlace, list[Operation]], products: Mapping[SourcePlace, object]
) -> None:
    """Give the operations at other places than any product to the only product that has none.

    Splitting f32 into bf16 leaves the products at the place of an operand.
    """
    homeless = [source_place for source_place in computed if products and source_place not in products]
    missing = [source_place for source_place in products if source_place not in computed]
    if len(missing) == 1:
        computed[missing[0]] = [
            operation for source_place in homeless for operation in computed.pop(source_place)
        ]
        if not computed[missing[0]]:
            del computed[missing[0]]


def _dot(products: Iterable[Product], operations: list[Operation], ttgir: Document) -> Dot:
    texts = [_text(ttgir, operation) for operation in operations]
    paths = [_path(operation.opcode, text, ttgir) for operation, text in zip(operations, texts, strict=True)]
    return Dot(
        tuple(products),
        tuple(path for path in paths if path),
        tuple(operation.line for operation in operations),
        frozenset(alias for text in texts for alias in _ALIAS.findall(text)),
        frozenset(kernel_place(operation.location) for operation in operations),
    )


def _text(document: Document | None, operation: Operation) -> str:
    """Return the operation without its location, which can contain anything."""
    return document.lines[operation.line].partition(" loc(")[0][:4000] if document else ""


def _product(text: str) -> Product | None:
    types = _types(text)
    if len(types) < 3:
        return None
    a, result = types[0].shape, types[-1].shape
    if len(a) < 2 or len(result) < 2:
        return None
    scaled, precision, imprecise = (
        pattern.search(text) for pattern in (_SCALED_TYPES, _PRECISION, _IMPRECISE)
    )
    left, right = scaled.groups() if scaled else (types[0].element, types[1].element)
    return Product(
        m=result[-2],
        n=result[-1],
        # Two values of four bits are in one byte.
        k=a[-1] * (2 if left == "e2m1" else 1),
        rank=len(result),
        a=left,
        b=right,
        result=types[-1].element,
        precision=precision[1] if precision else "ieee",
        imprecise=int(imprecise[1]) if imprecise else None,
        scaled=scaled is not None,
    )


def _path(opcode: str, text: str, ttgir: Document) -> MatrixPath | None:
    types = _types(text)
    if len(types) < 3:
        return None
    # The accumulator of tcgen05 is its third operand, other results are last.
    result = types[2] if opcode in _NAMED and _NAMED[opcode] == TCGEN05 else types[-1]
    aliases = _ALIAS.findall(result.rest)
    layout = next((ttgir.layouts[alias] for alias in aliases if alias in ttgir.layouts), None)
    name = _NAMED.get(opcode) or (_name_of(layout) if layout else None)
    if name is None:
        return None
    named = _SCALED_TYPES.search(text)
    left, right = named.groups() if named else (types[0].element, types[1].element)
    scaled = named is not None and (opcode in _NAMED or _SCALE.search(text) is not None)
    if not scaled:
        # AMD's backend writes a product of f8 on gfx950 as a scaled one without scales.
        left, right = element_type(left), element_type(right)
    return MatrixPath(
        name, left, right, "".join(_instruction_shape(name, layout)), _operand(name, types[0]),
        scaled, "two_ctas" in text,
    )  # fmt: skip


def _name_of(layout: Layout) -> str | None:
    if layout.kind == "ttg.nvidia_mma":
        return MMA_SYNC if layout.fields.get("versionMajor") == "2" else None
    return _LAYOUT_KINDS.get(layout.kind)


def _instruction_shape(name: str, layout: Layout | None) -> Iterator[str]:
    """Yield the shape as PTX or AMDGCN writes it: "m64n128k16", "32x32x8".

    Yields nothing if TTGIR lacks a part of it.
    """
    numbers = [int(n) for n in _NUMBERS.findall(layout.fields.get("instrShape", ""))] if layout else []
    if name == WGMMA and len(numbers) == 3:
        yield f"m64n{numbers[1]}k{numbers[2]}"  # the layout has the rows of one of four warps
    elif name == MFMA and len(numbers) == 3 and numbers[0] == numbers[1]:  # 4x64 is made of v_mfma_..._4x4x4
        yield "x".join(map(str, numbers))
    elif name == TCGEN05 and layout and "blockM" in layout.fields:
        yield f"m{layout.fields['blockM']}n{layout.fields.get('blockN', '')}"


def _operand(name: str, operand: _Type) -> str:
    """Return the first operand's place.

    wgmma reads it from registers or shared memory, tcgen05 also from tensor memory.
    """
    if name not in (WGMMA, TCGEN05):
        return ""
    if not operand.in_memory:
        return "registers"
    return "tensor memory" if "tensor_memory" in operand.rest else "shared memory"


def _types(text: str) -> list[_Type]:
    matches = list(_TYPE.finditer(text))
    starts = [*(match.start() for match in matches), len(text)]
    return [
        _Type(
            match[1] == "memdesc",
            tuple(int(size) for size in match[2].split("x") if size),
            match[3],
            text[match.end() : end],
        )
        for match, end in zip(matches, starts[1:], strict=True)
    ]


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


@frozen
class Machine:
    """The target of a variant: its compute capability, 0 on AMD, warps and blocks per cluster.

    0 warps are unknown.
    """

    capability: int
    warps: int
    ctas: int = 1


def machine_of(variant: Variant, warps: int) -> Machine:
    """Return the machine that a variant with this number of warps is compiled for."""
    ctas = variant.metadata.get("num_ctas")
    is_cuda = variant.target.backend == CUDA.name and str(variant.target.arch).isdecimal()
    return Machine(int(variant.target.arch) if is_cuda else 0, warps, ctas if isinstance(ctas, int) else 1)


@frozen
class Obstacle:
    """A condition that a product does not meet: its subject ("M", "num_warps", "") and what is wrong."""

    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject} {self.text}".lstrip()


def obstacles(name: str, product: Product, machine: Machine) -> list[Obstacle]:
    """Return the conditions that keep `product` from the NVIDIA instruction `name`, as far as known."""
    if name not in _CAPABILITIES or not machine.capability:
        return []
    first, end = _CAPABILITIES[name]
    if not first <= machine.capability < end:
        return [Obstacle(f"cuda:{machine.capability}", f"has no {name}" if name != MMA_SYNC else _TOO_OLD)]
    unmet = [*_product_types(name, product, machine.capability)]
    if name != MMA_SYNC:
        unmet += [*_tiles(name, product, machine), *_warps(name, machine)]
    return unmet


def scaled_obstacles(product: Product, machine: Machine) -> list[Obstacle]:
    """Return the conditions that keep `product`, which has scales, from instructions that apply them."""
    if not machine.capability:
        return []
    if machine.capability < 100:
        return [Obstacle(f"cuda:{machine.capability}", "has no instruction that applies scales")]
    if machine.capability >= 120 or machine.ctas != 1:
        return []
    unmet = [_below("M", product.m, 128), _below("N", product.n, 16)]
    return [*(obstacle for obstacle in unmet if obstacle), *_warps(TCGEN05, machine)]


_TOO_OLD = "has no matrix instruction that Triton supports"


def _product_types(name: str, product: Product, capability: int) -> Iterator[Obstacle]:
    """Yield the obstacles in the types of the operands and how precisely they are multiplied."""
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
    """Yield the obstacles in the sizes of the tile.

    With several blocks per cluster, each has an unknown part of it.
    """
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
