"""Findings about the instruction that multiplies matrices, and why it is not a faster one.

tl.dot of line 19 (acc = tl.dot(x, y, acc)): wgmma -> mma.sync, because BLOCK_M = 32 is not a multiple of 64
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irscope.diff.rows import StageDiff
from irscope.facts.instruction_mix import place_subject, place_text
from irscope.facts.matrix_products import (
    FMA,
    MFMA,
    MMA_SYNC,
    TCGEN05,
    WGMMA,
    WMMA,
    Dot,
    Machine,
    MatrixPath,
    Obstacle,
    Product,
    dots_by_place,
    element_type,
    machine_of,
    num_warps,
    obstacles,
    operand_places,
    scaled_obstacles,
)
from irscope.facts.source.map import SourcePlace
from irscope.findings.finding import Finding, FindingCause, PairContext, Severity, ValueChange, evidence_pair
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.model.stage import gluon_stage
from irscope.targets import CUDA

# The faster of two paths has the higher number.
_SPEED = {FMA: 0, MMA_SYNC: 1, MFMA: 1, WMMA: 1, WGMMA: 2, TCGEN05: 3}
# The environment variables that switch an instruction off.
_SWITCHES = {WGMMA: "DISABLE_MMA_V3", TCGEN05: "DISABLE_MMA_V5"}
_ON = ("1", "true", "on", "y", "yes")
# The config values of AMD's backend that determine the instruction.
_AMD_OPTIONS = ("matrix_instr_nonkdim", "kpack")


@frozen
class _ProductSide:
    """One side of a product: A or B."""

    letter: str
    variant: Variant
    dot: Dot
    path: MatrixPath
    warps: int

    @property
    def product(self) -> Product | None:
        """Return what the kernel asks for; None if that is unknown."""
        return self.dot.product

    @property
    def machine(self) -> Machine:
        """The machine that the variant is compiled for."""
        return machine_of(self.variant, self.warps)

    @property
    def types(self) -> str:
        """The types that the instruction multiplies: "f16", "bf16 x i8", "tf32"."""
        path, product = self.path, self.product
        tf32 = (
            product and product.precision.startswith("tf32") and self.machine.capability and path.name != FMA
        )
        found = ["tf32" if tf32 and type_ == "f32" else type_ for type_ in (path.a, path.b)]
        return " x ".join(dict.fromkeys(found))

    @property
    def converted(self) -> str:
        """The types of the kernel's operands if they are converted to others first, except to split them."""
        path, product = self.path, self.product
        if not product or product.products > 1:
            return ""
        operands = ((product.a, path.a), (product.b, path.b))
        if all(element_type(asked) == element_type(computed) for asked, computed in operands):
            return ""
        return " x ".join(dict.fromkeys((product.a, product.b)))

    @property
    def label(self) -> str:
        """The instruction, and how many of its products make one of the kernel's."""
        path, product = self.path, self.product
        products = product.products if product and len(self.dot.paths) % product.products == 0 else 1
        return (
            (f"{products} x " if products > 1 else "")
            + ("scaled " if path.scaled else "")
            + path.name
            + (" by 2 CTAs" if path.two_ctas else "")
        )


@frozen
class _PathChange:
    """The differences of one or several products: the severity, the effect in doublings, the causes."""

    change: ValueChange
    severity: Severity
    effect: float
    causes: tuple[FindingCause, ...] = ()
    lost: str = ""


_Dots = Mapping[SourcePlace, Dot]


def tensor_cores(pair: PairContext) -> Iterator[Finding]:
    """Yield the products that another instruction computes: one finding for all that change alike."""
    ttgir = pair.diffs.get("ttgir")
    if ttgir is None:
        return
    ttir = [side.document("ttir") for side in pair.sides]
    left, right = dots_by_place(ttir[0], ttgir.left), dots_by_place(ttir[1], ttgir.right)
    warps = num_warps(ttgir.left), num_warps(ttgir.right)
    changed: dict[_PathChange, list[SourcePlace]] = defaultdict(list)
    for place in left.keys() & right.keys():
        path_a, path_b = left[place].path, right[place].path
        if path_a is None or path_b is None:
            continue  # not one instruction
        a = _ProductSide("A", pair.a, left[place], path_a, warps[0])
        b = _ProductSide("B", pair.b, right[place], path_b, warps[1])
        if change := _other_operands(a, b) if a.label == b.label else _other_instruction(a, b):
            changed[change].append(place)
    for change, places in changed.items():
        yield _finding(pair, ttgir, change, sorted(places, key=repr), left, right)


