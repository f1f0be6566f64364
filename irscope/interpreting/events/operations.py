"""What each operation does to buffers, barriers and what is in flight."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from irscope.interpreting.events.hazards import (
    COPY,
    TCGEN05,
    THREAD,
    TMA,
    WGMMA,
    PhaseBarrier,
    SharedAllocation,
    address,
    slot_name,
)
from irscope.interpreting.memory import buffer_of
from irscope.interpreting.runtime_values import Buffer, Item, Results, RuntimeValue, size_in_bytes
from irscope.interpreting.stage_program import Op, Type, UnansweredError
from irscope.targets import HIP

if TYPE_CHECKING:
    from irscope.interpreting.events.machine import EventInterpreter

_TOKEN = Type("!ttg.async.token")
_NOTHING = np.zeros(1, np.int64)
_THREADS_PER_WARP = 32
# A data-dependent condition holds so often; then no more.
_TIMES = 4


def opaque(type_: Type, note: int = 0) -> RuntimeValue:
    """Return a value of which only the type is known; `note` has the bits of what computes it."""
    return RuntimeValue(_NOTHING, type_, False, note)


EventHandler = Callable[["EventInterpreter", Op, Sequence[Item]], Results]

_ASYNCHRONOUS = (
    "async_copy",
    "async_tma",
    "async_tdm",
    "buffer_load_to_local",
    "warp_group_dot",
    "tc_gen5_mma",
)


def is_asynchronous(step: Op) -> bool:
    """Return True if an operation contains one that copies or multiplies by itself."""
    return any(
        any(word in inner.opcode for word in _ASYNCHRONOUS) or is_asynchronous(inner)
        for region in step.regions
        for inner in region.steps
    )


def _numbers(operands: Sequence[Item]) -> list[RuntimeValue]:
    """Return the operands that are integers: neither buffers nor tokens nor tensors."""
    return [item for item in operands if isinstance(item, RuntimeValue) and item.known and not item.type.kind]


def notes(operands: Sequence[Item]) -> int:
    """Return the bits of what computes the operands: products in flight, or the copies of tokens."""
    notes = 0
    for item in operands:
        if isinstance(item, RuntimeValue) and isinstance(item.note, int):
            notes |= item.note
    return notes


def _holds(operands: Sequence[Item]) -> bool:
    """Return True if the predicates, which follow the first buffer, hold."""
    first = next((number for number, item in enumerate(operands) if isinstance(item, Buffer)), 0)
    return all(item.number for item in _numbers(operands[first:]))


def _nothing(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return machine.guess(step)


# Buffers.


def _alloc(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = machine.allocate(step)
    if any(isinstance(item, RuntimeValue) for item in operands):
        machine.bit_of(step, [buffer], True, THREAD)
    return [buffer, *([None] * (len(step.results) - 1))]


def _read(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.bit_of(step, operands, False, THREAD)
    return [opaque(type_) for type_ in step.types]


def _write(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    if step.opcode != "ttng.tmem_store" or _holds(operands):
        machine.bit_of(step, operands, True, THREAD)
    return [None] * len(step.results)


def _dealloc(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.order.free(machine.thread, step, buffer_of(operands[0], step))
    return []


def _reinterpret(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Return a view as another type or shape: rows that stay rows, or else flat memory."""
    buffer, type_ = buffer_of(operands[0], step), step.types[0]
    size = size_in_bytes(type_.element)
    kind = np.dtype(f"u{size}" if size in (1, 2, 4, 8) else "u1")
    data = buffer.data
    try:
        if data.shape == type_.shape and data.dtype == kind:
            return [Buffer(data, type_, buffer.cell)]
        if data.shape[:-1] == type_.shape[:-1] and not data.flags.c_contiguous:
            return [Buffer(data.view(kind)[..., : type_.shape[-1]], type_, buffer.cell)]
        view = data.view()
        view.shape = (data.size,)
        count = int(np.prod(type_.shape))
        return [Buffer(view.view(kind)[:count].reshape(type_.shape), type_, buffer.cell)]
    except (ValueError, AttributeError) as error:
        raise UnansweredError("a buffer that is read as another type", step) from error


# Copies.


def _copy(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands, True, COPY)
    machine.thread.open_group |= bit
    return [opaque(_TOKEN, bit) for _ in step.results]


