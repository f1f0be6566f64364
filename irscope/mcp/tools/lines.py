"""The tool `lines`: what a Python line became, the kernel's lines with their instructions, or a stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from irscope.document.timeline_content import span_text
from irscope.mcp.answers import Item, ToolAnswer
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import CAPTURE, INTEGER, OBJECT, TEXT, VARIANT, Arguments, Tool, text
from irscope.model import UserError, Variant
from irscope.model.text import clipped, display_line, one_line
from irscope.workspace import Language, PythonSource, Workspace
from irscope.workspace.source_lines import assembly_stage, instruction_counts, instruction_lines
from irscope.workspace.timeline_text import lane_sentences, timeline_texts
from irscope.workspace.variant_texts import check_stage

_MOST_KINDS, _MOST_CLASSES = 4, 8
# Instead of a stage: its main loop in time.
_TIMELINE = "timeline"
# Of an operation with its types, or a wgmma with its 128 registers; the stage has all of it.
_MOST_CHARACTERS = 240


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return one line's operations if `line` is given, or else the text of `stage`.

    Without either, return the Python.
    """
    workspace, variant = session.variant(arguments.get("capture"), arguments["variant"])
    number, stage = arguments.get("line"), arguments.get("stage")
    if number is not None:
        return _one_line(workspace, variant, int(number), [stage] if stage else _stages(workspace, variant))
    if stage == _TIMELINE:
        return _timeline(workspace, variant)
    return _stage_text(workspace, variant, stage) if stage else _python(workspace, variant)


def stage_lines(workspace: Workspace, variant: Variant, stage: str) -> list[str]:
    """Return the lines of a stage or of a text such as "error" without source locations.

    They keep their numbers. Raises UserError if the variant lacks it or it is binary.
    """
    kind = check_stage(stage, with_texts=True)
    if kind.language is None:
        raise UserError(f"{stage} is binary; text stages: {', '.join(workspace.stages(variant))}")
    content = workspace.content(variant, stage).decode("utf-8", "replace")
    return [display_line(Language.named(kind.language).strip_location(line)) for line in content.split("\n")]


def _stages(workspace: Workspace, variant: Variant) -> list[str]:
    """Return TTGIR and the assembly, as far as the variant has them."""
    names = workspace.stages(variant)
    return [name for name in names if name == "ttgir" or name == assembly_stage(names)]


def _one_line(workspace: Workspace, variant: Variant, number: int, stages: Sequence[str]) -> ToolAnswer:
    source = PythonSource.of_variant(variant)
    source_place = next((p for p in source.places if p and p.file == source.file and p.line == number), None)
    source_place = source_place or next((p for p in source.places if p and p.line == number), None)
    if source_place is None:
        raise UserError(f"the kernel has no line {number}; it has {_extent(variant)}")
    python = source.texts[source.line_of(source_place) or 0].strip()
    counts: dict[str, dict[str, int]] = {}
    items: list[Item] = []
    for stage in stages:
        source_map = workspace.source_map(variant, stage)
        counts[stage] = dict(source_map.counts(source_place).most_common(_MOST_CLASSES))
        chosen = list(dict.fromkeys(source_map.lines(source_place)))
        if len(stages) > 1 and stage == assembly_stage([stage]):  # addresses and moves are noise
            instruction_indices = instruction_lines(workspace.document(variant, stage), stage)
            chosen = [index for index in chosen if index in instruction_indices]
        items += _runs(stage, stage_lines(workspace, variant, stage), chosen)
    head = [f"line {number}: {one_line(python)}"]
    head += [f"{stage}: {_counts(stage_counts) or 'nothing'}" for stage, stage_counts in counts.items()]
    return ToolAnswer("\n".join(head), {"python": one_line(python), "counts": counts}, "lines", items)


