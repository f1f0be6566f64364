"""The domain of the same bits: a float, or a number read from memory, is the hash of what computes it.

Rules (measured on an H200 with Triton 3.6, see docs): a sum depends on which registers, lanes and warps hold
its elements; a product of matrices advances by the K of one instruction; `a * b + c` in one thread is rounded
once if fusion is on; adding zero, multiplying by one and the like change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from irscope.interpreting.answers import UnansweredError
from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.hashed import ANY, PLAIN, Note, along, expanded, note_of, stripped
from irscope.interpreting.bits.hashes import INFINITY, MINUS_INFINITY, NAN, ONE, ZERO, Hashes
from irscope.interpreting.bits.order import axis_order, scan_blocks
from irscope.interpreting.bits.products import dot_rule, extended, integer_product, matched
from irscope.interpreting.bits.reductions import reduced, scanned
from irscope.interpreting.bits.written import Memory
from irscope.interpreting.domain import Combine
from irscope.interpreting.program import Block, Program, Step, Type
from irscope.interpreting.values import Array, Value, is_integer, size_in_bytes
from irscope.layouts.linear import LinearLayout


@dataclass(frozen=True)
class Decision:
    """A place where the compiler chose among ways to compute that differ in bits.

    `kind` is "sum", "scan", "product", "fusion", "approximation", "cast" or "atomics"; `way` is what was
    chosen.
    """

    kind: str
    line: int
    source_line: int
    way: str


class Expressions:
    """Computes the hashes of what the programs of one variant write."""

    def __init__(self, fusion: bool) -> None:
        self.fusion = fusion
        self.memory = Memory()
        self.decisions: dict[Decision, int] = {}
        self._program: Program | None = None
        # In a reduction, the number of results that a thread computes side by side.
        self._side_by_side = 0
        # The block of code that is executed: a product is fused only with a sum of the same block.
        self._block = 0

    # What the machine asks.

    def begin(self, program: Program, program_id: tuple[int, int, int]) -> None:
        """Begin the execution of a program of the launch."""
        self._program = program
        self.memory.begin(program_id)

    def enter(self, block: Block) -> None:
        """Note which block of code is executed."""
        self._block = id(block)

    def constant(self, number: float, type_: Type) -> Value:
        """Return a float constant."""
        data = np.full((1,) * len(type_.shape), hashes.constant(number), np.uint64)
        return Value(data, type_, False, ANY)

    def argument(self, name: str, type_: Type, number: float | None) -> Value:
        """Return an argument that is no pointer and no known integer: the same for all configs."""
        return Value(
            np.array(hashes.mix(np.array([hashes.word(f"argument {name}")]))[0]), type_, False, PLAIN
        )

    def carried(self, value: Value) -> Value:
        """Return a value as the next block of code sees it: its product is rounded."""
        note = value.note
        if isinstance(note, Note) and note.product is not None:
            return Value(value.data, value.type, value.known, replace(note, product=None))
        return value

    def hidden(self, value: Value) -> Value:
        """Return a known integer as a hash: integers are elements of the ring of 64-bit numbers."""
        if not value.known:
            return value
        return Value(value.data.view(np.uint64), value.type, False, ANY)

    def moved(
        self, value: Value, type_: Type, change: Callable[[Array], Array] | None, in_thread: bool
    ) -> Value:
        """Return a value whose elements change their places; one that changes its thread is rounded first."""
        if value.known:
            return Value(change(value.data) if change else value.data, type_)
        note = note_of(value)
        if change is None:
            if note.chain is not None and type_.shape == value.type.shape:
                return Value(value.data, type_, False, replace(note, product=None))
            change = _same
        data = self._data(value)
        product = None
        if in_thread and note.product is not None:
            a, b, block = note.product
            product = (change(expanded(a, data)), change(expanded(b, data)), block)
        return Value(change(data), type_, False, Note(note.plain, note.exact, product))

    def select(self, step: Step, condition: Value, one: Value, other: Value) -> Value:
        """Return `one` where the condition holds, else `other`."""
        a, b = self._data(one), self._data(other)
        note = Note(note_of(one).plain and note_of(other).plain, note_of(one).exact and note_of(other).exact)
        type_ = step.types[0] if len(step.types) == 1 else one.type
        if condition.known:
            return Value(np.where(condition.data != 0, a, b), type_, False, note)
        chosen = hashes.several("select", self._data(condition), a, b)
        return Value(np.where(a == b, a, chosen), type_, False, note)

    def load(self, step: Step, address: Value, mask: Value | None, other: Value | None, type_: Type) -> Value:
        """Return what is at addresses: what the program wrote, or what was there before."""
        if address.known:
            data = self.memory.read(address.data, size_in_bytes(type_.element))
        else:
            data = hashes.unary("load", self._data(address))
        note = Note(plain=not self.memory.has_writes, exact=_is_short(type_.element))
        if mask is None or (mask.known and bool(np.all(mask.data))):
            return Value(data, type_, False, note)
        rest = self._data(other) if other is not None else np.array([hashes.word("undefined")], np.uint64)
        rest = rest.reshape(rest.shape if rest.ndim == data.ndim else (1,) * data.ndim)
        if mask.known:
            return Value(np.where(mask.data != 0, data, rest), type_, False, Note(exact=note.exact))
        return Value(hashes.several("select", self._data(mask), data, rest), type_, False, note)

    def store(self, step: Step, address: Value, value: Value, mask: Value | None) -> None:
        """Write to global memory."""
        self.memory.write(step, address, self._data(value), mask, address.type.shape)

    def atomic(self, step: Step, address: Value, values: Sequence[Value], mask: Value | None) -> Value | None:
        """Change global memory by an atomic operation."""
        element = values[0].type.element
        kind = "cas" if step.opcode == "tt.atomic_cas" else step.text.strip().split(",")[0].strip()
        if "reduce" in step.opcode:
            kind = step.text.strip().split(",")[0].strip()
            kind = "fadd" if kind == "add" and not is_integer(element) else kind
        self.note_way("atomics", step, f"atomic {kind}")
        data = self._data(values[-1])
        self.memory.add(step, kind, address, data, mask, address.type.shape)
        if not step.results:
            return None
        if self._program is None or self._program.used.intersection(step.results):
            self.memory.ordered = True
        old = hashes.unary("before", self._data(address))
        return Value(old, step.types[0], False, PLAIN)

    # Element-wise operations.

    def compute(self, step: Step, operands: Sequence[Value]) -> Value:
        """Return the hash of an element-wise operation."""
        type_, name = step.types[0], step.opcode.partition(".")[2]
        if name in ("addf", "subf"):
            return self._sum(step, operands[0], operands[1], type_)
        data = [self._data(operand) for operand in operands]
        notes = [note_of(operand) for operand in operands]
        plain = all(note.plain for note in notes)
        if name == "mulf":
            return self._product(data, notes, type_)
        note, result = Note(plain, _is_short(type_.element)), None
        if name == "negf":
            result, note = _negated(data[0], notes[0]), Note(plain, notes[0].exact)
        elif name in _EXTREMES:
            result = self._extreme(name, data, notes)
        elif name == "extf" or (name == "fp_to_fp" and _widens(step)):
            result, note = data[0], Note(plain, _is_short(operands[0].type.element))
        elif name in ("sitofp", "uitofp") and operands[0].known:
            result, note = hashes.constants(operands[0].data.astype(np.float64)), ANY
        elif is_integer(type_.element):
            result = _ring(name, data)
        if result is None:
            if name in _KINDS:
                self.note_way(_KINDS[name], step, _way(step))
            result = hashes.several(_operation(step), *data)
            if not plain:
                result = _of_constants(name, data, result)
        return Value(result, type_, False, note)

    def _sum(self, step: Step, one: Value, other: Value, type_: Type) -> Value:
        a, b, note_a, note_b = self._data(one), self._data(other), note_of(one), note_of(other)
        subtract = step.opcode == "arith.subf"
        data, fused = self._added(step, (a, note_a), (b, note_b), type_.element, subtract)
        if fused:
            self.note_way("fusion", step, "a * b + c is fused")
        return Value(data, type_, False, Note(note_a.plain and note_b.plain and not subtract))

    def _added(
        self,
        step: Step | None,
        one: tuple[Hashes, Note],
        other: tuple[Hashes, Note],
        element: str,
        subtract: bool = False,
    ) -> tuple[Hashes, bool]:
        """Return the hash of a sum, and whether a product is fused into it."""
        (a, note_a), (b, note_b) = one, other
        if subtract:
            b = _negated(b, note_b)
        plain = hashes.symmetric(f"add {element}", a, b)
        fused = False
        if self.fusion:
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
            plain = np.where(a == ZERO, b, plain)
            plain = np.where((a == MINUS_INFINITY) & (b != NAN) & (b != INFINITY), a, plain)
            if not note_b.plain:
                opposite = (a == MINUS_INFINITY) & (b == INFINITY)
                plain = np.where(opposite, NAN, plain)
        if not note_b.plain:
            plain = np.where((b == ZERO) | (b == ~ZERO), a, plain)
        return plain, fused

    def _registers(self, step: Step | None) -> int:
        """Return how many elements of the result of a step a thread has, as far as that decides what is fused."""
        if self._side_by_side:
            return self._side_by_side
        if step is None or not step.types or step.types[0].kind != "tensor":
            return 1
        return min(2, self._layout(step.types[0]).size("register"))

    def _product(self, data: Sequence[Hashes], notes: Sequence[Note], type_: Type) -> Value:
        a, b = data
        result = hashes.symmetric(f"mul {type_.element}", a, b)
        if not notes[0].plain:
            result = np.where(a == ZERO, ZERO, np.where(a == ONE, b, result))
        if not notes[1].plain:
            result = np.where(b == ZERO, ZERO, np.where(b == ONE, a, result))
        exact = notes[0].exact and notes[1].exact and type_.element in ("f32", "f64")
        product = None if exact else (a, b, self._block)
        return Value(result, type_, False, Note(notes[0].plain and notes[1].plain, False, product))

    def _extreme(self, name: str, data: Sequence[Hashes], notes: Sequence[Note]) -> Hashes:
        kind, neutral = _EXTREMES[name]
        a, b = data
        result = hashes.unordered(kind, a, b)
        if not notes[0].plain:
            result = np.where(a == neutral, b, result)
        if not notes[1].plain:
            result = np.where(b == neutral, a, result)
        return result

    # Reductions.

    def reduce(self, step: Step, operands: Sequence[Value], combine: Combine) -> list[Value]:
        """Return the results of `tt.reduce`: registers in order, then lanes, then warps."""
        axis, kind = step.number("axis"), _single(step)
        first = operands[0]
        if all(value.known for value in operands) and kind in _INTEGER_REDUCTIONS and len(operands) == 1:
            return [Value(_INTEGER_REDUCTIONS[kind](first.full, axis), step.types[0])]
        if kind in _EXTREMES or (kind in _ORDERLESS and len(operands) == 1):
            return [self._without_order(kind, first, axis, step.types[0])]
        layout = self._layout(first.type)
        order = axis_order(layout, axis)
        self.note_way("sum", step, f"{kind or 'combine'}: {order}")
        # How many results each thread computes side by side, and for a choice among NaNs, in which thread.
        whole = {name: len(vectors) for name, vectors in layout.bases.items()}
        rest = whole["register"] - len(order.registers)
        place = "" if kind else f"{rest} {whole['lane']} {whole['warp']} of {order}"

        def both(one: list[Value], other: list[Value]) -> list[Value]:
            if kind != "addf" or len(one) > 1 or one[0].known:
                return self._placed(step, combine([*one, *other]), place)
            a, b = ((value.data, note_of(value)) for value in (one[0], other[0]))
            data, _ = self._added(step, a, b, one[0].type.element)
            return [Value(data, one[0].type, False, Note(a[1].plain and b[1].plain))]

        before, self._side_by_side = self._side_by_side, 1 << rest
        results = reduced(order, [along(value, self._data(value), axis) for value in operands], both)
        self._side_by_side = before
        return [
            Value(_in_shape(value.data, type_), type_, value.known, stripped(value))
            for value, type_ in zip(results, step.types, strict=True)
        ]

    def _placed(self, step: Step, results: list[Value], place: str) -> list[Value]:
        """Return partial results that depend on the thread that computes them, if a comparison chooses."""
        if not place or all(inner.opcode != "arith.cmpf" for inner in step.regions[0].steps):
            return results
        return [
            value if value.known else Value(hashes.unary(place, value.data), value.type, False, value.note)
            for value in results
        ]

    def _without_order(self, kind: str, value: Value, axis: int, type_: Type) -> Value:
        full = np.broadcast_to(self._data(value), value.type.shape)
        if kind == "addi":
            return Value(np.asarray(full.sum(axis, dtype=np.uint64)), type_, False, ANY)
        if kind in _ORDERLESS:
            total = hashes.folded(kind, full).sum(axis, dtype=np.uint64)
            return Value(np.asarray(hashes.unfolded(kind, total)), type_, False, ANY)
        name, neutral = _EXTREMES[kind]
        note = Note(note_of(value).plain, note_of(value).exact)
        if value.data.shape[axis] == 1:
            return Value(np.take(full, 0, axis), type_, False, note)
        counted = np.where(full == neutral, np.uint64(0), hashes.folded(name, full))
        largest = hashes.unfolded(name, counted.sum(axis, dtype=np.uint64))
        return Value(np.where(np.all(full == neutral, axis), neutral, largest), type_, False, note)

    def scan(self, step: Step, operands: Sequence[Value], combine: Combine) -> list[Value]:
        """Return the results of `tt.scan`: elements of a thread, its lanes, then blocks of both."""
        axis, kind, reverse = step.number("axis"), _single(step), "reverse = true" in step.text
        if all(value.known for value in operands) and kind == "addi" and len(operands) == 1:
            full = np.flip(operands[0].full, axis) if reverse else operands[0].full
            summed = np.cumsum(full, axis)
            return [Value(np.flip(summed, axis) if reverse else summed, step.types[0])]
        blocks = scan_blocks(self._layout(operands[0].type), axis)
        ways = "{} values per thread, then {} lanes, {} blocks".format(*blocks)
        self.note_way("scan", step, f"{kind or 'combine'}: {ways}")
        parts = [along(value, self._data(value), axis) for value in operands]
        if reverse:
            parts = [Value(value.data[::-1], value.type, value.known, note_of(value)) for value in parts]
        results = scanned(blocks, parts, combine)
        return [
            Value(np.moveaxis(data[::-1] if reverse else data, 0, axis), type_, data.dtype == np.int64, ANY)
            for data, type_ in zip(results, step.types, strict=True)
        ]

    def histogram(self, step: Step, value: Value, mask: Value | None) -> Value:
        """Return the counts of `tt.histogram`, which no order changes."""
        type_ = step.types[0]
        elements = hashes.mix(np.broadcast_to(self._data(value), value.type.shape))
        if mask is not None and not mask.known:
            elements = hashes.ordered("counted", elements, np.broadcast_to(self._data(mask), elements.shape))
        elif mask is not None:
            elements = elements[np.broadcast_to(mask.data != 0, elements.shape)]
        bins = np.arange(type_.shape[0], dtype=np.uint64)
        counts = [hashes.ordered("histogram", elements, bins[n : n + 1]).sum() for n in range(len(bins))]
        return Value(np.array(counts, np.uint64), type_, False, PLAIN)

    def gather(self, step: Step, source: Value, index: Value) -> Value:
        """Return the elements of `source` at indices that depend on data."""
        axis = step.number("axis")
        elements = np.broadcast_to(self._data(source), source.type.shape)
        places = hashes.mix(np.arange(1, elements.shape[axis] + 1, dtype=np.uint64)) | np.uint64(1)
        shape = [-1 if number == axis else 1 for number in range(elements.ndim)]
        whole = (hashes.mix(elements) * places.reshape(shape)).sum(axis, dtype=np.uint64, keepdims=True)
        data = hashes.ordered("gather", np.broadcast_to(self._data(index), index.type.shape), whole)
        return Value(data, step.types[0], False, ANY)

    # Products of matrices.

    def dot(self, step: Step, a: Value, b: Value, accumulator: Value, scales: Sequence[Value]) -> Value:
        """Return the accumulator plus a product, one instruction's K after another."""
        program = self._program
        if program is None:
            raise UnansweredError("no program is executed", step)
        if a.known and b.known and accumulator.known:
            return Value(accumulator.data + a.full @ b.full, step.types[0])
        if is_integer(accumulator.type.element):
            data = integer_product(self._data(a), a.type, self._data(b), b.type, self._data(accumulator))
            return Value(data, step.types[0], False, ANY)
        rule = dot_rule(program, step, a.type, b.type)
        self.note_way("product", step, rule.text)
        note = note_of(accumulator)
        base = accumulator.data
        chain = note.chain if note.chain is not None and note.chain.name == rule.name else None
        if chain is None:
            base = self._data(accumulator)
        full_a = np.broadcast_to(self._data(a), a.type.shape)
        full_b = np.broadcast_to(self._data(b), b.type.shape)
        chain = extended(chain, rule, full_a, full_b)
        return Value(base, step.types[0], False, Note(chain=chain))

    # Help.

    def note_way(self, kind: str, step: Step, way: str) -> None:
        """Remember which way of computing was chosen at a line."""
        decision = Decision(kind, step.line, step.source_line, way)
        self.decisions[decision] = self.decisions.get(decision, 0) + 1

    def _data(self, value: Value) -> Hashes:
        if value.known:
            return value.data.view(np.uint64)
        note = value.note
        if isinstance(note, Note) and note.chain is not None:
            return matched(note.chain, value.data)
        return value.data

    def _layout(self, type_: Type) -> LinearLayout:
        if self._program is None:
            raise UnansweredError("no program is executed")
        return self._program.layout(type_)