def _finding(
    pair: PairContext,
    ttgir: StageDiff,
    change: _PathChange,
    places: Sequence[SourcePlace],
    left: _Dots,
    right: _Dots,
) -> Finding:
    dots_a, dots_b = ([side[place] for place in places] for side in (left, right))
    scaled = any(product.scaled for dot in (*dots_a, *dots_b) for product in dot.products)
    # Gluon has a function per kind of matrix instruction.
    name = "Matrix product" if gluon_stage(pair.b.artifacts) else f"tl.dot{'_scaled' if scaled else ''}"
    what = f"{name} {_places_text(places, pair)}"
    whole = len(places) == len(left.keys() | right.keys())
    return Finding(
        change.lost or what,
        change.severity.weight(change.effect),
        "matrix path",
        *evidence_pair("ttgir", *([line for dot in dots for line in dot.lines] for dots in (dots_a, dots_b))),
        subject=place_subject(places[0]),
        covers=frozenset(_covers(ttgir, dots_a, dots_b, whole)),
        changes=(replace(change.change, quantity=f"{what}:" if change.lost else ""),),
        causes=change.causes,
    )


def _places_text(places: Sequence[SourcePlace], pair: PairContext) -> str:
    if len(places) == 1:
        return place_text(places[0], pair.b.kernel)
    lines = [place_subject(place).removeprefix("line ") or "?" for place in places]
    return f"of lines {', '.join(lines[:-1])} and {lines[-1]}"


def _covers(ttgir: StageDiff, a: Sequence[Dot], b: Sequence[Dot], whole: bool) -> Iterator[str]:
    """Yield what another instruction entails: itself by line, the layouts and loads of its operands."""
    if whole:
        yield "matrix"
    places = {place for dot in (*a, *b) for place in dot.called_from}
    for place in places:
        yield f"matrix {place_subject(place)}"
    for place in places | operand_places(ttgir.left) | operand_places(ttgir.right):
        yield f"shared load {place_subject(place)}"
    left, right = (frozenset(alias for dot in dots for alias in dot.layouts) for dots in (a, b))
    for change in ttgir.layouts:
        if (change.left and change.left.alias in left) or (change.right and change.right.alias in right):
            yield from (f"layout {one.alias}" for one in (change.left, change.right) if one)


def _other_instruction(a: _ProductSide, b: _ProductSide) -> _PathChange:
    lost = ""
    if (a.path.name == FMA) != (b.path.name == FMA):
        backends = {side.variant.target.backend for side in (a, b)}
        cores = "Tensor cores" if backends == {CUDA.name} else "Matrix cores"
        lost = f"{cores} {'lost' if b.path.name == FMA else 'gained'}"
    causes = (*_causes(a, b), *_converted(a, b))
    return _PathChange(_labels(a, b), Severity.MATRIX_PATH, 3.0 if lost else 1.0, causes, lost)


def _other_operands(a: _ProductSide, b: _ProductSide) -> _PathChange | None:
    """Return the same instruction with other types, operands elsewhere, or another shape."""
    path_a, path_b = a.path, b.path
    if a.types != b.types:
        return _PathChange(_labels(a, b), Severity.MATRIX_PATH, 0, tuple(_converted(a, b)))
    if path_a.a_in != path_b.a_in:
        change = ValueChange(f"{a.label} reads its first operand from {path_a.a_in}", path_b.a_in)
        return _PathChange(change, Severity.MEMORY, 1)
    if path_a.shape != path_b.shape and path_a.shape and path_b.shape:
        change = ValueChange(f"{a.label} {path_a.shape}", path_b.shape)
        cause = _shape_cause(a, b)
        return _PathChange(change, Severity.MEMORY, 1, (FindingCause("because", (cause,)),) if cause else ())
    return None


def _labels(a: _ProductSide, b: _ProductSide) -> ValueChange:
    """Both instructions, with their types if these differ: `FMA on f32 -> wgmma on tf32`."""
    if a.types == b.types:
        return ValueChange(a.label, b.label)
    return ValueChange(f"{a.label} on {a.types}", f"{b.label} on {b.types}")


def _converted(a: _ProductSide, b: _ProductSide) -> Iterator[FindingCause]:
    for side in (a, b) if a.converted != b.converted else ():
        if side.converted:
            yield FindingCause("converted", (side.letter, side.converted))


