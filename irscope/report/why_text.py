"""`irscope why` for a person, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.analysis.compilations import ArgumentSet, Compilations, Varied
from irscope.diff.summary import summarize
from irscope.report.comparison import heading
from irscope.report.paint import Paint
from irscope.report.text import code, counted, markdown_escaped, one_line
from irscope.report.why import Story, Why, input_text, key_sentence, reason_text, unknown_lines, value_text

# The JSON has all of them.
_MAX_FINDINGS = 8
_MAX_VALUES = 8
_MAX_SETS = 20


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


def story_text(story: Story, paint: Paint) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    for index, kernel in enumerate(story.kernels):
        if index:
            yield ""
        yield paint(one_line(kernel.kernel), "heading") + one_line(f"  {_totals(kernel)}")
        yield from (one_line(f"  {line}") for line in _story(kernel))


def story_markdown(story: Story) -> Iterator[str]:
    """The same for an issue or a pull request."""
    for kernel in story.kernels:
        yield from (f"### {code(kernel.kernel)}", "", markdown_escaped(_totals(kernel)), "")
        yield from (f"- {markdown_escaped(line.strip())}" for line in _story(kernel))
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
    yield from unknown_lines(recompilation)


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


def _totals(kernel: Compilations) -> str:
    number = len(kernel.variants)
    parts = [f"compiled {counted(number, 'time')}"]
    if kernel.timed:
        known = "" if kernel.timed == number else f" (the time of {kernel.timed} is known)"
        parts.append(f"{kernel.seconds:.1f} s{known}")
    else:
        parts.append("the time is not known: Triton's cache had them")
    if kernel.failed:
        parts.append(f"{kernel.failed} failed")
    return ", ".join(parts)


def _story(kernel: Compilations) -> Iterator[str]:
    if kernel.varied:
        yield "because these varied:"
        yield from (f"  {_varied(varied)}" for varied in kernel.varied)
    if kernel.repeated:
        ids = ", ".join(f"#{id_}" for id_ in kernel.repeated[:_MAX_VALUES])
        more = ", ..." if len(kernel.repeated) > _MAX_VALUES else ""
        spent = f"{len(kernel.repeated)} gave machine code that was there already"
        yield f"{spent} ({kernel.repeated_seconds:.1f} s): {ids}{more}"
    else:
        yield "each that is known gave machine code of its own"
    yield from _warm_up(kernel.argument_sets)


def _varied(varied: Varied) -> str:
    if varied.input.kind in ("source", "helper"):
        return f"{input_text(varied.input)}: {len(varied.values)} versions"
    values = [f"{value_text(varied.input, value)} x{number}" for value, number in varied.values[:_MAX_VALUES]]
    more = len(varied.values) - _MAX_VALUES
    return f"{input_text(varied.input)}: {', '.join(values)}{f', and {more} more' if more > 0 else ''}"


def _warm_up(sets: Sequence[ArgumentSet]) -> Iterator[str]:
    if len(sets) == 1:
        yield f"a warm-up has one kind of arguments to cover, {_cost(sets[0])}"
        return
    yield f"a warm-up has {len(sets)} kinds of arguments to cover:"
    for one in sets[:_MAX_SETS]:
        arguments = ", ".join(f"{name} {value}" for name, value in one.arguments)
        yield f"  {arguments}: {_cost(one)}"
    if len(sets) > _MAX_SETS:
        yield f"  and {len(sets) - _MAX_SETS} more; --format json has all"


def _cost(one: ArgumentSet) -> str:
    spent = "" if one.seconds is None else f", {one.seconds:.1f} s"
    number = f"{counted(one.compiled, 'compilation')}{spent}"
    if one.chosen:
        return f"{number}; autotune chose {', '.join(f'#{id_}' for id_ in one.chosen)}"
    return number
