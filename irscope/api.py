"""irscope from Python: open a capture, capture what a block launches, compile a kernel under its configs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from irscope.compiling.compile_targets import requested_target
from irscope.model import Config, Kernel, Target, UserError, Variant
from irscope.model.text import html_paragraph, html_table, html_text, pluralize
from irscope.workspace import (
    Choice,
    Comparison,
    Divergences,
    Estimate,
    Evidence,
    Fact,
    FactKind,
    Finding,
    Pick,
    StageDiff,
    TableSection,
    Verdict,
    Workspace,
)

if TYPE_CHECKING:
    from irscope.recording.in_process import CapturedBlock

__all__ = [
    "Capture",
    "CaptureBlock",
    "Choice",
    "Comparison",
    "Config",
    "Divergences",
    "Estimate",
    "Evidence",
    "Fact",
    "FactKind",
    "Finding",
    "Kernel",
    "Pick",
    "StageDiff",
    "Target",
    "UserError",
    "Variant",
    "Verdict",
    "capture",
    "compile",
    "fits",
    "open",
    "prune",
]


_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _public(
    method: Callable[Concatenate[Workspace, _Parameters], _Result],
) -> Callable[Concatenate[Capture, _Parameters], _Result]:
    """Make a method of `Workspace` one of `Capture`, with its signature and documentation."""

    @wraps(method)
    def ask(self: Capture, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return method(self._workspace, *args, **kwargs)

    return ask


class Capture:
    """An open capture. A context manager; a notebook shows it as its table.

    It has the questions of a `Workspace` that are public; `irscope.workspace` is for irscope's own views.
    """

    def __init__(self, path: str | Path, writable: bool = False) -> None:
        self._workspace = Workspace(path, writable=writable)

    def __repr__(self) -> str:
        return f"<irscope.Capture '{self.path}': {pluralize(len(self.variants), 'variant')}>"

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    __contains__ = _public(Workspace.__contains__)
    close = _public(Workspace.close)

    @property
    def path(self) -> Path:
        """Return the file of the capture."""
        return self._workspace.path

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return every variant in the order of the capture."""
        return self._workspace.variants

    @property
    def names(self) -> Mapping[int, str]:
        """Return each variant's short name by id: the values that set it apart from its kernel's others."""
        return self._workspace.names

    variant = _public(Workspace.variant)
    select = _public(Workspace.select)
    compilations = _public(Workspace.compilations)

    stages = _public(Workspace.stages)
    text = _public(Workspace.text)
    content = _public(Workspace.content)
    lines = _public(Workspace.lines)
    document = _public(Workspace.document)
    source_map = _public(Workspace.source_map)
    operation_lines = _public(Workspace.operation_lines)
    derive_stages = _public(Workspace.derive_stages)
    passes = _public(Workspace.passes)

    facts = _public(Workspace.facts)
    all_facts = _public(Workspace.all_facts)
    store_facts = _public(Workspace.store_facts)
    table = _public(Workspace.table)
    sections = _public(Workspace.sections)
    loops = _public(Workspace.loops)
    layouts = _public(Workspace.layouts)
    registers = _public(Workspace.registers)

    compare = _public(Workspace.compare)
    diff = _public(Workspace.diff)
    estimate = _public(Workspace.estimate)
    pick = _public(Workspace.pick)
    bits = _public(Workspace.bits)
    verdict = _public(Workspace.verdict)

    def reproduce(
        self,
        variant: Variant,
        folder: str | Path,
        *,
        check: bool = True,
        minimize: str = "",
        seconds: float = 300.0,
        force: bool = False,
    ) -> Path:
        """Write a stand-alone reproducer of a variant into `folder`, as `irscope reproduce` does.

        It is run once in a clean process, which executes the kernel's Python text; `check` (False) omits
        that. `minimize` is an expectation ("n_spills > 0") under which the kernel is made smaller; `seconds`
        limits that. Raises UserError if the capture has too little of the variant, the folder has files
        (unless `force`), or the machine code is another one.
        """
        from irscope.jobs.reproduce.writing import Minimization, reproduce

        smaller = Minimization(minimize, seconds=seconds) if minimize else None
        name = self.names[variant.id]
        path = Path(folder)
        made = reproduce(self.path, variant, path, name=name, check=check, force=force, minimized=smaller)
        if check and not made.equal:
            raise UserError(f"{path}: {made.outcome}")
        return path

    def _repr_html_(self) -> str:
        tables = "".join(_html_table(section.showing()) for section in self.sections())
        return f"<p><code>irscope {escape(str(self.path))}</code></p>{tables or '<p>no variants</p>'}"


