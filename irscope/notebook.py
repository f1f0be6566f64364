"""irscope from Python: `irscope.capture(...)`, `irscope.compile(...)` and how a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irscope.backends import parse_target
from irscope.model import UserError, Value

if TYPE_CHECKING:
    from irscope.capturing.record.in_process import CapturedBlock
    from irscope.report.table import TableSection

# A notebook shows no more rows of a kernel than this; the capture has all.
MOST_ROWS = 100


class CaptureFile:
    """A capture on disk, shown in a notebook as its table."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"CaptureFile('{self.path}')"

    def _repr_html_(self) -> str:
        return html_of(self.path)


def capture(
    path: str | Path,
    target: str | None = None,
    *,
    sweep: Mapping[str, Mapping[str, Sequence[Value]]] | None = None,
    kernel: str = "*",
    max_variants: int | None = None,
    jobs: int | None = None,
    timeout: float = 300.0,
    force: bool = False,
) -> CapturedBlock:
    """A context that captures every Triton kernel launched inside it, as `irscope run` does.

    `target` of None is the GPU that is there, or cuda:90; `sweep` maps a kernel's name to the values by
    name under which its launches are compiled too; `timeout` is in seconds, a variant. Raises UserError
    where `path` exists (unless `force`) or a name is not known.
    """
    from irscope.capturing.messages import RunOptions
    from irscope.capturing.record.in_process import CapturedBlock

    axes = {(of, name): tuple(v) for of, values in (sweep or {}).items() for name, v in values.items()}
    where = None if target is None else _target(target)
    options = RunOptions(where, axes, kernel, max_variants, jobs, timeout)

    class Block(CapturedBlock):
        """A captured block that a notebook shows as its table."""

        def _repr_html_(self) -> str:
            return html_of(self.path)

    return Block(Path(path), options, force)


def compile(  # noqa: A001 - it is irscope.compile
    kernel: Any,
    path: str | Path,
    signature: str | None = None,
    *,
    config: Mapping[str, Value | Sequence[Value]] | None = None,
    const: Mapping[str, Value] | None = None,
    target: str | Sequence[str] = "cuda:90",
    jobs: int | None = None,
    timeout: float = 300.0,
    force: bool = False,
) -> CaptureFile:
    """Compiles a kernel under each of its configs into a capture, as `irscope compile` does.

    `kernel` is a `@triton.jit` function, defined anywhere, a notebook's cell included. Raises UserError
    where the request does not fit it or `path` exists (unless `force`).
    """
    from irscope.capturing.record.in_process import compile_kernel

    names = [target] if isinstance(target, str) else target
    targets = tuple(map(_target, names))
    compile_kernel(
        kernel, Path(path), signature, config or {}, const or {}, targets, jobs, timeout, force
    )  # fmt: skip
    return CaptureFile(Path(path))


def html_of(path: Path) -> str:
    """The variants of a capture and what is known of each, as HTML; one line where it is no capture."""
    from irscope.cli.facts import facts_of
    from irscope.cli.stages import Stages
    from irscope.facts.registry import FACT_KINDS
    from irscope.report.table import entries, sections
    from irscope.store.names import variant_names

    try:
        with Stages(path) as stages:
            variants = stages.capture.variants()
            found = entries(variants, variant_names(variants), facts_of(stages, variants))
    except UserError as error:
        return f"<p>{escape(str(error))}</p>"
    tables = "".join(_html_table(section) for section in sections(found, None, FACT_KINDS))
    return f"<p><code>irscope {escape(str(path))}</code></p>{tables or '<p>no variants</p>'}"


def _html_table(section: TableSection) -> str:
    from irscope.report.table import default_kinds

    kinds = default_kinds(section)
    titles = ("#", "variant", *(kind.title for kind in kinds), "note")
    heading = "".join(f"<th>{escape(title)}</th>" for title in titles)
    rows = []
    for entry in section.entries[:MOST_ROWS]:
        facts = (str(entry.facts[kind.name]) if kind.name in entry.facts else "?" for kind in kinds)
        cells = (f"#{entry.variant.id}", entry.name, *facts, entry.problem)
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    more = len(section.entries) - len(rows)
    rest = f"<p>and {more} more</p>" if more else ""
    return f"<p><b>{escape(section.title)}</b></p><table><tr>{heading}</tr>{''.join(rows)}</table>{rest}"


def _target(text: str) -> Any:
    try:
        return parse_target(text)
    except ValueError as error:
        raise UserError(str(error)) from error
