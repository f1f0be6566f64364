"""The key points of one variant, the most important first: spills, matrix instructions, memory accesses.

Findings compare two variants; these sentences need only one. They use the same analyses: the register report,
the rules for matrix instructions, the lint rules for captures and the terms of the estimate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from irscope.facts.fact import Evidence, evidence_of, number_of, value_of
from irscope.facts.instruction_mix import instructions_by_line
from irscope.facts.matrix_products import (
    FMA,
    MMA_SYNC,
    TCGEN05,
    WGMMA,
    dots_by_place,
    machine_of,
    num_warps,
    obstacles,
)
from irscope.facts.occupancy import spilled_registers_text, spills
from irscope.facts.registers.live_values import SpilledValue
from irscope.facts.registers.register_report import RegisterReport
from irscope.facts.registry import (
    CONVERSIONS,
    LOOP_INSTRUCTIONS,
    MATRIX,
    PIPELINE_DEPTH,
    SPILL_LOAD_BYTES,
    SPILL_STORE_BYTES,
    STACK,
)
from irscope.model import UserError, Variant
from irscope.model.text import clipped, one_line, pluralize
from irscope.targets import backend_of, in_words_of
from irscope.workspace.verdict import KeyPoint, Verdict, python_line

if TYPE_CHECKING:
    from irscope.lint.diagnostic import Diagnostic
    from irscope.workspace.workspace import Workspace

# Rules about one variant; the others compare variants, or say again what another point says.
_RULES = frozenset(
    ["narrow-access", "strided-access", "mask-missing", "out-of-bounds", "offset-overflow", "launch-overflow",
     "idle-threads", "redundant-threads", "unspecialized-bound", "warp-specialization-ignored",
     "inline-assembly-lost"]
)  # fmt: skip
# The register report of the variant, made once.
Registers = Callable[[], RegisterReport]
_LOW_OCCUPANCY = 0.25
_REGISTER = 4  # bytes
# Fewer narrow loads than this are not worth a point.
_FEW = 8
# A compiler message quotes the kernel: "at 12:8:", a line of the function and a column.
_AT = re.compile(r"at (\d{1,6}):\d+:")
# "... in the function 'matmul_kernel' in line 1398": a line of the PTX.
_PTX_LINE = re.compile(r"(?: in the function '[^']*')? in line (\d{1,9})$")
_MOST_TEXT = 300


def points(workspace: Workspace, verdict: Verdict, registers: Registers) -> list[KeyPoint]:
    """Return a variant's points in order of importance; if it failed to compile, only the line."""
    key_points: list[KeyPoint] = []
    if verdict.variant.failure is not None:
        key_points = list(_failure(verdict.variant))
    finders: tuple[Finder, ...] = (partial(_spills, registers=registers), *_FINDERS)
    for find in () if verdict.variant.failure else finders:
        with suppress(UserError):  # a stage that is missing or damaged costs only its own sentence
            key_points += find(workspace, verdict)
    return [replace(point, text=clipped(one_line(point.text), _MOST_TEXT)) for point in key_points]


def _failure(variant: Variant) -> Iterator[KeyPoint]:
    """Yield the line that the compiler's message quotes; the message is the verdict's `problem`."""
    failure = variant.failure
    match = _AT.search(failure.message) if failure else None
    if match is None:
        return
    text = variant.kernel.source.text.split("\n")
    index = _def_line(variant) + int(match[1]) - 1
    if 0 <= index < len(text):
        yield KeyPoint("failure", f"in {text[index].strip()}", variant.kernel.source.line + index)


def _def_line(variant: Variant) -> int:
    """Return the index of the kernel's `def`, below its decorators: Triton counts lines from there."""
    from irscope.facts.source.tokens import def_index

    return def_index(variant.kernel.source.text.split("\n"))


