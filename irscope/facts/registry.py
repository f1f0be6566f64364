"""The registry of facts, in the order of the table. To add a fact, add one entry here.

An entry is everything about a fact: its name, headings, unit, direction, weight in findings, text and
measure. The constants are the only spelling of a fact's name in the code.

What only measuring needs is imported by the functions that measure: a table of stored facts needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from irscope.facts.fact import FactKind, FactValue, Measured, format_fraction, format_value
from irscope.model import Benchmark, Stage, Status, Variant
from irscope.model.status import NOT_COMPILED, OK, cannot_launch
from irscope.targets import (
    CUDA,
    HIP,
    STAGES,
    Backend,
    all_backends,
    backend_named,
    is_source_stage,
    stages_for,
)

if TYPE_CHECKING:
    from irscope.facts.artifacts import VariantArtifacts

_registered: list[FactKind] = []


def _fact(
    name: str,
    title: str,
    unit: str,
    better: str,
    description: str,
    measure: Callable[[VariantArtifacts], FactValue | Measured],
    *,
    label: str = "",
    weight: float = 0.0,
    format: Callable[[FactValue], str] = format_value,  # noqa: A002 - the field's name
    backend: str | None = None,
    absent: FactValue = None,
    place: int = 0,
    in_state: bool = False,
    amd: str = "",
) -> FactKind:
    """Register a fact; the fields are those of FactKind, and `amd` is the title of AMD's GPUs."""

    def measured(variant: VariantArtifacts) -> Measured:
        result = measure(variant)
        return result if isinstance(result, Measured) else Measured(result)

    kind = FactKind(
        name, title, unit, better, description, label or title, weight, format, measured, backend, absent,
        place, in_state, {HIP.name: amd} if amd else {},
    )  # fmt: skip
    _registered.append(kind)
    return kind


def _chosen(variant: VariantArtifacts) -> FactValue:
    benchmarks = variant.variant.benchmarks
    if not benchmarks:
        return None
    keys = [benchmark.key or "all" for benchmark in benchmarks if benchmark.chosen]
    return "; ".join(dict.fromkeys(keys)) or "no"


def _last_benchmark(variant: VariantArtifacts) -> Benchmark | None:
    return next(reversed(variant.variant.benchmarks), None)


def _threads(variant: VariantArtifacts) -> FactValue:
    from irscope.facts.occupancy import threads_of

    return threads_of(variant.variant)


def _status(variant: VariantArtifacts) -> Status | None:
    if variant.variant.failure is not None:
        return NOT_COMPILED
    if variant.count("shared") is None or variant.count("num_warps") is None:
        return None
    from irscope.facts.occupancy import launch_problem

    reason = launch_problem(variant.variant)
    return cannot_launch(reason) if reason else OK


def _layout_kinds(variant: VariantArtifacts) -> Measured:
    def counted(number: int, name: str) -> str:
        return f"{name} x{number}" if number > 1 else name

    return variant.from_ttgir(
        lambda found: (
            ", ".join(counted(number, name) for name, number in sorted(found.layouts.items())) or "none",
            found.layout_lines,
        )
    )


def _compile_seconds(variant: VariantArtifacts) -> FactValue:
    # Stages reused from another variant have no time here; a sum without them would not be a compile time.
    compiled = variant.variant
    return sum(compiled.seconds.values()) if compiled.seconds and not reused_stages(compiled) else None


def reused_stages(variant: Variant) -> tuple[str, ...]:
    """Return the stages below TTGIR taken from another variant, though those above were compiled."""
    if "ttgir" not in variant.seconds:
        return ()
    names = [stage.name for stage in stages_for(variant.target.backend) if stage.derived_from is None]
    below = names[names.index("ttgir") + 1 :]
    return tuple(name for name in below if name in variant.artifacts and name not in variant.seconds)


def _code(variant: VariantArtifacts) -> FactValue:
    from irscope.targets.elf import code_digest

    try:
        return None if variant.binary is None else code_digest(variant.binary)
    except ValueError:
        return None