_EXTREMES = {
    "maxnumf": ("maximum", MINUS_INFINITY),
    "maximumf": ("maximum with NaN", MINUS_INFINITY),
    "minnumf": ("minimum", INFINITY),
    "minimumf": ("minimum with NaN", INFINITY),
}
# Operations on integers whose order changes nothing.
_ORDERLESS = ("addi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori")
_INTEGER_REDUCTIONS: dict[str, Callable[[Array, int], Array]] = {
    "addi": lambda data, axis: data.sum(axis),
    "maxsi": lambda data, axis: data.max(axis),
    "minsi": lambda data, axis: data.min(axis),
    "andi": np.bitwise_and.reduce,
    "ori": np.bitwise_or.reduce,
    "xori": np.bitwise_xor.reduce,
}
# Operations of which compilers have several, and what a user calls the choice.
_KINDS = {
    "divf": "approximation",
    "precise_divf": "approximation",
    "sqrt": "approximation",
    "precise_sqrt": "approximation",
    "rsqrt": "approximation",
    "exp": "approximation",
    "exp2": "approximation",
    "log": "approximation",
    "log2": "approximation",
    "extern_elementwise": "approximation",
    "truncf": "cast",
    "fp_to_fp": "cast",
}
_FLOAT_BITS = re.compile(r"[a-z]+(\d+)")