def _commit(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    thread = machine.thread
    group, thread.open_group = thread.open_group, 0
    thread.groups.append(group)
    return [opaque(_TOKEN, group) for _ in step.results]


def _wait_copies(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    thread = machine.thread
    left = step.number("num", 0)
    tokens = notes(operands)
    if machine.program.target.startswith(HIP.name) and tokens:
        # The number of instructions to wait for is computed from the tokens, not from `num`.
        newest = max((n for n, group in enumerate(thread.groups) if group & tokens), default=-1)
        left = max(left, len(thread.groups) - 1 - newest)
    thread.complete(thread.groups, left)
    return [opaque(_TOKEN, tokens) for _ in step.results]


def _arrive_after_copies(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    thread, barrier = machine.thread, machine.barrier(operands[0], step)
    mask = thread.known | thread.open_group
    for group in thread.groups:
        mask |= group
    if step.flag("noIncrement"):
        machine.arrive(step, barrier, mask, thread.warps * _THREADS_PER_WARP)
    else:
        barrier.gathered |= mask
    return []


def _tma_load(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Copy to a buffer and count its bytes at a barrier: `%desc[%i, %j] %buffer, %barrier, %predicate`."""
    buffers = [item for item in operands if isinstance(item, Buffer)]
    if not _holds(operands):
        return []
    barrier_view = next((item for item in buffers if address(item.data) in machine.order.barriers), None)
    if barrier_view is None:
        barrier_view = buffers[-1]
    barrier = machine.barrier(barrier_view, step)
    targets = [item for item in buffers if item is not barrier_view]
    bit = machine.bit_of(step, targets, True, TMA)
    machine.order.arrive(
        machine.thread,
        step,
        barrier,
        bit | machine.thread.known,
        0,
        sum(item.data.nbytes for item in targets),
    )
    return []


def _tma_store(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands, False, TMA)
    machine.thread.stores.append(bit)
    return [opaque(_TOKEN, bit) for _ in step.results]


def _wait_stores(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.thread.complete(machine.thread.stores, step.number("pendings", step.number("num", 0)))
    return [None] * len(step.results)


def _tdm_load(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Copy by AMD's data mover, whose copies end in order and are counted one by one."""
    buffers = [item for item in operands if isinstance(item, Buffer)]
    barriers = [item for item in buffers if address(item.data) in machine.order.barriers]
    targets = [item for item in buffers if item not in barriers]
    bit = machine.bit_of(step, targets, True, COPY)
    machine.thread.stores.append(bit)
    for item in barriers:
        machine.arrive(step, machine.barrier(item, step), bit)
    return [opaque(_TOKEN, bit) for _ in step.results]


def _tdm_store(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands, False, COPY)
    machine.thread.stores.append(bit)
    return [opaque(_TOKEN, bit) for _ in step.results]


# Barriers.


def _init_barrier(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = buffer_of(operands[0], step)
    count = _literal(step, "count", 1)
    home = cast(SharedAllocation, buffer.cell)
    barrier = PhaseBarrier(count, count, slot_name(buffer), home, step)
    machine.order.barriers[address(buffer.data)] = barrier
    home.barriers.append(barrier)
    return []


def _literal(step: Op, name: str, default: int) -> int:
    """Return a number that is printed as an attribute or between the operands."""
    number = step.number(name, 0)
    if number:
        return number
    text = re.sub(r"\{.*", "", step.text.split(" : ")[0])
    digits = [item for item in text.replace(",", " ").split() if item.isdecimal()]
    return int(digits[0]) if digits else default


def _expect(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier = machine.barrier(operands[0], step)
    if _holds(operands):
        barrier.bytes += _literal(step, "size", 0)
        machine.arrive(step, barrier, 0)
    return []


def _arrive(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier = machine.barrier(operands[0], step)
    if _holds(operands):
        machine.arrive(step, barrier, 0, _literal(step, "count", 1))
    return [None] * len(step.results)


def _fence(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.order.fence(machine.thread)
    return []


# Products.


def _wgmma(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands[:2], False, WGMMA)
    thread = machine.thread
    if step.flag("isAsync"):
        thread.products.append(bit)
    else:
        thread.complete(thread.products, 0)
        thread.known |= bit
    return [opaque(type_, bit) for type_ in step.types]


def _wait_wgmma(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.thread.complete(machine.thread.products, step.number("pendings", 0))
    return [*operands[: len(step.results)]]


def _tcgen05(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Multiply: `%a, %b, %accumulator[%token], ..., %adds, %predicate, %barrier[%predicate], ...`."""
    buffers = [item for item in operands if isinstance(item, Buffer)]
    barriers = [item for item in buffers if item.type.element == "i64"]
    factors = [item for item in buffers if item.type.element != "i64"]
    numbers = _numbers(operands)
    flags = numbers[: len(numbers) - len(barriers)]
    if flags and not flags[-1].number:
        if isinstance(accumulator := factors[2].cell, SharedAllocation):
            accumulator.skipped = True
        return [None] * len(step.results)
    bit = machine.bit_of(step, [*factors[:2], *factors[3:]], False, TCGEN05)
    machine.bit_of(step, factors[2:3], True, TCGEN05, bit)
    machine.thread.tensor_products |= bit
    for item, arrives in zip(barriers, numbers[len(flags) :], strict=False):
        if arrives.number:
            _commit_products(machine, step, [item])
    return [None] * len(step.results)


def _tmem_copy(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    source, target, *barriers = (item for item in operands if isinstance(item, Buffer))
    bit = machine.bit_of(step, [source], False, TCGEN05)
    machine.bit_of(step, [target], True, TCGEN05, bit)
    machine.thread.tensor_products |= bit
    for item in barriers:
        _commit_products(machine, step, [item])
    return [None] * len(step.results)


def _commit_products(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier = machine.barrier(operands[0], step)
    if _holds(operands):
        machine.arrive(step, barrier, machine.thread.tensor_products)
    return []


def _cancel(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Let a program take over the work of others a few times."""
    canceled = machine.visit(step) >= _TIMES - 1
    return [RuntimeValue(np.array(int(canceled), np.int64), type_) for type_ in step.types]


EVENTS: Mapping[str, EventHandler] = {
    **dict.fromkeys(("ttg.local_alloc", "ttng.tmem_alloc"), _alloc),
    "ttg.local_load": _read,
    "ttng.tmem_load": _read,
    "ttg.local_gather": _read,
    "amdg.local_load_packed_transposed": _read,
    "ttg.local_store": _write,
    "ttng.tmem_store": _write,
    "ttg.local_scatter": _write,
    "ttg.local_atomic_scatter_rmw": _write,
    "ttg.local_dealloc": _dealloc,
    "ttg.memdesc_reshape": _reinterpret,
    "ttg.memdesc_reinterpret": _reinterpret,
    "ttg.async_copy_global_to_local": _copy,
    "amdg.buffer_load_to_local": _copy,
    "ttg.async_commit_group": _commit,
    "ttg.async_wait": _wait_copies,
    "amdg.async_wait": _wait_copies,
    "ttng.async_copy_mbarrier_arrive": _arrive_after_copies,
    "amdg.async_copy_mbarrier_arrive": _arrive_after_copies,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_gather": _tma_load,
    "ttng.clc_try_cancel": _tma_load,
    "ttng.clc_is_canceled": _cancel,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_store,
    "ttng.async_tma_scatter": _tma_store,
    "ttng.async_tma_store_wait": _wait_stores,
    "ttng.async_tma_store_token_wait": _wait_stores,
    "amdg.async_tdm_copy_global_to_local": _tdm_load,
    "amdg.async_tdm_copy_local_to_global": _tdm_store,
    "amdg.async_tdm_wait": _wait_stores,
    "ttng.init_barrier": _init_barrier,
    "amdg.init_barrier": _init_barrier,
    "ttng.barrier_expect": _expect,
    "ttng.arrive_barrier": _arrive,
    "amdg.arrive_barrier": _arrive,
    "ttng.fence_async_shared": _fence,
    "ttng.warp_group_dot": _wgmma,
    "ttng.warp_group_dot_wait": _wait_wgmma,
    "ttng.tc_gen5_mma": _tcgen05,
    "ttng.tc_gen5_mma_scaled": _tcgen05,
    "ttng.tmem_copy": _tmem_copy,
    "ttng.tc_gen5_commit": _commit_products,
    **dict.fromkeys(
        ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.unsplat", "tt.reduce", "tt.addptr",
         "tt.make_tensor_descriptor", "ttng.reinterpret_tensor_descriptor", "ttng.tensormap_create",
         "tt.descriptor_load", "tt.descriptor_store", "ttg.global_scratch_alloc", "ttg.convert_layout",
         "amdg.buffer_load", "amdg.buffer_store", "amdg.buffer_atomic_rmw", "ttng.clc_load_result"),
        _nothing,
    ),
}  # fmt: skip