class CaptureBlock:
    """The context of `with irscope.capture(...)`. After the block, a notebook shows it as its table."""

    def __init__(self, block: CapturedBlock) -> None:
        self._block = block

    @property
    def path(self) -> Path:
        """The file that the block is captured into."""
        return self._block.path

    def open(self) -> Capture:
        """Open the capture. Raises UserError if the file cannot be read."""
        return Capture(self.path, writable=True)

    def __enter__(self) -> CaptureBlock:
        self._block.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._block.__exit__(kind, error, trace)

    def _repr_html_(self) -> str:
        try:
            with self.open() as opened:
                return opened._repr_html_()
        except UserError as error:
            return f"<p>{escape(str(error))}</p>"


def open(path: str | Path) -> Capture:  # noqa: A001 - it is irscope.open
    """Open a capture for reading: `with irscope.open("matmul.irscope") as capture: ...`.

    Raises UserError if `path` cannot be read or is not a capture.
    """
    return Capture(path)


def capture(
    path: str | Path,
    target: str | None = None,
    *,
    sweep: Mapping[str, Mapping[str, Sequence[object]]] | None = None,
    kernel: str = "*",
    max_variants: int | None = None,
    jobs: int | None = None,
    timeout: float = 300.0,
    force: bool = False,
) -> CaptureBlock:
    """Return a context that captures every Triton kernel launched inside it, as `irscope run` does.

    `target`: such as "cuda:90"; None: the GPU that is present, or cuda:90. `sweep` maps a kernel's name to
    the values, by name, under which its launches are also compiled. `kernel`: a glob of the names to capture.
    `max_variants`: per kernel. `jobs`: compile processes (None: one per core). `timeout`: seconds per
    variant. Raises UserError if `path` exists (unless `force`) or a name is unknown.
    """
    from irscope.compiling.messages import RunOptions
    from irscope.recording.in_process import CapturedBlock

    axes: dict[tuple[str, str], Any] = {
        (of, name): tuple(v) for of, values in (sweep or {}).items() for name, v in values.items()
    }
    where = None if target is None else requested_target(target)
    options = RunOptions(where, axes, kernel, max_variants, jobs, timeout)
    return CaptureBlock(CapturedBlock(Path(path), options, force))


def compile(  # noqa: A001 - it is irscope.compile
    kernel: object,
    path: str | Path,
    signature: str | None = None,
    *,
    config: Mapping[str, object] | None = None,
    const: Mapping[str, object] | None = None,
    target: str | Sequence[str] = "cuda:90",
    jobs: int | None = None,
    timeout: float = 300.0,
    force: bool = False,
    cluster: object = None,
) -> Capture:
    """Compiles a kernel under each of its configs into a capture at `path` and opens it.

    `kernel` is a `@triton.jit` function, defined anywhere, a notebook's cell included. `signature` is
    Triton's ahead-of-time notation ("*fp32:16, i32"); `config` maps names to a value or a list of values,
    whose product is compiled; `const` fixes constexpr parameters. Values are what a launch takes: numbers,
    strings, element types, layouts, functions, in a list also tuples. `target` is one or several targets;
    `jobs` are compile processes (None: one per core); `timeout` is in seconds per variant. `cluster` is the
    address of a Dask scheduler, or a `dask.distributed.Client`: its workers compile instead, and import the
    file that the kernel is in.

    Raises UserError if an argument does not fit the kernel, `path` exists (unless `force`), the cluster
    cannot be used, or no variant compiled. A variant that failed is in the capture, with its failure.
    """
    from irscope.recording.in_process import compile_kernel, compile_on_cluster, kernel_request

    names = [target] if isinstance(target, str) else target
    targets = tuple(map(requested_target, names))
    found_kernel, request = kernel_request(kernel, signature, config or {}, const or {}, targets)
    if cluster is None:
        result = compile_kernel(found_kernel, request, Path(path), jobs, timeout, force)
    else:
        result = compile_on_cluster(found_kernel, request, Path(path), timeout, force, cluster)
    for note in result.notes:
        warnings.warn(f"irscope: {note}", stacklevel=2)
    if result.first_failure is not None and not result.compiled:
        first = result.first_failure
        raise UserError(
            f"no variant compiled, {result.failed} failed; the first: {first.kind}: {first.summary}; "
            f"irscope.open({str(path)!r}) has each failure"
        )
    return Capture(path, writable=True)