def _in_shape(data: Array, type_: Type) -> Array:
    """Return the result of a reduction; one element, or all of them."""
    return data.reshape((1,) * len(type_.shape)) if data.size == 1 else np.broadcast_to(data, type_.shape)


def _same(data: Array) -> Array:
    return data


def _negated(data: Hashes, note: Note) -> Hashes:
    if note.plain:
        return ~data
    result = np.where(data == INFINITY, MINUS_INFINITY, ~data)
    result = np.where(data == MINUS_INFINITY, INFINITY, result)
    return np.where((data == ZERO) | (data == NAN), data, result)


def _single(step: Step) -> str:
    """Return the operation of a region that does only one: `addf`; "" if it does more."""
    steps = step.regions[0].steps
    return steps[0].opcode.partition(".")[2] if len(steps) == 2 else ""


def _is_short(element: str) -> bool:
    """Return True for floats whose products are exact in f32."""
    return element in ("f16", "bf16") or element.startswith("f8")


def _widens(step: Step) -> bool:
    sizes = [_FLOAT_BITS.match(type_.element) for type_ in (*step.operand_types[:1], *step.types[:1])]
    return len(sizes) == 2 and all(sizes) and int(sizes[0][1]) < int(sizes[1][1])  # type: ignore[index]


def _operation(step: Step) -> str:
    """Return what identifies an element-wise operation: its name, attributes and types, without layouts."""
    text = step.text
    if step.opcode in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        head = re.sub(r"%[\w$.#-]+", "", text.rpartition(" : ")[0])
        return f"{step.opcode} {head} {step.types[0].element}"
    head = re.sub(r"%[\w$.#-]+(?:, )?", "", text.partition(" : ")[0]).strip()
    elements = " ".join(type_.element for type_ in (*step.operand_types[:1], *step.types))
    return f"{step.opcode} {head} {elements}"