# Autotuning results. With several tuning keys the last one counts: other configs were measured for it too.
MS = _fact(
    "ms", "ms", "milliseconds", "low", "median time of the last measurement by the autotuner on a GPU",
    lambda v: b.ms if (b := _last_benchmark(v)) else None,
    label="Measured time", weight=10.0, place=-6,
)  # fmt: skip
MS_KEY = _fact(
    "ms_key", "ms for", "", "", "tuning key of that measurement",
    lambda v: b.key if (b := _last_benchmark(v)) else None,
)  # fmt: skip
CHOSEN = _fact(
    "chosen", "Chosen for", "", "", "tuning keys for which the autotuner chose the config", _chosen
)

# Resources per thread, warp and block.
LAUNCHABLE = _fact(
    "launchable",
    "Launch",
    "",
    "",
    "whether the target can launch it: yes, or no and why",
    _status,
    in_state=True,
)
REGISTERS = _fact(
    "registers", "Regs", "registers", "low", "registers per thread (AMD: VGPRs and AGPRs); see stack",
    lambda v: v.resources.registers, label="Registers per thread", weight=3.0, place=-3, amd="VGPRs",
)  # fmt: skip
STACK = _fact(
    "stack", "Stack", "bytes", "low", "local memory (AMD: scratch) per thread; if not 0, it spills",
    lambda v: v.with_local_accesses(v.resources.stack), label="Stack per thread", weight=20.0, place=-2,
    amd="Scratch",
)  # fmt: skip
SPILLS = _fact(
    "n_spills", "Spills", "words", "low", "4-byte words of local memory per thread, as Triton counts",
    lambda v: None if v.resources.stack is None else v.resources.stack // 4, label="Spills per thread",
)  # fmt: skip
SPILL_STORE_BYTES = _fact(
    "spill_store_bytes", "Spill stores", "bytes", "low", "bytes of spill stores per thread, by ptxas",
    lambda v: v.resources.spill_store_bytes, backend=CUDA.name,
)  # fmt: skip
SPILL_LOAD_BYTES = _fact(
    "spill_load_bytes", "Spill loads", "bytes", "low", "bytes of spill loads per thread, by ptxas",
    lambda v: v.resources.spill_load_bytes, backend=CUDA.name,
)  # fmt: skip
VECTOR_SPILLS = _fact(
    "vector_spills", "VGPR spills", "registers", "low", "vector registers spilled to scratch memory",
    lambda v: v.resources.vector_spills, backend=HIP.name,
)  # fmt: skip
SCALAR_SPILLS = _fact(
    "scalar_spills", "SGPR spills", "registers", "low", "scalar registers spilled",
    lambda v: v.resources.scalar_spills, backend=HIP.name,
)  # fmt: skip
ACCUMULATION_REGISTERS = _fact(
    "accumulation_registers", "AGPRs", "registers", "", "accumulation registers among the registers",
    lambda v: v.resources.accumulation_registers, backend=HIP.name,
)  # fmt: skip
SCALAR_REGISTERS = _fact(
    "scalar_registers", "SGPRs", "registers", "low", "scalar registers per wave",
    lambda v: v.resources.scalar_registers, backend=HIP.name,
)  # fmt: skip
SHARED = _fact(
    "shared", "Shared", "bytes", "low", "shared memory (AMD: LDS) per block",
    lambda v: v.count("shared"), label="Shared memory per block", weight=2.0, place=1, amd="LDS",
)  # fmt: skip
TENSOR_MEMORY = _fact(
    "tensor_memory", "Tmem", "columns", "low", "columns of tensor memory per block",
    lambda v: v.count("tmem_size"), label="Tensor memory per block", weight=2.0, backend=CUDA.name,
)  # fmt: skip
BARRIERS = _fact(
    "barriers", "Barriers", "barriers", "low", "named barriers per block",
    lambda v: v.resources.barriers, label="Named barriers per block", weight=0.5, backend=CUDA.name,
)  # fmt: skip
THREADS = _fact(
    "threads", "Threads", "threads", "", "threads per block",
    _threads, label="Threads per block", weight=0.5,
)  # fmt: skip
OCCUPANCY = _fact(
    "occupancy", "Occupancy", "fraction", "high", "resident warps as a share of the maximum",
    lambda v: v.occupancy.fraction if v.occupancy else None,
    label="Theoretical occupancy", weight=8.0, format=format_fraction, place=-1,
)  # fmt: skip
BLOCKS_PER_SM = _fact(
    "blocks_per_sm", "Blocks/SM", "blocks", "high", "resident blocks per multiprocessor",
    lambda v: v.occupancy.blocks if v.occupancy else None, label="Blocks per multiprocessor",
    amd="Workgroups/CU",
)  # fmt: skip
LIMITER = _fact(
    "limiter", "Limited by", "", "", "the resource that limits occupancy",
    lambda v: ", ".join(v.occupancy.limits) if v.occupancy else None, place=9,
)  # fmt: skip

