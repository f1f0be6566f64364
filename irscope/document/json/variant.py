"""`layout`, `registers`, `passes` and `timeline` with --format json; docs/json-schemas.md describes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.document.json.records import Projection, each, from_one, known, of, optional, variant_record
from irscope.model import Variant
from irscope.model.kernel_timeline import Dependency, KernelTimeline, Lane, Slack, Span
from irscope.workspace import (
    AccessConflicts,
    BankConflicts,
    Conversion,
    Divergence,
    LiveValue,
    PassLine,
    Picture,
    RegisterReport,
    SourceLine,
    SpilledValue,
    Tensor,
    TensorInRegisters,
    VariantLayouts,
)
from irscope.workspace.pass_comparison import LlvmReport, PassReport

LAYOUT_SCHEMA = "irscope.layout/1"
REGISTERS_SCHEMA = "irscope.registers/1"
PASSES_SCHEMA = "irscope.passes/2"
LLVM_SCHEMA = "irscope.llvm-passes/1"
TIMELINE_SCHEMA = "irscope.timeline/1"

_TENSOR: Projection[Tensor] = Projection(
    value="name",
    variable=known("python"),
    line=known("line"),
    stage_line=from_one("index"),
    kind="kind",
    shape="shape",
    whole_shape="whole",
    element="element",
    alias="alias",
    layout="attribute.text",
)
_CONFLICTS: Projection[BankConflicts] = Projection(
    by="kind",
    bytes_a_thread="width",
    ways="ways",
    turns_a_warp="wavefronts",
    least_turns_a_warp="ideal_wavefronts",
)
_ACCESS: Projection[AccessConflicts] = Projection(
    operation="access.opcode",
    alike="times",
    line=known("access.line"),
    stage_line=from_one("access.index"),
    buffer="access.buffer.type",
    conflicts=optional("conflicts", _CONFLICTS),
    without_swizzle=optional("plain", _CONFLICTS),
    not_known=known("why_not"),
)
_CONVERSION: Projection[Conversion] = Projection(
    line=known("line"),
    stage_line=from_one("index"),
    **{"from": "source.attribute.text"},
    to="target.attribute.text",
    shape="source.shape",
    moves=lambda conversion: conversion.cost.name.lower() if conversion.cost else None,
    not_known=known("why_not"),
)
_PICTURE: Projection[Picture] = Projection(
    tensor=of("tensor", _TENSOR),
    linear_layout=Projection[Picture](shape="layout.shape", bases="layout.bases", source="source"),
    sentences="sentences",
)


def layout_document(
    capture: str, variants: Sequence[VariantLayouts], pictures: Sequence[Picture | None]
) -> dict[str, Any]:
    """Return the JSON document: per variant the drawn tensor, or if there is none, the list of all."""
    sides = [_side(layouts, picture) for layouts, picture in zip(variants, pictures, strict=True)]
    return {"schema": LAYOUT_SCHEMA, "capture": capture, "sides": sides}


def _side(layouts: VariantLayouts, picture: Picture | None) -> dict[str, Any]:
    accesses = layouts.kernel.accesses_to(picture.tensor) if picture else layouts.accesses
    side: dict[str, Any] = {
        "variant": variant_record(layouts.variant, layouts.name),
        "stage": layouts.stage,
        "accesses": list(map(_ACCESS, accesses)),
    }
    if picture is not None:
        return side | _PICTURE(picture)
    side["tensors"] = [_TENSOR(group[0]) | {"alike": len(group)} for group in layouts.tensors]
    side["conversions"] = list(map(_CONVERSION, layouts.kernel.conversions))
    return side


def _line(line: SourceLine | None) -> dict[str, Any] | None:
    """Return a line of the user's Python, or null if it is unknown."""
    return _LINE(line) if line is not None and line.line else None


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _line_counts(counts: Sequence[tuple[SourceLine, int]]) -> list[dict[str, Any]]:
    return [{"place": _line(line), "count": count} for line, count in counts]


_LINE: Projection[SourceLine] = Projection(file="file", line="line", name=known("name"))
_VALUE: Projection[LiveValue] = Projection(
    name=known("name"), registers=of("registers", _number), lines=each("lines", _line)
)
_SPILL: Projection[SpilledValue] = Projection(
    value=of("value", _line),
    words="words",
    stores=of("stores", _line_counts),
    loads=of("loads", _line_counts),
    loop_stores="loop_stores",
    loop_loads="loop_loads",
)
_LIVE_TENSOR: Projection[TensorInRegisters] = Projection(
    name="name",
    value="tensor.value",
    shape="tensor.shape",
    element="tensor.element",
    layout="tensor.layout",
    threads="tensor.threads",
    ctas="tensor.ctas",
    registers="tensor.registers",
    carried_by_loop="tensor.loop",
    place=of("line", _line),
)
_REGISTERS: Projection[RegisterReport] = Projection(
    allocated="allocated",
    stage="stage",
    estimate="estimate",
    peak=optional("peak", _number),
    stage_line=of("stage_line", lambda index: index + 1 if index >= 0 else None),
    place=of("place", _line),
    in_loop="in_loop",
    values=each("values", _VALUE),
    spills=each("spills", _SPILL),
    tensors=each("tensors", _LIVE_TENSOR),
    tensor_registers="tensor_registers",
    tensor_place=of("tensor_place", _line),
)


