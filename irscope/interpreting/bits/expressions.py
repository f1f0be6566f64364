"""The domain of the same bits: a float, or a number read from memory, is the hash of what computes it.

Rules (measured on an H200 with Triton 3.6, see docs): a sum depends on which registers, lanes and warps hold
its elements; a product of matrices advances by the K of one instruction; `a * b + c` in one thread is rounded
once if fusion is on; adding zero, multiplying by one and the like change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.combining import placed, reduced, scanned
from irscope.interpreting.bits.elementwise import (
    EXTREMES,
    INTEGER_REDUCTIONS,
    ORDERLESS,
    VERBS,
    extreme,
    in_shape,
    is_short,
    kind_of,
    negated,
    of_constants,
    only_operation,
    operation_name,
    ring_result,
    unmoved,
    way_of,
    widens,
    zero_times,
)
from irscope.interpreting.bits.hashed import ANY, PLAIN, HashNote, along, expanded, note_of, stripped
from irscope.interpreting.bits.hashes import INFINITY, MINUS_INFINITY, NAN, ONE, ZERO, Hashes
from irscope.interpreting.bits.marks import Mark, add_mark
from irscope.interpreting.bits.order import adds_in_pairs, axis_order, scan_blocks
from irscope.interpreting.bits.products import dot_rule, extended, integer_product, matched
from irscope.interpreting.bits.written import Memory
from irscope.interpreting.domain import Combine
from irscope.interpreting.runtime_values import Array, RuntimeValue, is_integer, size_in_bytes
from irscope.interpreting.stage_program import Op, OpBlock, Place, StageProgram, Type, UnansweredError
from irscope.layouts.convert import Version
from irscope.layouts.linear import LinearLayout
from irscope.model.text import pluralize


@dataclass(frozen=True)
class Decision:
    """A place where the compiler chose among ways to compute that differ in bits.

    `kind` is "sum", "scan", "product", "loop", "fusion", "approximation", "cast", "split", "atomics", "part"
    (of a product that is added up) or "number" (that is known); `way` is what was chosen.
    """

    kind: str
    line: int
    place: Place
    way: str


# Since this version of Triton, a thread adds neighbors first, and not one value after another.
_PAIRWISE = (3, 8)
# The oldest version whose sums were read in the assembly of AMD.
_READ_ON_AMD = (3, 7)


class Expressions:
    """Computes the hashes of what the programs of one variant write."""

    def __init__(self, fusion: bool, flush: bool = True) -> None:
        self.fusion = fusion
        self.flush = flush
        self.memory = Memory()
        self.decisions: dict[Decision, int] = {}
        self.marks: dict[str, Mark] = {}
        self._program: StageProgram | None = None
        # In a reduction, the results that a thread computes side by side, and in which threads.
        self._side_by_side = ""
        # The block of code that is executed: a product is fused only with a sum of the same block.
        self._block = 0

    def begin(self, program: StageProgram, program_id: tuple[int, int, int]) -> None:
        """Begin the execution of a program of the launch."""
        self._program = program
        self.memory.begin(program_id)

    def enter(self, block: OpBlock) -> None:
        """Note which block of code is executed."""
        self._block = id(block)

    def computed(self, step: Op, name: str, value: RuntimeValue) -> None:
        """Note a result of an operation, which is not known."""
        if step.opcode != "arith.constant":
            add_mark(self.marks, step, name, value)

    def constant(self, number: float, type_: Type) -> RuntimeValue:
        """Return a float constant."""
        data = np.full((1,) * len(type_.shape), hashes.constant(number), np.uint64)
        return RuntimeValue(data, type_, False, ANY)

    def argument(self, name: str, type_: Type, number: float | None) -> RuntimeValue:
        """Return an argument that is no pointer and no known integer: the same for all configs."""
        return RuntimeValue(
            np.array(hashes.mix(np.array([hashes.word(f"argument {name}")]))[0]), type_, False, PLAIN
        )

    def carried(self, value: RuntimeValue) -> RuntimeValue:
        """Return a value as the next block of code sees it: its product is rounded."""
        note = value.note
        if isinstance(note, HashNote) and note.product is not None:
            return RuntimeValue(value.data, value.type, value.known, replace(note, product=None))
        return value

    def undecided(self, step: Op, begins: bool) -> bool:
        """Refuse code of which data decide whether it runs: what it writes has no hash."""
        return False

    def hidden(self, value: RuntimeValue) -> RuntimeValue:
        """Return a hash alone, all products added; integers are elements of the ring of 64-bit numbers."""
        note = note_of(value)
        return RuntimeValue(self._data(value), value.type, False, HashNote(note.plain, note.exact))

    def moved(
        self, value: RuntimeValue, type_: Type, change: Callable[[Array], Array] | None, in_thread: bool
    ) -> RuntimeValue:
        """Return a value whose elements change their places; one that changes its thread is rounded first."""
        if value.known:
            return RuntimeValue(change(value.data) if change else value.data, type_)
        note = note_of(value)
        if change is None:
            if note.chain is not None and type_.shape == value.type.shape:
                return RuntimeValue(value.data, type_, False, replace(note, product=None))
            change = unmoved
        data = self._data(value)
        product = None
        if in_thread and note.product is not None:
            a, b, block = note.product
            product = (change(expanded(a, data)), change(expanded(b, data)), block)
        return RuntimeValue(change(data), type_, False, HashNote(note.plain, note.exact, product))

    def select(
        self, step: Op, condition: RuntimeValue, one: RuntimeValue, other: RuntimeValue
    ) -> RuntimeValue:
        """Return `one` where the condition holds, else `other`."""
        a, b = self._data(one), self._data(other)
        note = HashNote(
            note_of(one).plain and note_of(other).plain, note_of(one).exact and note_of(other).exact
        )
        type_ = step.types[0] if len(step.types) == 1 else one.type
        if condition.known:
            return RuntimeValue(np.where(condition.data != 0, a, b), type_, False, note)
        chosen = hashes.several("select", self._data(condition), a, b)
        return RuntimeValue(np.where(a == b, a, chosen), type_, False, note)

    def load(
        self,
        step: Op,
        address: RuntimeValue,
        mask: RuntimeValue | None,
        other: RuntimeValue | None,
        type_: Type,
    ) -> RuntimeValue:
        """Return what is at addresses: what the program wrote, or what was there before."""
        if address.known:
            data = self.memory.read(address.data, size_in_bytes(type_.element))
        else:
            data = hashes.unary("load", self._data(address))
        note = HashNote(plain=not self.memory.has_writes, exact=is_short(type_.element))
        if mask is None or (mask.known and bool(np.all(mask.data))):
            return RuntimeValue(data, type_, False, note)
        rest = self._data(other) if other is not None else np.array([hashes.word("undefined")], np.uint64)
        rest = rest.reshape(rest.shape if rest.ndim == data.ndim else (1,) * data.ndim)
        if mask.known:
            return RuntimeValue(
                np.where(mask.data != 0, data, rest), type_, False, HashNote(exact=note.exact)
            )
        return RuntimeValue(hashes.several("select", self._data(mask), data, rest), type_, False, note)

    def store(self, step: Op, address: RuntimeValue, value: RuntimeValue, mask: RuntimeValue | None) -> None:
        """Write to global memory."""
        self.memory.write(step, address, self._data(value), mask, address.type.shape)

    def atomic(
        self, step: Op, address: RuntimeValue, values: Sequence[RuntimeValue], mask: RuntimeValue | None
    ) -> RuntimeValue | None:
        """Change global memory by an atomic operation."""
        element = values[0].type.element
        kind = "cas" if step.opcode == "tt.atomic_cas" else step.text.strip().split(",")[0].strip()
        if "reduce" in step.opcode:
            kind = step.text.strip().split(",")[0].strip()
            kind = "fadd" if kind == "add" and not is_integer(element) else kind
        self.note_way("atomics", step, f"does an atomic {kind}")
        data = self._data(values[-1])
        self.memory.add(step, kind, address, data, mask, address.type.shape)
        if not step.results:
            return None
        if self._program is None or self._program.used.intersection(step.results):
            self.memory.ordered = True
        old = hashes.unary("before", self._data(address))
        return RuntimeValue(old, step.types[0], False, PLAIN)

    # Element-wise operations.

    def compute(self, step: Op, operands: Sequence[RuntimeValue]) -> RuntimeValue:
        """Return the hash of an element-wise operation."""
        type_, name = step.types[0], step.opcode.partition(".")[2]
        if name in ("addf", "subf"):
            return self._sum(step, operands[0], operands[1], type_)
        data = [self._data(operand) for operand in operands]
        notes = [note_of(operand) for operand in operands]
        plain = all(note.plain for note in notes)
        if name == "fma":
            product = self._product(data[:2], notes[:2], type_)
            added = self._added(
                step, (product.data, note_of(product)), (data[2], notes[2]), self._kind(type_), fuse=True
            )
            self.note_way("fusion", step, "fuses a * b + c")
            return RuntimeValue(added[0], type_, False, HashNote(plain))
        if name == "mulf":
            return self._product(data, notes, type_)
        note, result = HashNote(plain, is_short(type_.element)), None
        if name == "negf":
            result, note = negated(data[0], notes[0]), HashNote(plain, notes[0].exact)
        elif name in EXTREMES:
            result = extreme(name, data, notes)
        elif name == "extf" or (name == "fp_to_fp" and widens(step)):
            result, note = data[0], HashNote(plain, is_short(operands[0].type.element))
        elif name in ("sitofp", "uitofp") and operands[0].known:
            result, note = hashes.constants(operands[0].data.astype(np.float64)), ANY
            if not operands[0].type.shape:
                self.note_way("number", step, f"computes with the number {operands[0].number}")
        elif is_integer(type_.element):
            result = ring_result(name, data)
        if result is None:
            if kind := kind_of(step):
                self.note_way(kind, step, f"{way_of(step)}{self._denormals(step)}")
            result = hashes.several(f"{operation_name(step)}{self._denormals(step)}", *data)
            if not plain:
                result = of_constants(name, data, result)
        return RuntimeValue(result, type_, False, note)

    def _sum(self, step: Op, one: RuntimeValue, other: RuntimeValue, type_: Type) -> RuntimeValue:
        a, b, note_a, note_b = self._data(one), self._data(other), note_of(one), note_of(other)
        subtract = step.opcode == "arith.subf"
        data, fused = self._added(step, (a, note_a), (b, note_b), self._kind(type_), subtract)
        if fused:
            self.note_way("fusion", step, f"fuses a * b {'-' if subtract else '+'} c")
        return RuntimeValue(data, type_, False, HashNote(note_a.plain and note_b.plain and not subtract))

    def _added(
        self,
        step: Op | None,
        one: tuple[Hashes, HashNote],
        other: tuple[Hashes, HashNote],
        element: str,
        subtract: bool = False,
        fuse: bool = False,
    ) -> tuple[Hashes, bool]:
        """Return the hash of a sum, and whether a product is fused into it."""
        (a, note_a), (b, note_b) = one, other
        if subtract:
            b = negated(b, note_b)
        plain = hashes.symmetric(f"add {element}", a, b)
        fused = False
        if self.fusion or fuse:
            products = [note.product for note in (note_a, note_b)]
            here = [product is not None and product[2] == self._block for product in products]
            for number, rest in enumerate((b, a)):
                product = products[number]
                if product is not None and here[number]:
                    name = "fma- " if subtract and number else "fma "
                    if all(here):
                        # Which of two products LLVM fuses differs if it can pair the registers of a thread.
                        name += f"of two in {self._registers(step)} "
                    factors = hashes.symmetric("factors", product[0], product[1])
                    plain = hashes.ordered(name + element, factors, rest)
                    fused = True
                    break
        if subtract:
            # x - x, as when a running maximum did not change; not for infinities, which are below.
            plain = np.where(a == ~b, ZERO, plain)
        if not note_a.plain:
            plain = np.where(hashes.are_zero(a), b, plain)
            plain = np.where((a == MINUS_INFINITY) & (b != NAN) & (b != INFINITY), a, plain)
            if not note_b.plain:
                opposite = (a == MINUS_INFINITY) & (b == INFINITY)
                plain = np.where(opposite, NAN, plain)
        if not note_b.plain:
            # The sum of two zeros is positive unless both are negative.
            plain = np.where(hashes.are_zero(b), np.where(hashes.are_zero(a) & (a != b), ZERO, a), plain)
        return plain, fused

    def _kind(self, type_: Type) -> str:
        """Return the element type of an addition or multiplication, and whether it flushes denormals."""
        flushes = not self.flush and type_.element == "f32" and self._compiled_by[0].startswith("hip:")
        return f"{type_.element} with a flush of denormals" if flushes else type_.element

    def _denormals(self, step: Op) -> str:
        """Return what a function of a library does with denormals, if that is not what it does by default."""
        calls = step.opcode == "tt.extern_elementwise" or step.opcode.startswith("math.")
        if self.flush or not calls:
            return ""
        return f" {'with' if self._compiled_by[0].startswith('hip:') else 'without'} a flush of denormals"

    def _registers(self, step: Op | None) -> int | str:
        """Return how many elements of a result a thread has, as far as that decides what is fused."""
        if self._side_by_side:
            return self._side_by_side
        if step is None or not step.types or step.types[0].kind != "tensor":
            return 1
        return min(2, self._layout(step.types[0]).size("register"))

    def _product(self, data: Sequence[Hashes], notes: Sequence[HashNote], type_: Type) -> RuntimeValue:
        a, b = data
        result = hashes.symmetric(f"mul {self._kind(type_)}", a, b)
        if not notes[0].plain:
            result = np.where(hashes.are_zero(a), zero_times(a, b), np.where(a == ONE, b, result))
        if not notes[1].plain:
            result = np.where(hashes.are_zero(b), zero_times(b, a), np.where(b == ONE, a, result))
        exact = notes[0].exact and notes[1].exact and type_.element in ("f32", "f64")
        product = None if exact else (a, b, self._block)
        return RuntimeValue(result, type_, False, HashNote(notes[0].plain and notes[1].plain, False, product))

    # Reductions.

    def reduce(self, step: Op, operands: Sequence[RuntimeValue], combine: Combine) -> list[RuntimeValue]:
        """Return the results of `tt.reduce`: registers in order, then lanes, then warps."""
        axis, kind = step.number("axis"), only_operation(step)
        first = operands[0]
        if all(value.known for value in operands) and kind in INTEGER_REDUCTIONS and len(operands) == 1:
            return [RuntimeValue(INTEGER_REDUCTIONS[kind](first.full, axis), step.types[0])]
        if kind in EXTREMES or (kind in ORDERLESS and len(operands) == 1):
            return [self._without_order(kind, first, axis, step.types[0])]
        layout = self._layout(first.type)
        target, version = self._compiled_by
        order, pairwise = axis_order(layout, axis), version >= _PAIRWISE
        packed = pairwise and kind in VERBS and adds_in_pairs(layout, axis, target, first.type.element)
        if target.startswith("hip:") and version < (_PAIRWISE if "hip:gfx9" not in target else _READ_ON_AMD):
            raise UnansweredError("the order of sums on this target in this version of Triton", step)
        if kind:
            order = order.in_rows(target, len(layout.bases["lane"]))
        self.note_way("sum", step, f"{VERBS.get(kind, 'combines')} {order.text(pairwise)}")
        # How many results each thread computes side by side, and where, if that decides about a result.
        whole = {name: len(vectors) for name, vectors in layout.bases.items()}
        rest = whole["register"] - len(order.registers)
        place = f"{rest} {whole['lane']} {whole['warp']} of {order.text(pairwise)}"

        chooses = not kind and any(inner.opcode == "arith.cmpf" for inner in step.regions[0].steps)

        def both(one: list[RuntimeValue], other: list[RuntimeValue]) -> list[RuntimeValue]:
            if kind != "addf" or len(one) > 1 or one[0].known:
                return placed(combine([*one, *other]), place if chooses else "")
            a, b = ((value.data, note_of(value)) for value in (one[0], other[0]))
            data, fused = self._added(step, a, b, self._kind(one[0].type))
            if fused:
                self.note_way("fusion", step, "fuses a * b + c")
            if fused and a[1].product is not None and b[1].product is None and not order.warps:
                # Two lanes exchange their products, and each rounds only that of the other. Of several
                # warps, the first lane of each goes on; of one, the lane that needs the result.
                data = hashes.unary(f"{rest} of {len(order.lanes)} {whole['lane']}", data)
            return [RuntimeValue(data, one[0].type, False, HashNote(a[1].plain and b[1].plain))]

        before, self._side_by_side = self._side_by_side, place
        if pairwise and self._program is not None:
            # LLVM orders the two products of a pair by all that it does with them before, such as shuffles.
            self._side_by_side += f" of {self._program.digest}"
        results = reduced(
            order, [along(value, self._data(value), axis) for value in operands], both, pairwise, packed
        )
        self._side_by_side = before
        return [
            RuntimeValue(in_shape(value.data, type_), type_, value.known, stripped(value))
            for value, type_ in zip(results, step.types, strict=True)
        ]

    def _without_order(self, kind: str, value: RuntimeValue, axis: int, type_: Type) -> RuntimeValue:
        full = np.broadcast_to(self._data(value), value.type.shape)
        if kind == "addi":
            return RuntimeValue(np.asarray(full.sum(axis, dtype=np.uint64)), type_, False, ANY)
        if kind in ORDERLESS:
            total = hashes.folded(kind, full).sum(axis, dtype=np.uint64)
            return RuntimeValue(np.asarray(hashes.unfolded(kind, total)), type_, False, ANY)
        name, neutral = EXTREMES[kind]
        note = HashNote(note_of(value).plain, note_of(value).exact)
        if value.data.shape[axis] == 1:
            return RuntimeValue(np.take(full, 0, axis), type_, False, note)
        counted = np.where(full == neutral, np.uint64(0), hashes.folded(name, full))
        largest = hashes.unfolded(name, counted.sum(axis, dtype=np.uint64))
        return RuntimeValue(np.where(np.all(full == neutral, axis), neutral, largest), type_, False, note)

    def scan(self, step: Op, operands: Sequence[RuntimeValue], combine: Combine) -> list[RuntimeValue]:
        """Return the results of `tt.scan`: elements of a thread, its lanes, then blocks of both."""
        axis, kind, reverse = step.number("axis"), only_operation(step), "reverse = true" in step.text
        if all(value.known for value in operands) and kind == "addi" and len(operands) == 1:
            full = np.flip(operands[0].full, axis) if reverse else operands[0].full
            summed = np.cumsum(full, axis)
            return [RuntimeValue(np.flip(summed, axis) if reverse else summed, step.types[0])]
        layout = self._layout(operands[0].type)
        blocks = scan_blocks(layout, axis)
        ways = "{} values per thread, then {} lanes, in {} blocks".format(*blocks)
        ways += ", from the end" if reverse else ""
        ways += "" if kind else f", in {pluralize(1 << len(layout.bases['warp']), 'warp')}"
        self.note_way("scan", step, f"scans {ways}")
        parts = [along(value, self._data(value), axis) for value in operands]
        if reverse:
            parts = [
                RuntimeValue(value.data[::-1], value.type, value.known, note_of(value)) for value in parts
            ]
        # What is fused in a combination of several operations depends on what a thread does besides.
        place = "" if kind else " ".join(f"{name} {len(bases)}" for name, bases in layout.bases.items())

        results = scanned(blocks, parts, lambda values: placed(combine(values), place))
        return [
            RuntimeValue(
                np.moveaxis(data[::-1] if reverse else data, 0, axis), type_, data.dtype == np.int64, ANY
            )
            for data, type_ in zip(results, step.types, strict=True)
        ]

    def repeated(self, step: Op, times: range, carried: Sequence[RuntimeValue]) -> None:
        """Note how often a loop adds to what it carries; an accumulator of products does not show it."""
        if any(not value.known and note_of(value).chain is None for value in carried):
            self.note_way("loop", step, f"takes {len(times)} steps of {times.step}")

    def histogram(self, step: Op, value: RuntimeValue, mask: RuntimeValue | None) -> RuntimeValue:
        """Return the counts of `tt.histogram`, which no order changes."""
        type_ = step.types[0]
        elements = hashes.mix(np.broadcast_to(self._data(value), value.type.shape))
        if mask is not None and not mask.known:
            elements = hashes.ordered("counted", elements, np.broadcast_to(self._data(mask), elements.shape))
        elif mask is not None:
            elements = elements[np.broadcast_to(mask.data != 0, elements.shape)]
        bins = np.arange(type_.shape[0], dtype=np.uint64)
        counts = [hashes.ordered("histogram", elements, bins[n : n + 1]).sum() for n in range(len(bins))]
        return RuntimeValue(np.array(counts, np.uint64), type_, False, PLAIN)

    def gather(self, step: Op, source: RuntimeValue, index: RuntimeValue) -> RuntimeValue:
        """Return the elements of `source` at indices that depend on data."""
        axis = step.number("axis")
        elements = np.broadcast_to(self._data(source), source.type.shape)
        places = hashes.mix(np.arange(1, elements.shape[axis] + 1, dtype=np.uint64)) | np.uint64(1)
        shape = [-1 if number == axis else 1 for number in range(elements.ndim)]
        whole = (hashes.mix(elements) * places.reshape(shape)).sum(axis, dtype=np.uint64, keepdims=True)
        data = hashes.ordered("gather", np.broadcast_to(self._data(index), index.type.shape), whole)
        return RuntimeValue(data, step.types[0], False, ANY)

    # Products of matrices.

    def dot(self, step: Op, a: RuntimeValue, b: RuntimeValue, accumulator: RuntimeValue) -> RuntimeValue:
        """Return the accumulator plus a product, one instruction's K after another."""
        program = self._program
        if program is None:
            raise UnansweredError("no program is executed", step)
        type_ = accumulator.type
        if a.known and b.known and accumulator.known:
            return RuntimeValue(accumulator.data + a.full @ b.full, type_)
        if is_integer(accumulator.type.element):
            data = integer_product(self._data(a), a.type, self._data(b), b.type, self._data(accumulator))
            return RuntimeValue(data, type_, False, ANY)
        rule = dot_rule(program, step, a.type, b.type, type_)
        self.note_way("product", step, rule.text)
        note = note_of(accumulator)
        base = accumulator.data
        chain = note.chain if note.chain is not None and note.chain.name == rule.name else None
        if chain is None:
            base = self._data(accumulator)
        full_a = np.broadcast_to(self._data(a), a.type.shape)
        full_b = np.broadcast_to(self._data(b), b.type.shape)
        chain = extended(chain, step, rule, full_a, full_b)
        return RuntimeValue(base, type_, False, HashNote(chain=chain))

    # Help.

    def note_way(self, kind: str, step: Op, way: str) -> None:
        """Remember which way of computing was chosen at a line."""
        decision = Decision(kind, step.line, step.place, way)
        self.decisions[decision] = self.decisions.get(decision, 0) + 1

    def _data(self, value: RuntimeValue) -> Hashes:
        if value.known:
            return value.data.view(np.uint64)
        note = value.note
        if isinstance(note, HashNote) and note.chain is not None:
            self.note_way("part", note.chain.step, f"adds up {note.chain.length} of K")
            return matched(note.chain, value.data)
        return value.data

    @property
    def _compiled_by(self) -> tuple[str, Version]:
        """Return the target, and the version of Triton."""
        return (self._program.target, self._program.triton) if self._program else ("", (0, 0))

    def _layout(self, type_: Type) -> LinearLayout:
        if self._program is None:
            raise UnansweredError("no program is executed")
        return self._program.layout(type_)
