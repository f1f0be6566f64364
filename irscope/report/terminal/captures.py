"""`irscope diff OLD NEW` as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irscope.analysis.capture_diff import CaptureDiff, FactChange, Pair
from irscope.facts.fact import format_fraction
from irscope.facts.registry import FACT_KINDS
from irscope.model import Variant
from irscope.model.text import markdown_escaped, one_line, pluralize
from irscope.report.json.records import json_value, variant_record
from irscope.report.terminal.paint import PLAIN, Paint

SCHEMA = "irscope.diff-captures/1"

_TITLES = {kind.name: (kind.title, kind.unit) for kind in FACT_KINDS} | {"failure": ("Compilation", "")}


@dataclass(frozen=True)
class Sides:
    """The two captures: paths, their variants, and short names by variant id."""

    paths: tuple[str, str]
    variants: tuple[Sequence[Variant], Sequence[Variant]]
    names: tuple[Mapping[int, str], Mapping[int, str]]


def captures_text(diff: CaptureDiff, sides: Sides, most: int, paint: Paint = PLAIN) -> Iterator[str]:
    """The lines of the report; at most `most` variants are told one by one."""
    for index, side in enumerate(("OLD", "NEW")):
        yield paint(side, "heading") + one_line(f"  {_side(sides, index)}")
    yield ""
    yield paint("Matched", "heading") + f"  {_matched(diff)}"
    yield from (one_line(f"  {line}") for line in _counts(diff))
    yield from (one_line(line) for line in _gone(diff))
    for title, pairs, better in (("Worse", _worse(diff), False), ("Only better", _better(diff), True)):
        if pairs:
            yield ""
            yield paint(title, "heading")
            shown = pairs[:most]
            yield from (one_line(f"  {_pair(pair, sides, better)}") for pair in shown)
            if len(pairs) > most:
                yield f"  {len(pairs) - most} more are left out; --format json has all"


def captures_markdown(diff: CaptureDiff, sides: Sides, most: int) -> Iterator[str]:
    """The same for a pull request."""
    for index, side in enumerate(("OLD", "NEW")):
        yield f"- {side}: {markdown_escaped(_side(sides, index))}"
    yield from ("", f"Matched: {_matched(diff)}", "")
    yield from (f"- {markdown_escaped(line)}" for line in (*_counts(diff), *_gone(diff)))
    for title, pairs, better in (("Worse", _worse(diff), False), ("Only better", _better(diff), True)):
        if pairs:
            yield from ("", f"### {title}", "")
            yield from (f"- {markdown_escaped(_pair(pair, sides, better))}" for pair in pairs[:most])
            if len(pairs) > most:
                yield f"- {len(pairs) - most} more"


def captures_document(diff: CaptureDiff, sides: Sides) -> dict[str, Any]:
    """The JSON document; docs/json-schemas.md describes it."""
    old, new = sides.names
    return {
        "schema": SCHEMA,
        "old": sides.paths[0],
        "new": sides.paths[1],
        "matched_by_target": diff.by_target,
        "renamed": dict(diff.renamed),
        "seconds": {"old": diff.seconds[0], "new": diff.seconds[1], "variants": diff.timed},
        "pairs": [
            {
                "old": variant_record(pair.a, old[pair.a.id]),
                "new": variant_record(pair.b, new[pair.b.id]),
                "same_machine_code": pair.identical,
                "worse": [_change_record(change) for change in pair.worse],
                "better": [_change_record(change) for change in pair.better],
            }
            for pair in diff.pairs
        ],
        "only_old": [variant_record(variant, old[variant.id]) for variant in diff.only_a],
        "only_new": [variant_record(variant, new[variant.id]) for variant in diff.only_b],
    }


def _change_record(change: FactChange) -> dict[str, Any]:
    return {"fact": change.name, "old": json_value(change.a), "new": json_value(change.b)}


def _side(sides: Sides, index: int) -> str:
    variants = sides.variants[index]
    targets = ", ".join(dict.fromkeys(str(variant.target) for variant in variants))
    versions = dict.fromkeys(variant.toolchain.versions.get("triton", "unknown") for variant in variants)
    number = pluralize(len(variants), "variant")
    return f"{sides.paths[index]}  {number}  {targets}  triton {', '.join(versions)}"


def _matched(diff: CaptureDiff) -> str:
    target = ", config and target" if diff.by_target else " and config (they have no target in common)"
    return f"{pluralize(len(diff.pairs), 'variant')}, by kernel, specialization{target}"


def _counts(diff: CaptureDiff) -> Iterator[str]:
    identical = sum(pair.identical for pair in diff.pairs)
    worse, better = _worse(diff), _better(diff)
    still = sum(not pair.identical and not pair.changes for pair in diff.pairs)
    yield f"{identical:,} with identical machine code"
    yield f"{still:,} with other machine code, and no fact better or worse"
    yield f"{len(worse):,} worse{_by_fact(change for pair in worse for change in pair.worse)}"
    yield f"{len(better):,} only better{_by_fact(change for pair in better for change in pair.better)}"
    if diff.timed:
        yield f"compile time of {diff.timed:,} of them: {diff.seconds[0]:.1f} s -> {diff.seconds[1]:.1f} s"


def _by_fact(changes: Iterator[FactChange]) -> str:
    counts = Counter(_TITLES[change.name][0] for change in changes)
    text = ", ".join(f"{title} {number:,}" for title, number in counts.most_common())
    return f": {text}" if text else ""


def _gone(diff: CaptureDiff) -> Iterator[str]:
    """What has no counterpart, by kernel."""
    for old, new in diff.renamed.items():
        yield f"Renamed  {old} -> {new}"
    matched = {pair.a.kernel.name for pair in diff.pairs}, {pair.b.kernel.name for pair in diff.pairs}
    for title, variants, known in (
        ("Only in OLD", diff.only_a, matched[0]),
        ("Only in NEW", diff.only_b, matched[1]),
    ):
        kernels = Counter(variant.kernel.name for variant in variants)
        for name, number in kernels.items():
            whole = "" if name in known else ", the whole kernel"
            yield f"{title}  {name}: {pluralize(number, 'variant')}{whole}"


def _worse(diff: CaptureDiff) -> list[Pair]:
    return [pair for pair in diff.pairs if pair.worse]


def _better(diff: CaptureDiff) -> list[Pair]:
    """Those that got better in something and worse in nothing, the most important first."""
    pairs = [pair for pair in diff.pairs if pair.better and not pair.worse]
    return sorted(pairs, key=lambda pair: -sum(change.weight for change in pair.better))


def _pair(pair: Pair, sides: Sides, better: bool) -> str:
    ids = f"#{pair.a.id} -> #{pair.b.id}" if pair.a.id != pair.b.id else f"#{pair.a.id}"
    changes = [_change(change, pair) for change in (pair.better if better else pair.worse)]
    if not better and pair.better:
        changes.append(f"but {', '.join(_change(change, pair) for change in pair.better)}")
    return f"{pair.b.kernel.name} {ids} {sides.names[1][pair.b.id]}: {', '.join(changes)}"


def _change(change: FactChange, pair: Pair) -> str:
    title, unit = _TITLES[change.name]
    if change.name == "failure":
        return f"does not compile: {change.b}" if change.worse else "compiles now"
    if change.name == "launchable":
        return f"launch {change.a} -> {change.b}"
    if change.name == "occupancy":
        return f"{title} {format_fraction(change.a)} -> {format_fraction(change.b)}"
    told = f"{title} {_number(change.a)} -> {_number(change.b)}"
    if change.name == "registers":
        return f"{told} (stack {_number(pair.stacks[0])} and {_number(pair.stacks[1])} bytes)"
    return f"{told} {unit}" if unit in ("bytes", "seconds") else told


def _number(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else "?"
