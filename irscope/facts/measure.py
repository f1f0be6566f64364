"""The facts of one variant, measured out of its artifacts: what stands in a row of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from irscope.analysis.duplicates import code_digest
from irscope.analysis.stage_reuse import taken_stages
from irscope.backends.resources import Resources, cuda_resources, hip_resources
from irscope.facts.fact import Evidence, Fact, FactValue, ReadStage
from irscope.facts.instruction_scan import InstructionKind, Scan, scan
from irscope.facts.occupancy import BlockUse, count, fits, occupancy, threads_of
from irscope.facts.registry import FACT_KINDS, kinds_for
from irscope.facts.ttgir_scan import tensors
from irscope.model import Variant
from irscope.model.devices import device_of

__all__ = ["FACTS_VERSION", "FACT_KINDS", "from_json", "measure", "to_json"]

# Count up whenever a fact is added or computed otherwise, so that kept facts are measured anew.
FACTS_VERSION = 3

_KIND_NAMED = {kind.name: kind for kind in FACT_KINDS}
# Made once: a thousand variants have 50,000 facts to look at before the first paint.
_VALUE_TYPES = (int, float, str, type(None))
_Values = dict[str, tuple[FactValue, tuple[Evidence, ...]]]


def measure(variant: Variant, read: ReadStage) -> dict[str, Fact]:
    """Every fact that applies to the variant's backend, by name in table order.

    `read` gives a stage's content. A fact that cannot be had from the stages that are there has the
    value None. Takes a few milliseconds: no disassembly, no parse.
    """
    assembly_stage = "ptx" if variant.target.backend == "cuda" else "amdgcn"
    assembly = _text(read(assembly_stage))
    binary = read("cubin" if variant.target.backend == "cuda" else "hsaco")
    if variant.target.backend == "cuda":
        resources = cuda_resources(
            binary, variant.log, str(variant.metadata.get("name", variant.kernel.name))
        )
    else:
        resources = hip_resources(assembly)
    scanned = None if assembly is None else scan(assembly, assembly_stage)
    values = (
        _launch(variant, resources)
        | _spills(resources, scanned, assembly_stage)
        | _instructions(scanned, assembly_stage)
        | _layouts(_text(read("ttgir")))
        | _costs(variant)
        | _measured(variant)
        | {"code": (_code(binary), ())}
    )
    kinds = kinds_for(variant.target.backend)
    return {kind.name: Fact(kind, *values.get(kind.name, (None, ()))) for kind in kinds}


def to_json(facts: Mapping[str, Fact]) -> dict[str, FactValue]:
    """The facts as {name: value}, without evidence."""
    return {name: fact.value for name, fact in facts.items()}


def from_json(values: Mapping[str, Any]) -> dict[str, Fact]:
    """The facts that `to_json` wrote, in table order; what is no fact's name or value is left out."""
    return {
        name: Fact(kind, values[name])
        for name, kind in _KIND_NAMED.items()
        if name in values and isinstance(values[name], _VALUE_TYPES)
    }


def _launch(variant: Variant, resources: Resources) -> _Values:
    """What a block takes, whether it fits, and how many are resident at once."""
    shared, warps = count(variant, "shared"), count(variant, "num_warps")
    values: dict[str, FactValue] = {
        "launchable": _launchable(variant),
        "registers": resources.registers,
        "accumulation_registers": resources.accumulation_registers,
        "scalar_registers": resources.scalar_registers,
        "shared": shared,
        "tensor_memory": count(variant, "tmem_size"),
        "barriers": resources.barriers,
        "threads": threads_of(variant),
    }
    device = device_of(variant.target, cu_mode=variant.metadata.get("wgp_cu_mode") == "cu")
    if device and warps and shared is not None and resources.registers is not None:
        lone_wave = variant.target.backend == "hip" and warps == 1
        barriers = resources.barriers if resources.barriers is not None else int(not lone_wave)
        use = BlockUse(warps, resources.registers, shared, barriers, resources.scalar_registers or 0)
        resident = occupancy(device, use)
        values["occupancy"] = resident.fraction
        values["blocks_per_sm"] = resident.blocks
        values["limiter"] = ", ".join(resident.limits)
    return _without_evidence(values)


def _launchable(variant: Variant) -> str | None:
    if variant.failure is not None:
        return "no: not compiled"
    if count(variant, "shared") is None or count(variant, "num_warps") is None:
        return None
    reason = fits(variant)
    return f"no: {reason}" if reason else "yes"