def _runs(stage: str, lines: Sequence[str], chosen: Sequence[int]) -> Iterator[Item]:
    """Yield the chosen lines; of three or more with the same opcode in a row, the first."""
    for opcode, group in groupby(chosen, key=lambda index: _opcode(lines[index])):
        indices = list(group)
        first_indices = indices[:1] if len(indices) > 2 and opcode else indices
        for index in first_indices:
            more = (
                f"  (x{len(indices)}, to line {indices[-1] + 1})" if len(first_indices) < len(indices) else ""
            )
            line = clipped(" ".join(lines[index].split()), _MOST_CHARACTERS)
            text = f"{stage} {index + 1}: {line}{more}"
            yield Item(text, text)


def _opcode(line: str) -> str:
    """Return the first word of a line of assembly, after a predicate; "" for other languages."""
    words = line.split(None, 2)
    if words and words[0].startswith("@"):
        del words[0]
    return words[0] if words and not words[0].startswith("%") else ""


def _extent(variant: Variant) -> str:
    functions = (variant.kernel.source, *variant.kernel.helpers)
    return ", ".join(
        f"{one_line(f.name)} {f.line} to {f.line + f.text.rstrip().count(chr(10))}" for f in functions
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {one_line(name)}" for name, number in counts.items())


def _stage_text(workspace: Workspace, variant: Variant, stage: str) -> ToolAnswer:
    lines = stage_lines(workspace, variant, stage)
    items = [Item(f"{number} {line}", line) for number, line in enumerate(lines, 1)]
    return ToolAnswer(f"#{variant.id} {stage}, {len(lines)} lines", {"total": len(lines)}, "lines", items)


def _timeline(workspace: Workspace, variant: Variant) -> ToolAnswer:
    """Return what the timeline says, and what happens to the data of an iteration of the steady state."""
    timeline = workspace.kernel_timeline(variant)
    if not timeline.spans:
        raise UserError("; ".join(timeline.notes))
    texts = [*lane_sentences(timeline), *timeline_texts([timeline]), *timeline.notes]
    sentences = list(map(one_line, texts))
    steady = [n for n, span in enumerate(timeline.spans) if span.iteration == timeline.steady[0]]
    items = [Item(text, text) for text in (span_text(timeline, index) for index in steady)]
    head = "\n".join([f"#{variant.id}: its main loop, then what happens in one iteration", *sentences])
    return ToolAnswer(head, {"sentences": sentences}, "lines", items)


def _python(workspace: Workspace, variant: Variant) -> ToolAnswer:
    """Return the Python lines with the instructions that they became.

    Lines without any are left out of the list.
    """
    source = PythonSource.of_variant(variant)
    stage = assembly_stage(workspace.stages(variant))
    counts_by_place = instruction_counts(workspace.document(variant, stage), stage) if stage else {}
    items = []
    for number, source_place, line in zip(source.numbers, source.places, source.texts, strict=True):
        kinds = counts_by_place.get(source_place, {}) if source_place else {}
        total = sum(kinds.values())
        if not number or not (total or not counts_by_place):
            continue
        largest = sorted(kinds.items(), key=lambda pair: -pair[1])[:_MOST_KINDS]
        named = {f"{kind.kind} {kind.text()}": count for kind, count in largest}
        counts_text = ", ".join(f"{count} {kind}" for kind, count in named.items())
        text = one_line(line.strip())
        items.append(
            Item(f"{number}: {text}{f' -> {counts_text}' if counts_text else ''}", [number, text, named])
        )
    head = f"#{variant.id}: Python lines and their {stage or ''} instructions".replace("  ", " ")
    return ToolAnswer(head, {}, "lines", items)


TOOL = Tool(
    "lines",
    "With line: what that line of Python became (operations, instructions). With stage (ttir, ttgir, llir, "
    "ptx, sass, amdgcn, python, error, log): its text; timeline: what its loop waits for. With "
    "neither: the kernel's lines and their instructions.",
    {
        "variant": VARIANT,
        "line": {"type": "integer", "description": "as findings number them"},
        "stage": text(),
        "capture": CAPTURE,
    },
    {
        "python": TEXT,
        "counts": OBJECT,
        "total": INTEGER,
        "sentences": {"type": "array"},
        "lines": {"type": "array"},
    },
    run,
    required=("variant",),
    paged=True,
)
