"""The facts that irscope knows, in the order of the table: add a line here and its measure in facts.py."""

from __future__ import annotations

from irscope.facts.fact import FactKind
from irscope.model import STAGES

_COMPILED = tuple(
    stage for stage in STAGES if stage.name not in ("source", "glir") and not stage.derived_from
)
_FINAL = tuple(stage for stage in _COMPILED if stage.backend)


def _spills() -> tuple[FactKind, ...]:
    return (
        FactKind(
            "n_spills", "Spills", "words", "low", "4-byte words of local memory a thread, as Triton counts"
        ),
        FactKind(
            "spill_store_bytes", "Spill stores", "bytes", "low", "bytes that ptxas' spills store, a thread"
        ),
        FactKind(
            "spill_load_bytes", "Spill loads", "bytes", "low", "bytes that ptxas' spills load, a thread"
        ),
        FactKind(
            "vector_spills", "VGPR spills", "registers", "low", "vector registers kept in scratch memory"
        ),
        FactKind("scalar_spills", "SGPR spills", "registers", "low", "scalar registers kept elsewhere"),
    )


def _measured() -> tuple[FactKind, ...]:
    return (
        FactKind("ms", "ms", "milliseconds", "low", "median time that the autotuner measured on a GPU, last"),
        FactKind("ms_key", "ms for", "", "", "the tuning key for which that time was measured"),
        FactKind("chosen", "Chosen for", "", "", "the tuning keys for which the autotuner chose the config"),
    )


def _resources() -> tuple[FactKind, ...]:
    return (
        FactKind("launchable", "Launch", "", "", "whether the target can launch it: yes, or no and why"),
        FactKind(
            "registers", "Regs", "registers", "low", "registers a thread (AMD: VGPRs and AGPRs); see stack"
        ),
        FactKind("stack", "Stack", "bytes", "low", "local memory (AMD: scratch) a thread; not 0: it spills"),
        *_spills(),
        FactKind(
            "accumulation_registers", "AGPRs", "registers", "", "those of the registers that accumulate"
        ),
        FactKind("scalar_registers", "SGPRs", "registers", "low", "scalar registers a wave"),
        FactKind("shared", "Shared", "bytes", "low", "shared memory (AMD: LDS) a block"),
        FactKind("tensor_memory", "Tmem", "columns", "low", "columns of tensor memory a block"),
        FactKind("barriers", "Barriers", "barriers", "low", "named barriers a block"),
        FactKind("threads", "Threads", "threads", "", "threads a block"),
        FactKind(
            "occupancy", "Occupancy", "fraction", "high", "resident warps, of those that there is room for"
        ),
        FactKind("blocks_per_sm", "Blocks/SM", "blocks", "high", "resident blocks a multiprocessor"),
        FactKind("limiter", "Limited by", "", "", "what lets no more blocks be resident"),
    )


def _instructions() -> tuple[FactKind, ...]:
    return (
        FactKind("load_width", "Load", "bytes", "high", "widest global load of one thread; 0: there is none"),
        FactKind(
            "store_width", "Store", "bytes", "high", "widest global store of one thread; 0: there is none"
        ),
        FactKind(
            "global_loads", "Global loads", "", "", "loads from global memory by width, cp.async among them"
        ),
        FactKind("global_stores", "Global stores", "", "", "stores to global memory by width"),
        FactKind(
            "shared_loads", "Shared loads", "", "", "loads from shared memory by width, without ldmatrix"
        ),
        FactKind("shared_stores", "Shared stores", "", "", "stores to shared memory by width"),
        FactKind("ldmatrix", "ldmatrix", "instructions", "", "ldmatrix instructions"),
        FactKind("matrix", "Matrix", "", "", "matrix instructions by kind and shape"),
        FactKind("async_copies", "Async copies", "", "", "asynchronous copies by kind; bulk.tensor is TMA"),
        FactKind(
            "instructions", "Instructions", "instructions", "low", "instructions in the PTX or AMDGCN text"
        ),
    )


def _layouts() -> tuple[FactKind, ...]:
    return (
        FactKind("layouts", "Layouts", "", "", "layouts in TTGIR by kind"),
        FactKind("conversions", "Conversions", "operations", "low", "ttg.convert_layout operations in TTGIR"),
        FactKind(
            "buffers", "Buffers", "buffers", "", "depth of the software pipeline: copies of a tile; 0: none"
        ),
    )


def _costs() -> tuple[FactKind, ...]:
    stage_seconds = [
        FactKind(f"{stage.name}_seconds", f"{stage.name} s", "seconds", "low", f"time to make {stage.name}")
        for stage in _COMPILED
    ]
    sizes = [
        FactKind(
            f"{stage.name}_size", f"{stage.name} size", "bytes", "low", f"size of the {stage.name} stage"
        )
        for stage in _FINAL
    ]
    code = FactKind("code", "Code", "", "", "sha256 of the machine code: equal for identical code")
    return (
        FactKind("seconds", "Compile", "seconds", "low", "compile time, all stages"),
        *stage_seconds,
        *sizes,
        code,
    )


FACT_KINDS: tuple[FactKind, ...] = (*_measured(), *_resources(), *_instructions(), *_layouts(), *_costs())

# The facts that only one vendor's variants have.
_ONLY_CUDA = frozenset(["spill_store_bytes", "spill_load_bytes", "tensor_memory", "barriers", "ldmatrix"])
_ONLY_HIP = frozenset(["vector_spills", "scalar_spills", "accumulation_registers", "scalar_registers"])
_OF_STAGE = {
    f"{stage.name}_{what}": stage.backend for stage in _FINAL for what in ("seconds", "size") if stage.backend
}


def kinds_for(backend: str) -> tuple[FactKind, ...]:
    """The facts that variants for `backend` ("cuda", "hip") have, in table order."""
    others = _ONLY_HIP if backend == "cuda" else _ONLY_CUDA
    return tuple(
        kind
        for kind in FACT_KINDS
        if kind.name not in others and _OF_STAGE.get(kind.name, backend) == backend
    )