class PruneFunction(Protocol):
    """A function for `early_config_prune` of `@triton.autotune`; those of `fits` and `prune` never raise."""

    def __call__(self, configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        """Return the configs to measure; at least one."""


@overload
def fits(*, jobs: int | None = None, timeout: float = 60.0) -> PruneFunction: ...


@overload
def fits(
    kernel: object,
    configs: Sequence[Any],
    *arguments: Any,
    signature: str | None = None,
    target: str | None = None,
    jobs: int | None = None,
    timeout: float = 60.0,
    **named: Any,
) -> list[Any]: ...


def fits(
    kernel: object = None,
    configs: Sequence[Any] = (),
    *arguments: Any,
    signature: str | None = None,
    target: str | None = None,
    jobs: int | None = None,
    timeout: float = 60.0,
    **named: Any,
) -> PruneFunction | list[Any]:
    """Drop the configs of an autotuner that cannot be launched, without compiling them to the end.

    `@triton.autotune(configs, key, prune_configs_by={"early_config_prune": irscope.fits()})` measures only
    configs that can be launched: each is compiled, in parallel, until its shared and tensor memory are
    allocated, before LLVM and ptxas. The result is exact, and kept in Triton's cache.

    With a kernel and its configs, returns the configs that can be launched. `kernel` is a `@triton.jit`
    function, `configs` are `triton.Config`s. `arguments` and `named` are the arguments of a launch, without
    the grid; `signature` has their types instead ("*fp16:16, i32"). `target` is a device ("cuda:90"), needed
    if there is no GPU. `jobs` are processes (None: one per core), `timeout` is in seconds per config. Raises
    UserError if the arguments do not fit the kernel.
    """
    if kernel is None:
        from irscope.jobs.prune.prune import fits_function

        return fits_function(jobs, timeout)
    from irscope.jobs.prune.prune import fitting_configs

    where = None if target is None else requested_target(target)
    return fitting_configs(kernel, configs, arguments, named, signature, where, jobs, timeout)


def prune(
    top: float | int | str = 0.1,
    *,
    same_bits_as: object = None,
    jobs: int | None = None,
    timeout: float = 60.0,
) -> PruneFunction:
    """Keep the configs of an autotuner that are worth measuring, at most `top`.

    `@triton.autotune(configs, key, prune_configs_by={"early_config_prune": irscope.prune(top=0.1)})` compiles
    the configs in parallel into Triton's cache, drops those that cannot be launched and duplicates (the
    same machine code), and ranks the others by estimated time for this launch. Results are kept in
    Triton's cache. It never raises: if something fails, it keeps the configs and says so on stderr.

    `top` is a part of the configs (0.1) or a number of them (8); "auto" keeps few where the estimates are
    sure, more where they are not. `same_bits_as` is a config: a `triton.Config`, a dict of values that only
    one has, or "first". Configs that may compute other bits from the same inputs are dropped, and if
    something fails, only that config stays. `jobs` are processes (None: one per core), `timeout` is in
    seconds per config. Raises UserError if `top` is not positive; the autotuner does if not one config has
    the values of the dict.
    """
    from irscope.jobs.prune.prune import prune_function

    return prune_function(top, same_bits_as, jobs, timeout)


def _html_table(section: TableSection) -> str:
    columns = section.fact_columns
    titles = ("#", "variant", *(column.kind.title for column in columns), "note")
    facts = [[html_text(cell.text, bold=cell.best) for cell in section.cells(column)] for column in columns]
    rows = []
    for variant, *cells in zip(section.variants, *facts, strict=True):
        note = html_text(section.facts.problem(variant) or section.note(variant))
        rows.append((f"#{variant.id}", html_text(section.names[variant.id]), *cells, note))
    return html_paragraph(section.title, bold=True) + html_table(titles, rows)