def _way(step: Step) -> str:
    """Return what a user sees of an operation that compilers compute in several ways: `math.exp of f32`."""
    elements = dict.fromkeys(type_.element for type_ in (*step.operand_types[:1], *step.types))
    symbol = re.search(r'symbol = "([^"]+)"', step.text)
    rounding = re.search(r"rounding = (\w+)", step.text)
    details = [match[1] for match in (symbol, rounding) if match]
    return " ".join([step.opcode, *details, "of" if len(elements) == 1 else "from", " to ".join(elements)])


def _ring(name: str, data: Sequence[Hashes]) -> Hashes | None:
    """Return the result of an operation of the ring of integers; None for any other."""
    if name == "addi":
        return data[0] + data[1]
    if name == "subi":
        return data[0] - data[1]
    if name == "muli":
        return data[0] * data[1]
    if name in ("maxsi", "minsi", "andi", "ori"):
        return hashes.unordered(name, data[0], data[1])
    return None


def _of_constants(name: str, data: Sequence[Hashes], result: Hashes) -> Hashes:
    """Replace results that are known because an operand is a constant."""
    a = data[0]
    if name in ("exp", "exp2"):
        return np.where(a == MINUS_INFINITY, ZERO, np.where(a == ZERO, ONE, np.where(a == NAN, NAN, result)))
    if name in ("divf", "precise_divf"):
        return np.where(data[1] == ONE, a, np.where((a == ZERO) & (data[1] != ZERO), ZERO, result))
    if name in ("sqrt", "precise_sqrt", "absf", "truncf", "fp_to_fp", "tanh", "erf", "sin"):
        keeps = (a == ZERO) | (a == NAN) | (a == INFINITY)
        if name in ("truncf", "fp_to_fp"):
            keeps |= (a == ONE) | (a == MINUS_INFINITY)
        return np.where(keeps, a, result)
    return result
