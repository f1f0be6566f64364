"""`irscope list` for a person.

Standard library only: the command has to be as fast as --help.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irscope.document.json.records import variants_by_source
from irscope.model import Kernel, Variant
from irscope.model.files import relative_file
from irscope.model.text import clipped, one_line, pluralize

# Distinct failures that a summary shows.
_MOST_FAILURES = 5


def list_text(variants: Sequence[Variant], names: Mapping[int, str], width: int | None) -> Iterator[str]:
    """Yield a block per kernel with an aligned line per variant.

    Lines are cut at `width` columns (None: whole). `names` maps ids to short names. Lines are
    yielded because a capture may have 100,000 variants.
    """
    if not variants:
        yield "no variants\n"
    for number, (kernel, group) in enumerate(variants_by_source(variants).items()):
        widths = [max(map(len, column)) for column in zip(*(_cells(v, names) for v in group), strict=True)]
        if number:
            yield "\n"
        yield _cut(one_line(_heading(kernel, group)), width)
        for origin in dict.fromkeys(variant.origin for variant in group):
            if origin:
                yield _cut(f"  {one_line(origin.sentence)}", width)
        for variant in group:
            *cells, status = _cells(variant, names)
            yield _cut("  ".join(["", *map(str.ljust, cells, widths), status]), width)


def _cells(variant: Variant, names: Mapping[int, str]) -> tuple[str, ...]:
    return f"#{variant.id}", one_line(names[variant.id]), str(variant.target), _status(variant)


def _cut(line: str, width: int | None) -> str:
    return f"{line if width is None else clipped(line, width)}\n"


def failures_text(variants: Sequence[Variant], names: Mapping[int, str], width: int | None) -> str:
    """Return a line per distinct failure, with the first variant that has it; "" if none failed.

    "failed: #1 B=100 and 2 more: CompilationError: arange's range must be a power of 2"
    """
    groups: dict[tuple[str, str], list[Variant]] = {}
    for variant in variants:
        if variant.failure is not None:
            groups.setdefault((variant.failure.kind, variant.failure.summary), []).append(variant)
    lines = [
        one_line(f"failed: {_group_name(group, names)}: {kind}: {summary}")
        for (kind, summary), group in list(groups.items())[:_MOST_FAILURES]
    ]
    if len(groups) > _MOST_FAILURES:
        lines.append(f"{pluralize(len(groups) - _MOST_FAILURES, 'more kind')} of failure; see irscope list")
    return "".join(_cut(line, width) for line in lines)


def _group_name(group: Sequence[Variant], names: Mapping[int, str]) -> str:
    first = f"#{group[0].id} {names[group[0].id]}"
    return f"{first} and {len(group) - 1:,} more" if len(group) > 1 else first


def _heading(kernel: Kernel, group: Sequence[Variant]) -> str:
    failed = sum(variant.failure is not None for variant in group)
    location = f"{relative_file(kernel.source.file)}:{kernel.source.line}"
    count = pluralize(len(group), "variant")
    return f"{kernel.name}  {count}{f', {failed} failed' if failed else ''}  {location}"


def _status(variant: Variant) -> str:
    if variant.failure is None:
        return "ok"
    return one_line(f"failed: {variant.failure.kind}: {variant.failure.summary}")