# Instructions of the PTX or AMDGCN text.
LOAD_WIDTH = _fact(
    "load_width", "Load", "bytes", "high", "widest global load of one thread; 0 if there are none",
    lambda v: v.widest("global load"), label="Widest global load", weight=10.0, place=2,
)  # fmt: skip
STORE_WIDTH = _fact(
    "store_width", "Store", "bytes", "high", "widest global store of one thread; 0 if there are none",
    lambda v: v.widest("global store"), label="Widest global store", weight=8.0, place=10,
)  # fmt: skip
GLOBAL_LOADS = _fact(
    "global_loads", "Global loads", "", "", "loads from global memory by width, with cp.async and s_load",
    lambda v: v.instructions_by_width("global load", "scalar load"), weight=5.0,
)  # fmt: skip
GLOBAL_STORES = _fact(
    "global_stores", "Global stores", "", "", "stores to global memory by width, excluding atomics",
    lambda v: v.global_stores(), weight=4.0,
)  # fmt: skip
SHARED_LOADS = _fact(
    "shared_loads", "Shared loads", "", "", "loads from shared memory by width, including ldmatrix",
    lambda v: v.instructions_by_width("shared load"), label="Shared memory loads", amd="LDS loads",
)  # fmt: skip
SHARED_STORES = _fact(
    "shared_stores", "Shared stores", "", "", "stores to shared memory by width, including stmatrix",
    lambda v: v.instructions_by_width("shared store"), label="Shared memory stores", amd="LDS stores",
)  # fmt: skip
LDMATRIX = _fact(
    "ldmatrix", "ldmatrix", "instructions", "", "ldmatrix instructions",
    lambda v: v.number_named("ldmatrix"), backend=CUDA.name,
)  # fmt: skip
ATOMICS = _fact(
    "atomics", "Atomics", "", "", "atomic operations by kind, width, scope and memory order",
    lambda v: v.atomics(), weight=4.0, absent="none",
)  # fmt: skip
MATRIX = _fact(
    "matrix", "Matrix", "", "", "matrix instructions by kind and shape",
    lambda v: v.instructions_by_width("matrix"), label="Matrix instructions", weight=3.0, place=3,
)  # fmt: skip
ASYNC_COPIES = _fact(
    "async_copies", "Async copies", "", "", "asynchronous copies by kind; bulk.tensor is TMA",
    lambda v: v.instructions_by_width("async copy"), label="Asynchronous copies", weight=2.0,
)  # fmt: skip
INSTRUCTIONS = _fact(
    "instructions", "Instructions", "instructions", "low", "instructions in the PTX or AMDGCN text",
    lambda v: v.scan.instructions if v.scan else None, label="Instructions in the assembly", weight=1.5,
    place=8,
)  # fmt: skip
LOOP_INSTRUCTIONS = _fact(
    "loop_instructions", "Loop instr", "instructions", "",
    "instructions of the hot loop in the PTX or AMDGCN text, per pass; 0 without a loop",
    lambda v: v.loop_instructions(), label="Instructions of the hot loop", place=6,
)  # fmt: skip
LOOP_SPILLS = _fact(
    "loop_spills", "Loop spills", "accesses", "low",
    "accesses of local memory per pass of the hot loop, in AMDGCN or stored SASS",
    lambda v: v.loop_spills(), label="Spills in the hot loop", place=7,
)  # fmt: skip