def _causes(a: _ProductSide, b: _ProductSide) -> Iterator[FindingCause]:
    """Yield why the slower side is slower, if the other shows that nothing else keeps it from being fast."""
    product_a, product_b = a.product, b.product
    if product_a is None or product_b is None:
        return
    slow, reasons = b, list[str]()
    if a.path.name != b.path.name:
        slow, fast = (a, b) if _SPEED[a.path.name] < _SPEED[b.path.name] else (b, a)
        reasons = _missing(slow, fast)
    elif product_a.products != product_b.products:
        slow, product = (a, product_a) if product_a.products > product_b.products else (b, product_b)
        reasons = [f'input_precision="{product.precision}"']
    elif a.path.scaled != b.path.scaled:
        slow, fast = (a, b) if b.path.scaled else (b, a)
        if slow.product and fast.product and not scaled_obstacles(fast.product, fast.machine):
            reasons = _named(scaled_obstacles(slow.product, slow.machine), a, b)
    if reasons:
        yield FindingCause("because" if slow is b else "because in A", (" and ".join(reasons),))


def _missing(slow: _ProductSide, fast: _ProductSide) -> list[str]:
    own, other, name = slow.product, fast.product, fast.path.name
    if own is None or other is None or obstacles(name, other, fast.machine):
        return []
    switch = _SWITCHES.get(name, "")
    if slow.variant.environment.get(switch, "").lower() in _ON:
        return [f"{switch}={slow.variant.environment[switch]}"]
    # Without tensor cores, the cause is the obstacle to the simplest instruction.
    name = MMA_SYNC if slow.path.name == FMA else name
    if found := obstacles(name, own, slow.machine):
        return _named(found, slow, fast)
    return _only_size(slow, fast)


def _only_size(slow: _ProductSide, fast: _ProductSide) -> list[str]:
    """Return the size that must be the cause because the products and variants differ in nothing else."""
    product, other = slow.product, fast.product
    if product is None or other is None or slow.machine != fast.machine:
        return []
    if slow.variant.target != fast.variant.target or _options(slow.variant) != _options(fast.variant):
        return []
    if (product.a, product.b, product.result, product.precision) != (
        other.a,
        other.b,
        other.result,
        other.precision,
    ):
        return []
    pairs = {size: (getattr(product, size.lower()), getattr(other, size.lower())) for size in "MNK"}
    different = [(size, a, b) for size, (a, b) in pairs.items() if a != b]
    if len(different) != 1:
        return []
    return [f"{_name(size, slow, fast)} = {a:,} is too small" for size, a, b in different if a < b]


def _named(found: Sequence[Obstacle], a: _ProductSide, b: _ProductSide) -> list[str]:
    return [f"{_name(one.subject, a, b)} {one.text}".lstrip() for one in found]


def _name(size: str, a: _ProductSide, b: _ProductSide) -> str:
    """Return the config's name for "M", "N" or "K", if only one value changes as the size does."""
    sizes = [getattr(side.product, size.lower(), None) for side in (a, b)] if size in ("M", "N", "K") else []
    if len(set(sizes)) != 2:
        return size
    left, right = (dict(side.variant.config.values) for side in (a, b))
    names = [name for name in left if [left[name], right.get(name)] == sizes]
    return names[0] if len(names) == 1 else size


def _options(variant: Variant) -> list[object]:
    values = dict(variant.config.values)
    return [values.get(name) for name in _AMD_OPTIONS]


def _shape_cause(a: _ProductSide, b: _ProductSide) -> str:
    """Return why an instruction of AMD has another shape; "" if it is unknown."""
    product_a, product_b = a.product, b.product
    if product_a is None or product_b is None or a.path.name != MFMA:
        return ""
    option, precision = _AMD_OPTIONS[0], product_b.precision
    rows = [side.path.shape.split("x")[0] for side in (a, b)]
    if _options(a.variant)[0] != _options(b.variant)[0] and rows[0] != rows[1]:
        return f"of {option}"
    if replace(product_a, precision=precision) != product_b:
        return ""
    # TTIR has a precision for every product, by default that of the target; only f32 operands need one.
    same_precision = product_a.a != "f32" or product_a.precision == precision
    if a.variant.target != b.variant.target:
        only_target = same_precision or a.variant.config == b.variant.config
        return f"of the target ({a.variant.target} -> {b.variant.target})" if only_target else ""
    return "" if same_precision else f'input_precision="{precision}"'