def _spills(workspace: Workspace, verdict: Verdict, registers: Registers) -> Iterator[KeyPoint]:
    """Say how much is spilled, of which Python value, and how much of it within loops."""
    variant, facts = verdict.variant, workspace.facts(verdict.variant)
    if not spills(facts):
        return
    stack, stores, loads = (
        int(number_of(facts, kind) or 0) for kind in (STACK, SPILL_STORE_BYTES, SPILL_LOAD_BYTES)
    )
    amount = spilled_registers_text(facts) or f"{stack:,} bytes of stack per thread"
    if stores or loads:
        amount += f" ({stores:,} B stored, {loads:,} B loaded)"
    report = registers()
    evidence = next(iter(evidence_of(facts, STACK)), None)
    spilled = next((value for value in report.spills if value.value.line), None)
    if spilled is None:
        yield KeyPoint("spills", f"spills {amount}{_largest(report)}", None, evidence, variant.id)
        return
    where = Evidence(report.stage, spilled.stage_lines[0]) if spilled.stage_lines else evidence
    text = f"spills {amount}: {_spilled(spilled)}{_largest(report)}"
    yield KeyPoint("spills", text, spilled.value.line, where, variant.id)


def _spilled(value: SpilledValue) -> str:
    """Write `in loops mostly acc of line 90: 695 words, 668 accesses`.

    Values are ranked by accesses in loops.
    """
    name = (
        f"{value.value.name} of line {value.value.line}" if value.value.name else f"line {value.value.line}"
    )
    words, inside = pluralize(value.words, "word"), value.loop_loads + value.loop_stores
    if not inside:
        return f"mostly {name}: {words}, none in a loop"
    return f"in loops mostly {name}: {words}, {pluralize(inside, 'access')}"


def _largest(report: RegisterReport) -> str:
    """Write `; acc is 256x256 f32 over 128 threads: 512 registers per thread`; "" without tensors."""
    return f"; {report.tensors[0].text}" if report.tensors else ""