# TTGIR.
LAYOUTS = _fact("layouts", "Layouts", "", "", "layouts in TTGIR by kind", _layout_kinds)
CONVERSIONS = _fact(
    "conversions", "Conversions", "operations", "low", "ttg.convert_layout operations in TTGIR",
    lambda v: v.from_ttgir(lambda found: (len(found.conversions), found.conversions)),
    label="Layout conversions in TTGIR", weight=2.0, place=4,
)  # fmt: skip
PIPELINE_DEPTH = _fact(
    "pipeline_depth", "Pipeline", "iterations", "",
    "loop iterations in flight at once, in the deepest pipeline; 1 if none",
    lambda v: v.from_ttgir(lambda found: found.depth()), label="Software pipeline depth", weight=2.0,
    absent=1, place=5,
)  # fmt: skip
BUFFERS = _fact(
    "buffers", "Buffers", "buffers", "",
    "copies of a tile in shared memory that a pipelined loop fills; 0 if none",
    lambda v: v.from_ttgir(lambda found: found.buffers()), label="Software pipeline buffers per tile",
)  # fmt: skip
WARP_SPECIALIZATION = _fact(
    "warp_specialization", "Warp specialization", "", "",
    "groups of warps with their registers per thread and operations", lambda v: v.warp_specialization(),
    weight=7.0, absent="none",
)  # fmt: skip

# Compile time and sizes.
SECONDS = _fact(
    "seconds", "Compile", "seconds", "low", "compile time of all stages", _compile_seconds,
    label="Compile time", weight=1.0, place=11,
)  # fmt: skip


def _stage_seconds(stage: Stage) -> FactKind:
    return _fact(
        f"{stage.name}_seconds", f"{stage.name} s", "seconds", "low", f"time to make {stage.name}",
        lambda v: v.variant.seconds.get(stage.name), backend=stage.backend,
    )  # fmt: skip


def _stage_size(stage: Stage) -> FactKind:
    def size(variant: VariantArtifacts) -> FactValue:
        artifact = variant.variant.artifacts.get(stage.name)
        return artifact.size if artifact else None

    return _fact(
        f"{stage.name}_size", f"{stage.name} size", "bytes", "low", f"size of the {stage.name} stage", size,
        backend=stage.backend,
    )  # fmt: skip


_COMPILED = [stage for stage in STAGES if not is_source_stage(stage.name) and not stage.derived_from]
STAGE_SECONDS = tuple(map(_stage_seconds, _COMPILED))
STAGE_SIZES = tuple(_stage_size(stage) for stage in _COMPILED if stage.backend)

CODE = _fact(
    "code", "Code", "", "", "sha256 of the machine code: equal for identical code", _code, in_state=True
)

FACT_KINDS: tuple[FactKind, ...] = tuple(_registered)
FACT_NAMED = {kind.name: kind for kind in FACT_KINDS}


@cache
def kinds_for(backend: str) -> tuple[FactKind, ...]:
    """Return the facts that variants for `backend` ("cuda", "hip") have, in table order and its words."""
    own_backend = backend_named(backend)
    kinds = (kind for kind in FACT_KINDS if kind.backend in (None, backend) or kind.name in own_backend.facts)
    titled = (
        replace(kind, title=kind.titles.get(backend, kind.title)) if kind.titles else kind for kind in kinds
    )
    return (*titled, *_stage_kinds(own_backend))


def _stage_kinds(backend: Backend) -> Iterator[FactKind]:
    """Yield the times and sizes of the stages of a plug-in's backend."""
    for stage in backend.stages:
        if not stage.derived_from and f"{stage.name}_size" not in FACT_NAMED:
            yield from (_stage_seconds(stage), _stage_size(stage))


def kinds_of(backends: Iterable[str]) -> tuple[FactKind, ...]:
    """Return the facts that variants for any of these backends have, in table order.

    A single backend has its own titles.
    """
    each = list(map(kinds_for, backends))
    if len(each) == 1:
        return each[0]
    present = dict.fromkeys(chain.from_iterable(each))
    return (
        *(kind for kind in FACT_KINDS if kind in present),
        *(kind for kind in present if kind not in FACT_KINDS),
    )


def facts_named(names: Iterable[str]) -> Mapping[str, FactKind]:
    """Return facts by name, at least those in `names` that exist.

    Those of plug-ins are included only if a name is unknown.
    """
    if FACT_NAMED.keys() >= set(names):
        return FACT_NAMED
    return {kind.name: kind for kind in kinds_of(backend.name for backend in all_backends())}
