"""Products of matrices: which elements of K one instruction takes, and in which order it adds.

The tensor cores add one instruction's products to the accumulator at once; instructions follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.hashes import Hashes
from irscope.interpreting.stage_program import Op, StageProgram, Type, UnansweredError
from irscope.model.records import frozen


@dataclass(frozen=True)
class DotRule:
    """How a product is added up: `k` elements at once; `width` neighbors of K are in one thread.

    `name` identifies everything else that decides about bits.
    """

    k: int
    width: int
    words: int
    name: str
    text: str


@frozen
class Chain:
    """Products that are added to an accumulator one after another: hashes of the rows of A and columns of B.

    A row is 0 if nothing but zeros was added. A step in which a row of A is all zeros changes nothing in that
    row: `groups` has, per row, which of the hashes along the first axis of `columns` has the steps that did.
    `name` is that of the rule; `length` is how much of K was added, `step` the operation that began.
    """

    name: str
    rows: Hashes
    columns: Hashes
    groups: NDArray[np.int64]
    length: int
    step: Op


_EMPTY = np.uint64(0)
_ROW = hashes.word("row")
_STEP = np.uint64(0x94D049BB133111EB)


def dot_rule(program: StageProgram, step: Op, a: Type, b: Type, result: Type) -> DotRule:
    """Return how a product of matrices adds up to an accumulator of a type. Raises UnansweredError."""
    layout = program.attribute(result.encoding)
    element = a.element
    if layout.kind in ("ttg.blocked", "ttg.slice", "ttg.linear"):
        text = f"multiplies {element}{' unrounded (ieee)' if element == 'f32' else ''}"
        return DotRule(1, 1, 1, f"fma {element}", f"{text} with fused multiply-adds, K in order")
    bits = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}.get(element, 8)
    width = 32 // bits if bits < 32 else 1
    operand = program.attribute(a.encoding)
    if operand.kind == "ttg.dot_op":
        width = operand.number("kWidth", width)
    words = max(1, width * bits // 32)
    if layout.kind in ("ttg.nvidia_mma", "ttng.tensor_memory_encoding"):
        k = {64: 4, 32: 8, 16: 16}.get(bits, 32)
        rows = ""
        if layout.kind != "ttg.nvidia_mma":
            # Not measured on Blackwell: instructions of other shapes may add otherwise.
            rows = (
                f", {layout.number('blockM')} rows at once{' by two blocks' if step.flag('two_ctas') else ''}"
            )
        name = f"mma {element} {b.element}{rows}"
        if bits in (8, 64) and not rows:
            name += f" v{layout.number('versionMajor')}"
        if bits == 8:
            # Groups of this many products of K are added in the tensor core, and each sum to the accumulator.
            group = min(step.number("maxNumImpreciseAcc", 0) or 1 << 30, 1 << 30)
            if group <= a.shape[-1]:
                k, name = max(k, group), f"{name} in groups"
        text = f"multiplies {element}{' as tf32' if element == 'f32' else ''}, K {k} per step{rows}"
        if result.element != "f32":
            name += f" to {result.element}"
            text += f", and adds in {result.element}"
        return DotRule(k, width, words, name, f"{text}, {words * k} of K interleaved" if words > 1 else text)
    if layout.kind in ("ttg.amd_mfma", "ttg.amd_wmma"):
        shape = layout.fields.get("instrShape", "")
        sizes = [int(item) for item in shape.strip("[]").split(",") if item.strip().isdecimal()]
        k = sizes[2] if len(sizes) > 2 else 16
        precision = " as tf32" if element == "f32" and "tf32" in step.text else ""
        fields = (layout.fields.get(key, "") for key in ("version", "isTransposed", "isTranspose"))
        name = " ".join([layout.kind, element, b.element, precision, shape, str(width), *fields])
        instruction = f"{layout.kind.partition('.')[2]} {shape}".rstrip()
        text = f"multiplies {element}{precision}, {instruction}, kWidth {width}"
        return DotRule(k, 1, 1, name, text)
    raise UnansweredError(f"a product in the layout {layout.kind}", step)


def extended(chain: Chain | None, step: Op, rule: DotRule, a: Hashes, b: Hashes) -> Chain:
    """Return a chain with the steps of one more product added."""
    a_steps = _steps(a, rule)
    b_steps = _steps(np.swapaxes(b, -1, -2), rule)
    if chain is None:
        rows = np.full(a.shape[:-1], _EMPTY)
        columns = np.full((1, *b.shape[:-2], b.shape[-1]), _EMPTY)
        groups = np.zeros(a.shape[-2], np.int64)
    else:
        rows, columns, groups = chain.rows, chain.columns, chain.groups
    for number in range(a_steps.shape[-1]):
        row, column = a_steps[..., number], b_steps[..., number]
        if not row.any() or not column.any():
            continue
        longer = np.where(column == _EMPTY, columns, hashes.mix(columns * _STEP + column))
        empty = row == _EMPTY
        if rows.ndim == 1 and empty.any():
            # The rows that this step changes go on with `longer`, the others with `columns`.
            pairs, groups = np.unique(groups * 2 + ~empty, return_inverse=True)
            columns = np.stack([(longer if pair % 2 else columns)[pair // 2] for pair in pairs])
        else:
            columns = longer
        rows = np.where(empty, rows, hashes.mix(rows * _STEP + row))
    length = a.shape[-1] + (chain.length if chain else 0)
    return Chain(rule.name, rows, columns, groups, length, chain.step if chain else step)


def matched(chain: Chain, base: Hashes) -> Hashes:
    """Return the hash of each element of the accumulator after the products."""
    rows = chain.rows[..., :, None]
    # One row of columns per group of rows; a batch of products has one group.
    columns = chain.columns[chain.groups] if len(chain.columns) > 1 else chain.columns[0][..., None, :]
    pairs: Hashes = rows * (columns | np.uint64(1)) + hashes.mix(rows) + columns * _ROW
    added = hashes.ordered(chain.name, pairs, np.broadcast_to(base, pairs.shape))
    result: Hashes = np.where((rows == _EMPTY) | (columns == _EMPTY), base, added)
    return result


def _steps(data: Hashes, rule: DotRule) -> Hashes:
    """Return a hash per row and instruction of the elements of K; 0 if all are zero."""
    size = data.shape[-1]
    whole = rule.k * rule.words
    if size % whole:
        # A K that is shorter than the instruction is padded with zeros.
        whole = size if size < whole else rule.k
        if size % whole:
            raise UnansweredError(f"a product over {size} elements, {whole} at once")
    parts = data.reshape(*data.shape[:-1], size // whole, whole)
    if rule.words > 1 and whole == rule.k * rule.words:
        # Neighbors of K that one thread holds go to different instructions, word by word.
        word = rule.width // rule.words
        order = np.arange(whole).reshape(-1, rule.words, word).transpose(1, 0, 2).reshape(-1)
        parts = parts[..., order]
        parts = parts.reshape(*data.shape[:-1], size // rule.k, rule.k)
    places = hashes.mix(np.arange(1, parts.shape[-1] + 1, dtype=np.uint64)) | np.uint64(1)
    total = (hashes.mix(parts) * places).sum(-1, dtype=np.uint64)
    total = np.where(total == _EMPTY, np.uint64(1), total)
    result: Hashes = np.where(np.all(hashes.are_zero(parts), -1), _EMPTY, total)
    return result


def integer_product(a: Hashes, a_type: Type, b: Hashes, b_type: Type, accumulator: Hashes) -> Hashes:
    """Return the accumulator plus a product of integers, which has no order."""
    product: Hashes = np.matmul(np.broadcast_to(a, a_type.shape), np.broadcast_to(b, b_type.shape))
    return accumulator + product
