"""Texts that a lesson quotes in addition to the stages: Python source, compiler output, other commands."""

from __future__ import annotations

import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from irscope.learn.drawings import tile_text
from irscope.model import Variant
from irscope.workspace import (
    SOURCE_RULES,
    TextLine,
    Workspace,
    compilation_lines,
    conflicts_text,
    estimate_lines,
    lint_source,
    pair_lines,
    ways_text,
    without_rest,
)


@dataclass(frozen=True, slots=True)
class Extra:
    """A text about a variant B, compared with A if the text is about a pair.

    `text` takes B and then A. `caption` introduces a quotation, `language` highlights it. `shared` is true
    if all variants of a kernel have the same text.
    """

    text: Callable[[Workspace, Variant, Variant], str]
    caption: str
    language: str = "text"
    shared: bool = False


def _kernel(_: Workspace, variant: Variant) -> str:
    return variant.kernel.source.text


def _file(_: Workspace, variant: Variant) -> str:
    with tokenize.open(variant.kernel.source.file) as file:
        return file.read()


def _output(_: Workspace, variant: Variant) -> str:
    return variant.output


def _layout(capture: Workspace, variant: Variant) -> str:
    return "".join(f"{line}\n" for line in _layout_lines(capture, variant))


def _layout_lines(capture: Workspace, variant: Variant) -> Iterator[str]:
    """Each access to shared memory and each layout conversion, with its cost."""
    layouts = capture.layouts(variant)
    for one in layouts.accesses:
        cost = conflicts_text(one.conflicts) if one.conflicts else one.why_not
        yield f"{one.access.opcode} of line {one.access.line}, {one.access.buffer.type}: {cost}"
        if one.plain:
            yield f"    without the swizzle: {ways_text(one.plain)}"
    for conversion in layouts.conversions:
        cost = conversion.cost.value if conversion.cost else conversion.why_not
        both = f"{conversion.source.alias} -> {conversion.target.alias}"
        yield f"ttg.convert_layout of line {conversion.line}, {both}: {cost}"


def _lint(capture: Workspace, variant: Variant) -> str:
    name = Path(variant.kernel.source.file).name
    diagnostics = lint_source(_file(capture, variant), name, frozenset(rule.name for rule in SOURCE_RULES))
    return "".join(
        f"{one.file}:{one.line}:{one.column}: {one.rule.code} {one.rule.name}: {one.message}\n    {one.fix}\n"
        for one in diagnostics
    )


def _estimate(capture: Workspace, variant: Variant) -> str:
    lines = estimate_lines(capture.estimate(variant))
    texts = ([line.text, *([f"    {line.detail}"] if line.detail else [])] for line in lines)
    return "".join(f"{text}\n" for own in texts for text in own)


def _why(capture: Workspace, b: Variant, a: Variant) -> str:
    return _laid_out(without_rest(pair_lines(capture.compare(a, b))))


def _compilations(capture: Workspace, variant: Variant) -> str:
    """Why the variant's kernel was compiled, in the whole capture."""
    kernels = (one for one in capture.compilations() if one.kernel == variant.kernel.name)
    return _laid_out(compilation_lines(kernels))


def _laid_out(lines: Iterable[TextLine]) -> str:
    return "".join(f"{'  ' * line.level}{line.text}\n" for line in lines)


def _alone(text: Callable[[Workspace, Variant], str]) -> Callable[[Workspace, Variant, Variant], str]:
    """A text that is about one variant, whatever it is compared with."""
    return lambda capture, variant, _: text(capture, variant)


EXTRAS = {
    "why": Extra(_why, "irscope why"),
    "compilations": Extra(_alone(_compilations), "irscope why", shared=True),
    "python": Extra(_alone(_kernel), "The kernel", "python", shared=True),
    "file": Extra(_alone(_file), "The file", "python", shared=True),
    "output": Extra(_alone(_output), "output"),
    "estimate": Extra(_alone(_estimate), "irscope pick --explain"),
    "layout": Extra(_alone(_layout), "irscope layout"),
    "tile": Extra(_alone(partial(tile_text, swizzle=True)), "shared memory with the swizzle"),
    "plain_tile": Extra(_alone(partial(tile_text, swizzle=False)), "shared memory without a swizzle"),
    "lint": Extra(_alone(_lint), "irscope lint", shared=True),
}
