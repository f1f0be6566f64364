"""`irscope list`: the kernels of a capture and their variants, by the names that other commands take.

Standard library only: the command has to be as quick as --help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irscope.model import Kernel, Variant
from irscope.model.text import clipped, one_line
from irscope.report.json.records import kernel_record, variant_record

SCHEMA = "irscope.list/1"


def list_text(variants: Sequence[Variant], names: Mapping[int, str], width: int | None) -> str:
    """One block a kernel, one aligned line a variant.

    `names` maps ids to short names. What failed says why, cut at `width` columns (None: whole).
    """
    blocks = []
    for kernel, group in by_kernel(variants).items():
        rows = [
            (
                f"#{variant.id}",
                one_line(names[variant.id]),
                str(variant.target),
                _status(variant),
            )
            for variant in group
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, [*widths, 0], strict=True)) for row in rows]
        lines = [one_line(_heading(kernel, group)), *(f"  {line}" for line in lines)]
        blocks.append("".join(f"{_cut(line, width)}\n" for line in lines))
    return "\n".join(blocks) or "no variants\n"


def list_document(variants: Sequence[Variant], names: Mapping[int, str], capture: str) -> dict[str, Any]:
    """The JSON document of `irscope list`; `capture` is the file's path as it was given."""
    kernels = []
    for kernel, group in by_kernel(variants).items():
        records = [
            {
                **variant_record(variant, names[variant.id]),
                "stages": {stage: artifact.size for stage, artifact in variant.artifacts.items()},
                "seconds": dict(variant.seconds),
                "cached": variant.cached,
            }
            for variant in group
        ]
        kernels.append({**kernel_record(kernel), "variants": records})
    return {"schema": SCHEMA, "capture": capture, "kernels": kernels}


def by_kernel(variants: Sequence[Variant]) -> dict[Kernel, list[Variant]]:
    """The variants of each kernel, both in the order of the capture."""
    groups: dict[Kernel, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(variant.kernel, []).append(variant)
    return groups


def _heading(kernel: Kernel, group: Sequence[Variant]) -> str:
    failed = sum(variant.failure is not None for variant in group)
    count = f"{len(group)} variant" + ("s" if len(group) != 1 else "")
    place = f"{kernel.source.file}:{kernel.source.line}"
    return f"{kernel.name}  {count}{f', {failed} failed' if failed else ''}  {place}"


def _status(variant: Variant) -> str:
    if variant.failure is None:
        return "ok"
    return one_line(f"failed: {variant.failure.kind}: {variant.failure.summary}")


def _cut(line: str, width: int | None) -> str:
    return line if width is None else clipped(line, width)
