"""The domain of the same bits: a float, or a number read from memory, is the hash of what computes it.

Rules (measured on an H200 with Triton 3.6, see docs): a sum depends on which registers, lanes and warps hold its
elements; a product of matrices advances by the K of one instruction; `a * b + c` in one thread is rounded once
if fusion is on; adding zero, multiplying by one and the like change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from irscope.interpreting.answers import UnansweredError
from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.hashes import INFINITY, MINUS_INFINITY, NAN, ONE, ZERO, Hashes
from irscope.interpreting.bits.order import AxisOrder, axis_order, scan_blocks
from irscope.interpreting.bits.products import Chain, dot_rule, extended, integer_product, matched
from irscope.interpreting.bits.written import Memory
from irscope.interpreting.domain import Combine
from irscope.interpreting.program import Block, Program, Step, Type
from irscope.interpreting.values import Array, Value, is_integer, size_in_bytes


@dataclass(frozen=True, slots=True)
class Note:
    """How a hash came about.

    `plain`: no element is a constant such as zero. `exact`: every element has so few significant bits that the
    product of two is exact in f32. `product`: the factors, and the block of code, of a product that a sum in
    the same thread can take without rounding it. `chain`: products of matrices that are still to be added.
    """

    plain: bool = False
    exact: bool = False
    product: tuple[Hashes, Hashes, int] | None = None
    chain: Chain | None = None


_ANY = Note()
_PLAIN = Note(plain=True)


@dataclass(frozen=True)
class Decision:
    """A place where the compiler chose among ways to compute that differ in bits.

    `kind` is "sum", "scan", "product", "fusion", "loop", "approximation" or "cast"; `way` says what was chosen.
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
        return Value(data, type_, False, _ANY)

    def argument(self, name: str, type_: Type, number: float | None) -> Value:
        """Return an argument that is no pointer and no known integer: the same for all configs."""
        return Value(np.array(hashes.mix(np.array([hashes.word(f"argument {name}")]))[0]), type_, False, _PLAIN)

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
        return Value(value.data.view(np.uint64), value.type, False, _ANY)

    def moved(
        self, value: Value, type_: Type, change: Callable[[Array], Array] | None, in_thread: bool
    ) -> Value:
        """Return a value whose elements change their places; one that changes its thread is rounded first."""
        if value.known:
            return Value(change(value.data) if change else value.data, type_)
        note = _note(value)
        if change is None:
            if note.chain is not None and type_.shape == value.type.shape:
                return Value(value.data, type_, False, replace(note, product=None))
            change = _same
        data = self._data(value)
        product = None
        if in_thread and note.product is not None:
            a, b, block = note.product
            product = (change(_expanded(a, data)), change(_expanded(b, data)), block)
        return Value(change(data), type_, False, Note(note.plain, note.exact, product))

    def select(self, step: Step, condition: Value, one: Value, other: Value) -> Value:
        """Return `one` where the condition holds, else `other`."""
        a, b = self._data(one), self._data(other)
        note = Note(_note(one).plain and _note(other).plain, _note(one).exact and _note(other).exact)
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
        data = self._data(values[-1])
        self.memory.add(step, kind, address, data, mask, address.type.shape)
        if not step.results:
            return None
        if self._program is None or self._program.used.intersection(step.results):
            self.memory.ordered = True
        old = hashes.unary("before", self._data(address))
        return Value(old, step.types[0], False, _PLAIN)

    # Element-wise operations.

    def compute(self, step: Step, operands: Sequence[Value]) -> Value:
        """Return the hash of an element-wise operation."""
        opcode, type_ = step.opcode, step.types[0]
        name = opcode.partition(".")[2]
        if name in ("addf", "subf"):
            return self._sum(step, operands[0], operands[1], type_)
        data = [self._data(operand) for operand in operands]
        notes = [_note(operand) for operand in operands]
        if name == "mulf":
            return self._product(data, notes, type_)
        if name == "negf":
            return Value(_negated(data[0], notes[0]), type_, False, Note(notes[0].plain, notes[0].exact))
        if name in _EXTREMES:
            return Value(self._extreme(name, data, notes), type_, False, Note(all(n.plain for n in notes)))
        if name == "extf" or (opcode == "tt.fp_to_fp" and _widens(step)):
            exact = _is_short(operands[0].type.element)
            return Value(data[0], type_, False, Note(notes[0].plain, exact))
        if name in ("sitofp", "uitofp") and operands[0].known:
            return Value(hashes.constants(operands[0].data.astype(np.float64)), type_, False, _ANY)
        if is_integer(type_.element) and (ring := _ring(name, data)) is not None:
            return Value(ring, type_, False, _ANY)
        if name in _KINDS:
            self.note_way(_KINDS[name], step, f"{opcode} {step.text.split(':')[-1].strip()}"[:80])
        result = hashes.several(_operation(step), *data)
        if not all(note.plain for note in notes):
            result = _of_constants(name, data, result)
        plain = all(note.plain for note in notes)
        return Value(result, type_, False, Note(plain, _is_short(type_.element)))

    def _sum(self, step: Step, one: Value, other: Value, type_: Type) -> Value:
        a, b, note_a, note_b = self._data(one), self._data(other), _note(one), _note(other)
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
                        name += f"of two in {min(self._registers(step), 2)} "
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
        """Return how many elements of the result of a step a thread has."""
        if step is None or not step.types or step.types[0].kind != "tensor":
            return 1
        return self._layout(step.types[0]).size("register")

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
        order = axis_order(self._layout(first.type), axis)
        self.note_way("sum", step, f"{kind or 'combine'}: {order}")
        parts = [self._along(value, axis) for value in operands]
        results = self._tree(step, order, parts, kind, combine)
        return [
            Value(np.broadcast_to(value.data, type_.shape) if value.data.size > 1 else
                  value.data.reshape((1,) * len(type_.shape)), type_, value.known, _stripped(value))
            for value, type_ in zip(results, step.types, strict=True)
        ]  # fmt: skip

    def _tree(
        self, step: Step, order: AxisOrder, parts: list[Value], kind: str, combine: Combine
    ) -> list[Value]:
        grid = order.grid
        before, self._block = self._block, self._block

        def both(one: list[Value], other: list[Value]) -> list[Value]:
            if kind == "addf" and len(one) == 1 and not one[0].known:
                element = one[0].type.element
                pairs = [(value.data, _note(value)) for value in (one[0], other[0])]
                data, _ = self._added(step, pairs[0], pairs[1], element)
                return [Value(data, one[0].type, False, Note(pairs[0][1].plain and pairs[1][1].plain))]
            return combine([*one, *other])

        # In a thread, registers one after another; each item is an array [lane, warp, rest].
        taken = [[_taken(value, grid[register]) for value in parts] for register in range(len(grid))]
        total = taken[0]
        for item in taken[1:]:
            total = both(total, item)
        # A butterfly over the lanes, highest bit first, then over the warps.
        for axis, count in ((0, grid.shape[1]), (1, grid.shape[2])):
            total = [_rounded(value) for value in total]
            while count > 1:
                count //= 2
                halves = [
                    [_half(value, axis, slice(start, start + count)) for value in total] for start in (0, count)
                ]
                total = both(halves[0], halves[1])
        self._block = before
        return [Value(value.data[0, 0], value.type, value.known, value.note) for value in total]

    def _without_order(self, kind: str, value: Value, axis: int, type_: Type) -> Value:
        full = np.broadcast_to(self._data(value), value.type.shape)
        if kind == "addi":
            return Value(full.sum(axis, dtype=np.uint64), type_, False, _ANY)
        if kind in _ORDERLESS:
            total = hashes.folded(kind, full).sum(axis, dtype=np.uint64)
            return Value(np.asarray(hashes.unfolded(kind, total)), type_, False, _ANY)
        name, neutral = _EXTREMES[kind]
        parts = hashes.folded(name, full)
        result = None
        if value.data.shape[axis] == 1 and value.type.shape[axis] > 1:
            result = full.take(0, axis)
        else:
            counted = np.where(full == neutral, np.uint64(0), parts)
            total = counted.sum(axis, dtype=np.uint64)
            empty = np.all(full == neutral, axis)
            result = np.where(empty, neutral, hashes.unfolded(name, total))
        return Value(np.asarray(result), type_, False, Note(_note(value).plain, _note(value).exact))

    def scan(self, step: Step, operands: Sequence[Value], combine: Combine) -> list[Value]:
        """Return the results of `tt.scan`: elements of a thread, its lanes, then blocks of both."""
        axis, kind = step.number("axis"), _single(step)
        if all(value.known for value in operands) and kind == "addi" and len(operands) == 1:
            full = operands[0].full
            full = np.flip(full, axis) if "reverse = true" in step.text else full
            summed = np.cumsum(full, axis)
            return [Value(np.flip(summed, axis) if "reverse = true" in step.text else summed, step.types[0])]
        layout = self._layout(operands[0].type)
        per_thread, lanes, blocks = scan_blocks(layout, axis)
        self.note_way(
            "scan", step, f"{kind or 'combine'}: {per_thread} values per thread, then {lanes} lanes, {blocks} blocks"
        )
        parts = [self._along(value, axis) for value in operands]
        if "reverse = true" in step.text:
            parts = [Value(value.data[::-1], value.type, value.known, _note(value)) for value in parts]
        carry: list[Value] | None = None
        done: list[list[Value]] = []
        for block in range(blocks):
            start = block * per_thread * lanes
            index = start + np.arange(lanes)[None, :] * per_thread + np.arange(per_thread)[:, None]
            items = self._scan_block([[_taken(v, index[r]) for v in parts] for r in range(per_thread)], lanes, combine)
            if carry is not None:
                items = [combine([*carry, *item]) for item in items]
            carry = [_half(value, 0, slice(lanes - 1, lanes)) for value in items[-1]]
            done += [items[r] for r in range(per_thread)]
        results = []
        for number, type_ in enumerate(step.types):
            rows = []
            for block in range(blocks):
                stack = np.stack(
                    [np.broadcast_to(done[block * per_thread + r][number].data,
                                     (lanes, *parts[number].type.shape[1:]))
                     for r in range(per_thread)], 1)  # fmt: skip
                rows.append(stack.reshape(-1, *stack.shape[2:]))
            data = np.concatenate(rows)
            data = data[::-1] if "reverse = true" in step.text else data
            known = all(item[number].known for item in done)
            results.append(Value(np.moveaxis(data, 0, axis), type_, known, _ANY if not known else None))
        return results

    def _scan_block(self, items: list[list[Value]], lanes: int, combine: Combine) -> list[list[Value]]:
        """Scan the elements of each thread, then the totals of the threads, then add the prefix of the lane before."""
        for number in range(1, len(items)):
            items[number] = combine([*items[number - 1], *items[number]])
        totals = items[-1]
        distance = 1
        while distance < lanes:
            head = [_half(value, 0, slice(0, distance)) for value in totals]
            combined = combine(
                [*(_half(value, 0, slice(0, lanes - distance)) for value in totals),
                 *(_half(value, 0, slice(distance, lanes)) for value in totals)]
            )  # fmt: skip
            totals = [_joined(one, other) for one, other in zip(head, combined, strict=True)]
            distance *= 2
        results = []
        for number, item in enumerate(items):
            if number == len(items) - 1:
                results.append(totals)
                continue
            if lanes == 1:
                results.append(item)
                continue
            first = [_half(value, 0, slice(0, 1)) for value in item]
            rest = combine(
                [*(_half(value, 0, slice(0, lanes - 1)) for value in totals),
                 *(_half(value, 0, slice(1, lanes)) for value in item)]
            )  # fmt: skip
            results.append([_joined(one, other) for one, other in zip(first, rest, strict=True)])
        return results

    def histogram(self, step: Step, value: Value, mask: Value | None) -> Value:
        """Return the counts of `tt.histogram`, which no order changes."""
        type_ = step.types[0]
        elements = hashes.mix(np.broadcast_to(self._data(value), value.type.shape))
        if mask is not None and not mask.known:
            elements = hashes.ordered("counted", elements, np.broadcast_to(self._data(mask), elements.shape))
        elif mask is not None:
            elements = elements[np.broadcast_to(mask.data != 0, elements.shape)]
        bins = np.arange(type_.shape[0], dtype=np.uint64)
        counts = [hashes.ordered("histogram", elements, number).sum(dtype=np.uint64) for number in bins]
        return Value(np.array(counts, np.uint64), type_, False, _PLAIN)

    def gather(self, step: Step, source: Value, index: Value) -> Value:
        """Return the elements of `source` at indices that depend on data."""
        axis = step.number("axis")
        elements = np.broadcast_to(self._data(source), source.type.shape)
        places = hashes.mix(np.arange(1, elements.shape[axis] + 1, dtype=np.uint64)) | np.uint64(1)
        shape = [-1 if number == axis else 1 for number in range(elements.ndim)]
        whole = (hashes.mix(elements) * places.reshape(shape)).sum(axis, dtype=np.uint64, keepdims=True)
        data = hashes.ordered("gather", np.broadcast_to(self._data(index), index.type.shape), whole)
        return Value(data, step.types[0], False, _ANY)

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
            return Value(data, step.types[0], False, _ANY)
        rule = dot_rule(program, step, a.type, b.type)
        self.note_way("product", step, rule.text)
        note = _note(accumulator)
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

    def _layout(self, type_: Type):  # type: ignore[no-untyped-def]
        if self._program is None:
            raise UnansweredError("no program is executed")
        return self._program.layout(type_)

    def _along(self, value: Value, axis: int) -> Value:
        """Return a tensor with all its elements along an axis, which becomes the first one."""
        note = _note(value)
        data = self._data(value)
        shape = [data.shape[i] if i != axis else value.type.shape[i] for i in range(data.ndim)]
        product = None
        if note.product is not None:
            a, b, block = note.product
            product = (_first(_expanded(a, data), shape, axis), _first(_expanded(b, data), shape, axis), block)
        moved = _first(data, shape, axis)
        type_ = Type(value.type.element, (value.type.shape[axis], *_without(value.type.shape, axis)))
        note = Note(note.plain, note.exact, product) if not value.known else _ANY
        return Value(moved.view(np.int64) if value.known else moved, type_, value.known, note)


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
    "andi": lambda data, axis: np.bitwise_and.reduce(data, axis),
    "ori": lambda data, axis: np.bitwise_or.reduce(data, axis),
    "xori": lambda data, axis: np.bitwise_xor.reduce(data, axis),
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