def _warnings(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    variant = verdict.variant
    assembly = backend_of(variant.target).assembly
    for warning in backend_of(variant.target).warnings(variant.log):
        match = _PTX_LINE.search(warning)
        evidence = Evidence(assembly, int(match[1]) - 1) if match else None
        line = python_line(workspace, variant, evidence) if evidence else None
        text = _PTX_LINE.sub("", warning)
        yield KeyPoint("ptxas", f"ptxas: {text}", line, evidence, variant.id)


def _matrix(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    """Yield products that no, or only a slower, matrix instruction computes, and known obstacles."""
    variant = verdict.variant
    if workspace.contents.key(variant, "ttgir") is None:
        return
    ttir = workspace.document(variant, "ttir") if workspace.contents.key(variant, "ttir") else None
    ttgir = workspace.document(variant, "ttgir")
    machine = machine_of(variant, num_warps(ttgir))
    for source_place, dot in dots_by_place(ttir, ttgir).items():
        path, product = dot.path, dot.product
        if path is None:
            continue
        evidence = Evidence("ttgir", dot.lines[0]) if dot.lines else None
        best = best_instruction(machine.capability)
        causes = tuple(map(str, obstacles(best, product, machine) if product else ()))
        why = f": {' and '.join(causes)}" if causes else ""
        point = partial(
            KeyPoint, "matrix", line=source_place.line, evidence=evidence, variant=variant.id, causes=causes
        )
        if path.name == FMA:
            yield point(f"tl.dot of line {source_place.line} uses no tensor cores (FMA){why}")
        elif path.name == MMA_SYNC and best != MMA_SYNC and causes:
            yield point(f"tl.dot of line {source_place.line} uses mma.sync, not the faster {best}{why}")


def best_instruction(capability: int) -> str:
    """Return the fastest matrix instruction of an NVIDIA target, by compute capability."""
    return WGMMA if 90 <= capability < 100 else TCGEN05 if 100 <= capability < 120 else MMA_SYNC


def _lint(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    for diagnostic in diagnostics(workspace, verdict):
        in_kernel_file = diagnostic.file == verdict.variant.kernel.source.file
        yield KeyPoint(diagnostic.rule.name, diagnostic.message, diagnostic.line if in_kernel_file else None)


def diagnostics(workspace: Workspace, verdict: Verdict) -> list[Diagnostic]:
    """Return the diagnostics of the lint rules that need only one variant.

    The rules read launches from the variant, so a launch that was given takes the place of recorded ones.
    """
    from irscope.lint.compiled import CompiledKernel
    from irscope.lint.linter import lint_compiled
    from irscope.workspace.linting import advisory_names

    variant = verdict.variant
    facts = {variant.id: workspace.facts(variant)}
    if verdict.launch is not None and verdict.launch not in variant.launches:
        variant = replace(variant, launches=(verdict.launch,))
    compiled = CompiledKernel([variant], workspace.names, facts, workspace.contents.find, workspace.document)
    return lint_compiled([compiled], _RULES | {*advisory_names()})


def _estimated(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    """Yield the term of the estimate that limits the launch, with the line that shows it."""
    estimate, variant = verdict.estimate, verdict.variant
    term = estimate.term(estimate.bound) if estimate else None
    if estimate is None or term is None or not term.evidence:
        return
    line = python_line(workspace, variant, term.evidence[0])
    mostly = f", mostly line {line}" if line else ""
    text = f"bound by {estimate.bound} by estimate{mostly}"
    yield KeyPoint("bound", text, line, term.evidence[0], variant.id)


def _occupancy(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    fraction = verdict.occupancy
    if fraction is not None and 0 < fraction < _LOW_OCCUPANCY and verdict.limiter:
        share = f"{round(fraction * 100, 1):g}%"
        resident = in_words_of(verdict.variant.target, "of the multiprocessor's warps are resident")
        yield KeyPoint("occupancy", f"{share} {resident}, limited by {verdict.limiter}")


def _pipeline(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    """Yield a loop with matrix products whose loads are not prefetched."""
    variant, facts = verdict.variant, workspace.facts(verdict.variant)
    has_loop, products = number_of(facts, LOOP_INSTRUCTIONS), value_of(facts, MATRIX)
    if number_of(facts, PIPELINE_DEPTH) == 1 and has_loop and products not in (None, "none"):
        stages = variant.metadata.get("num_stages")
        suffix = f" (num_stages={stages})" if isinstance(stages, int) else ""
        yield KeyPoint(
            "pipeline", f"its loop is not pipelined{suffix}: each iteration waits for its own loads"
        )


def _narrow_operands(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    """Yield lines whose loads from shared memory read less than a register per thread at once.

    Operands of products on AMD are read so if their elements are not contiguous along K:
    `ds_read_u16`.
    """
    variant, stage = verdict.variant, backend_of(verdict.variant.target).assembly
    if workspace.contents.key(variant, stage) is None or value_of(workspace.facts(variant), MATRIX) in (
        None,
        "none",
    ):
        return
    memory = in_words_of(variant.target, "shared memory")
    for (kind, source_place), mix in instructions_by_line(workspace.document(variant, stage), stage).items():
        narrow = sum(
            number for instruction, number in mix.counts.items() if 0 < instruction.width < _REGISTER
        )
        if kind != "shared load" or source_place is None or narrow < _FEW:
            continue
        width = max(instruction.width for instruction in mix.counts if 0 < instruction.width < _REGISTER)
        text = (
            f"line {source_place.line} loads from {memory} {pluralize(width, 'byte')} per thread at once "
            f"({narrow} instructions): its elements are not contiguous there for a thread"
        )
        yield KeyPoint("narrow-shared", text, source_place.line, Evidence(stage, mix.lines[0]), variant.id)


def _conversions(workspace: Workspace, verdict: Verdict) -> Iterator[KeyPoint]:
    variant, facts = verdict.variant, workspace.facts(verdict.variant)
    number = int(number_of(facts, CONVERSIONS) or 0)
    evidence = next(iter(evidence_of(facts, CONVERSIONS)), None)
    if number and evidence:
        line = python_line(workspace, variant, evidence)
        first = f", the first for line {line}" if line else ""
        text = f"{pluralize(number, 'layout conversion')} in TTGIR{first}"
        yield KeyPoint("conversions", text, line, evidence, variant.id)


Finder = Callable[["Workspace", Verdict], Iterator[KeyPoint]]
_FINDERS: tuple[Finder, ...] = (
    _warnings,
    _matrix,
    _pipeline,
    _narrow_operands,
    _lint,
    _estimated,
    _occupancy,
    _conversions,
)