def _spills(resources: Resources, scanned: Scan | None, stage: str) -> _Values:
    """Local memory; the lines are the loads and stores that the text shows (PTX: only arrays)."""
    stack = resources.stack
    values = _without_evidence(
        {
            "n_spills": None if stack is None else stack // 4,
            "spill_store_bytes": resources.spill_store_bytes,
            "spill_load_bytes": resources.spill_load_bytes,
            "vector_spills": resources.vector_spills,
            "scalar_spills": resources.scalar_spills,
        }
    )
    doings = scanned.lines if scanned else {}
    local = [line for doing, lines in doings.items() if doing.kind.startswith("local") for line in lines]
    values["stack"] = (stack, _evidence(stage, local))
    return values


def _instructions(scanned: Scan | None, stage: str) -> _Values:
    """Counts and widths out of the scan of the PTX or AMDGCN text."""
    if scanned is None:
        return {}
    values: _Values = {"instructions": (scanned.instructions, ())}
    for what in ("global load", "global store", "shared load", "shared store"):
        values[what.replace(" ", "_") + "s"] = _by(scanned, what, stage)
    for kind, name in (("matrix", "matrix"), ("async copy", "async_copies")):
        values[name] = _by(scanned, kind, stage)
    for what in ("load", "store"):
        doings = [doing for doing in scanned.lines if doing.kind == f"global {what}"]
        widest = max(doings, key=lambda doing: doing.width, default=None)
        lines = scanned.lines[widest] if widest else []
        values[f"{what}_width"] = (widest.width if widest else 0, _evidence(stage, lines))
    ldmatrix = scanned.lines.get(InstructionKind("ldmatrix"), [])
    values["ldmatrix"] = (len(ldmatrix), _evidence(stage, ldmatrix))
    return values


def _by(scanned: Scan, kind: str, stage: str) -> tuple[FactValue, tuple[Evidence, ...]]:
    """The instructions of a kind, counted by width or name: "4 x 16 B, 1 x 4 B", "64 x mma.sync.m16n8k16"."""
    doings = sorted(
        (doing for doing in scanned.lines if doing.kind == kind), key=lambda doing: (-doing.width, doing.name)
    )
    text = ", ".join(f"{len(scanned.lines[doing])} x {doing.name or f'{doing.width} B'}" for doing in doings)
    lines = [line for doing in doings for line in scanned.lines[doing]]
    return text or "none", _evidence(stage, lines)


def _layouts(ttgir: str | None) -> _Values:
    if ttgir is None:
        return {}
    found = tensors(ttgir)
    kinds = [f"{name} x{number}" if number > 1 else name for name, number in sorted(found.layouts.items())]
    return {
        "layouts": (", ".join(kinds) or "none", _evidence("ttgir", found.layout_lines)),
        "conversions": (len(found.conversions), _evidence("ttgir", found.conversions)),
        "buffers": (found.buffers, _evidence("ttgir", found.buffer_lines)),
    }


def _measured(variant: Variant) -> _Values:
    """What an autotuner measured of it on a GPU; nothing where none did.

    With several tuning keys the last one counts: it is the one that the neighbours were measured for too.
    """
    if not variant.benchmarks:
        return {}
    last = variant.benchmarks[-1]
    chosen = [benchmark.key or "all" for benchmark in variant.benchmarks if benchmark.chosen]
    return _without_evidence(
        {"ms": last.ms, "ms_key": last.key, "chosen": "; ".join(dict.fromkeys(chosen)) or "no"}
    )


def _costs(variant: Variant) -> _Values:
    """Compile times, as far as they are known, and sizes."""
    values: dict[str, FactValue] = {f"{stage}_seconds": spent for stage, spent in variant.seconds.items()}
    # Stages taken from another variant have no time here: a sum without them would be no compile time.
    whole = variant.seconds and not list(taken_stages(variant))
    values["seconds"] = sum(variant.seconds.values()) if whole else None
    values |= {f"{stage}_size": artifact.size for stage, artifact in variant.artifacts.items()}
    return _without_evidence(values)


def _code(binary: bytes | None) -> str | None:
    if binary is None:
        return None
    try:
        return code_digest(binary)
    except ValueError:
        return None


def _without_evidence(values: Mapping[str, FactValue]) -> _Values:
    return {name: (value, ()) for name, value in values.items()}


def _evidence(stage: str, lines: Iterable[int]) -> tuple[Evidence, ...]:
    return tuple(Evidence(stage, line) for line in sorted(lines))


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")