def _note(value: Value) -> Note:
    return value.note if isinstance(value.note, Note) else _ANY


def _stripped(value: Value) -> Note | None:
    return None if value.known else replace(_note(value), product=None, chain=None)


def _same(data: Array) -> Array:
    return data


def _expanded(data: Array, like: Array) -> Array:
    return np.broadcast_to(data, like.shape) if data.shape != like.shape else data


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _first(data: Array, shape: Sequence[int], axis: int) -> Array:
    return np.moveaxis(np.broadcast_to(data, tuple(shape)), axis, 0)


def _taken(value: Value, index: Array) -> Value:
    """Return the elements with these indices along the first axis."""
    note = _note(value)
    product = None
    if note.product is not None:
        a, b, block = note.product
        product = (a[index], b[index], block)
    return Value(value.data[index], value.type, value.known, Note(note.plain, note.exact, product))


def _half(value: Value, axis: int, part: slice) -> Value:
    data = value.data[(slice(None),) * axis + (part,)]
    return Value(data, value.type, value.known, Note(_note(value).plain, _note(value).exact))


def _joined(one: Value, other: Value) -> Value:
    shape = np.broadcast_shapes(one.data.shape[1:], other.data.shape[1:])
    parts = [np.broadcast_to(item.data, (item.data.shape[0], *shape)) for item in (one, other)]
    note = Note(_note(one).plain and _note(other).plain)
    return Value(np.concatenate(parts), one.type, one.known and other.known, note)


def _rounded(value: Value) -> Value:
    return Value(value.data, value.type, value.known, _stripped(value) or _ANY)


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
