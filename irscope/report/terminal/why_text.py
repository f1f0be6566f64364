"""`irscope why` for a person, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.cache_key_text import key_sentence, reason_text
from irscope.analysis.compilation_summary import story, totals
from irscope.diff.summary import summarize
from irscope.model.text import code, markdown_escaped, one_line
from irscope.report.pair_report import heading
from irscope.report.terminal.paint import Paint
from irscope.report.why import Story, Why

# The JSON has all of them.
_MAX_FINDINGS = 8


def why_text(why: Why, paint: Paint) -> Iterator[str]:
    """The lines of the report on two variants."""
    comparison = why.comparison
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        text = f"  {heading(comparison, index)}  {variant.kernel.name}  {variant.target}"
        yield paint(side, "heading") + one_line(text)
    yield ""
    yield paint("Why it was compiled again", "heading")
    yield from (one_line(f"  {line}") for line in _reasons(why))
    yield ""
    yield paint("What it led to", "heading")
    yield from (one_line(f"  {line}") for line in _effects(why))
    yield ""
    yield paint("Was it worth it", "heading")
    yield one_line(f"  {why.verdict}")
    yield from (one_line(f"  spared by: {remedy}") for remedy in why.remedies)


def why_markdown(why: Why) -> Iterator[str]:
    """The same for an issue or a pull request."""
    comparison = why.comparison
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        yield f"- {side}: {code(heading(comparison, index))} {code(variant.kernel.name)} {variant.target}"
    for title, lines in (("Why it was compiled again", _reasons(why)), ("What it led to", _effects(why))):
        yield from ("", f"**{title}**", "")
        yield from (f"- {markdown_escaped(line)}" for line in lines)
    yield from ("", f"**Was it worth it**: {markdown_escaped(why.verdict)}", "")
    yield from (f"- spared by: {markdown_escaped(remedy)}" for remedy in why.remedies)


def story_text(run: Story, paint: Paint) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    for index, kernel in enumerate(run.kernels):
        if index:
            yield ""
        yield paint(one_line(kernel.kernel), "heading") + one_line(f"  {totals(kernel)}")
        yield from (one_line(f"  {line}") for line in story(kernel))


def story_markdown(run: Story) -> Iterator[str]:
    """The same for an issue or a pull request."""
    for kernel in run.kernels:
        yield from (f"### {code(kernel.kernel)}", "", markdown_escaped(totals(kernel)), "")
        yield from (f"- {markdown_escaped(line.strip())}" for line in story(kernel))
        yield ""


def _reasons(why: Why) -> Iterator[str]:
    recompilation = why.recompilation
    a, b = why.comparison.variants
    if a.kernel.name != b.kernel.name:
        yield f"they are two kernels, {a.kernel.name} and {b.kernel.name}"
    yield f"{key_sentence(recompilation, len(a.cache_key.keys() | b.cache_key.keys()))}:"
    yield from (f"  {reason_text(reason)}" for reason in recompilation.reasons)
    if not recompilation.reasons:
        yield "  none: Triton has one program for both"
    yield from (f"not known: {text}" for text in recompilation.unknown)


def _effects(why: Why) -> Iterator[str]:
    first = why.first
    if first is not None:
        yield f"the first stage that differs in more than shapes is {first.stage}: {summarize(first)}"
    elif why.comparison.diffs:
        quiet = all(diff.equal for diff in why.comparison.diffs.values())
        what = "equal" if quiet else "equal but for shapes and constants"
        yield f"{what} in all compared stages: {', '.join(why.comparison.diffs)}"
    # What the line above and the verdict below say is not said again.
    found = [f for f in why.comparison.findings if f.kind not in ("stages", "identical")]
    yield from (f"{number}. {finding.text}" for number, finding in enumerate(found[:_MAX_FINDINGS], 1))
    if len(found) > _MAX_FINDINGS:
        yield f"{len(found) - _MAX_FINDINGS} smaller ones are left out; --format json has all"
    if not found:
        yield "no fact differs"