def registers_document(capture: str, variant: Variant, name: str, report: RegisterReport) -> dict[str, Any]:
    """Return the JSON document."""
    head = {"schema": REGISTERS_SCHEMA, "capture": capture, "variant": variant_record(variant, name)}
    return head | _REGISTERS(report)


_STEP = Projection[Any](
    number="number",
    stage="stage",
    name="name",
    options="options",
    seconds="seconds",
    changed="changed",
    failed="failed",
)


def passes_document(report: PassReport) -> dict[str, Any]:
    """Return the JSON document."""
    records = list(map(variant_record, report.variants, report.names))
    differences = report.differences
    return {
        "schema": PASSES_SCHEMA,
        "capture": report.capture,
        "a": records[0],
        "b": records[1] if len(records) > 1 else None,
        "divergences": None
        if differences is None
        else {difference.kind: _divergence(difference.divergence) for difference in differences},
        "passes": [{"a": _pass(line, 0), "b": _pass(line, 1)} for line in report.lines],
    }


def _divergence(divergence: Divergence | None) -> dict[str, Any] | None:
    """Return the passes of A and B, by number, after which they differ.

    Both lists are empty if they differ before the first pass.
    """
    if divergence is None:
        return None
    pair = divergence.passes
    return {
        "stage": pair.stage if pair else None,
        "name": pair.name if pair else None,
        "a": [step.number for step in pair.a] if pair else [],
        "b": [step.number for step in pair.b] if pair else [],
        "summary": divergence.summary,
    }


def _pass(line: PassLine, index: int) -> dict[str, Any] | None:
    """Return the pass in A (0) or in B (1)."""
    step = (line.a, line.b)[index]
    if step is None:
        return None
    record = _STEP(step) | {"summary": line.effects[index] if line.effects else ""}
    if line.touched is not None:
        touched = line.touched[index]
        record["touched"] = {name: n for kind, n in touched.items() for name in kind.names}
    return record


_LLVM_PASS = Projection[Any](
    stage="stage",
    name="name",
    flag=known("flag"),
    changed="changed",
    instructions="instructions",
    effect=of("effect", dict),
    seconds="seconds",
)


def llvm_document(report: LlvmReport, capture: str) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": LLVM_SCHEMA,
        "capture": capture,
        "variant": variant_record(report.variant, report.name),
        "passes": [{"number": number} | _LLVM_PASS(llvm_pass) for number, llvm_pass in report.passes],
        "ptxas": {"functions": dict(report.functions), "advice": list(report.advice)},
    }


_TIMELINE: Projection[KernelTimeline] = Projection(
    cycles_per_iteration=known("period"),
    steady=lambda timeline: list(timeline.steady) if timeline.period else None,
    clock=known("clock"),
    lanes=each(
        "lanes",
        Projection[Lane](
            engine="engine", partition=known("partition"), warps=known("warps"), registers=known("registers")
        ),
    ),
    spans=each(
        "spans",
        Projection[Span](
            lane="lane",
            kind="kind",
            issued="issued",
            start="start",
            end="end",
            iteration=of("iteration", lambda iteration: None if iteration < 0 else iteration),
            buffers="buffers",
            barrier=known("barrier"),
            phase=of("phase", lambda phase: None if phase < 0 else phase),
            stage_line=known("stage_line"),
            line=known("source_line"),
            critical="critical",
        ),
    ),
    dependencies=each("dependencies", Projection[Dependency](releasing="releasing", waiting="waiting")),
    slacks=each(
        "slacks",
        Projection[Slack](
            kind="kind", name="name", line=known("source_line"), in_flight="in_flight", needed="needed"
        ),
    ),
    notes="notes",
)


def timeline_document(
    capture: str, variants: Sequence[Variant], names: Sequence[str], timelines: Sequence[KernelTimeline]
) -> dict[str, Any]:
    """Return the JSON document of one timeline, or of two with how the second differs."""
    from irscope.workspace.timeline_text import pair_texts, single_texts

    sides = [
        {"variant": variant_record(variant, name), **_TIMELINE(timeline), "sentences": single_texts(timeline)}
        for variant, name, timeline in zip(variants, names, timelines, strict=True)
    ]
    document = {"schema": TIMELINE_SCHEMA, "capture": capture, "sides": sides}
    return document | ({"differences": pair_texts(*timelines)} if len(timelines) == 2 else {})
