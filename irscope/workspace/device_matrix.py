"""Which config to use on which device: fits, spills, occupancy and estimate of each, from one capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from irscope.facts.fact import Facts, value_of
from irscope.facts.registry import BLOCKS_PER_SM, OCCUPANCY, SPILLS
from irscope.model import Config, UserError, Variant
from irscope.model.records import frozen, grouped
from irscope.model.text import one_line
from irscope.workspace.picking import Report, asked_problems, counting_from, device_named
from irscope.workspace.problem_sizes import Problem, by_kernel

if TYPE_CHECKING:
    from irscope.estimating.constants import DeviceRates
    from irscope.estimating.terms import Estimate
    from irscope.workspace.workspace import Workspace


@frozen
class DeviceCell:
    """A config on a device: the variant that was compiled for it, and how it does there.

    `problem` says why it cannot be launched, in one line ("": it can be). `spills` are words per thread,
    `occupancy` is a share of 1, both None if they are not known. `estimate` is that of the launch, without
    its terms.
    """

    variant: Variant
    problem: str
    spills: int | None
    occupancy: float | None
    estimate: Estimate | None


# The variants of a problem on a device, and why none has an estimate ("": one has).
_Cells: TypeAlias = "tuple[list[DeviceCell], str]"


@dataclass(frozen=True)
class DeviceColumn:
    """All configs on one device: `cells` by config, as in `DeviceMatrix.rows`; None: not compiled.

    `trouble` says why there is no estimate; "" if there is one.
    """

    device: str
    rates: DeviceRates
    cells: tuple[DeviceCell | None, ...]
    trouble: str

    @property
    def fitting(self) -> list[int]:
        """Return the rows of the configs that can be launched."""
        return [row for row, cell in enumerate(self.cells) if cell is not None and not cell.problem]

    @cached_property
    def best(self) -> int | None:
        """Return the row with the shortest estimate; None if none has one."""
        cells = ((row, self.cells[row]) for row in self.fitting)
        times = {row: cell.estimate.microseconds for row, cell in cells if cell and cell.estimate}
        return min(times, key=times.__getitem__, default=None)


@dataclass(frozen=True)
class DeviceMatrix:
    """A kernel under each config on each device, for one problem ("" if no launch is known).

    `rows` has a variant of each config, whose settings name it.
    """

    kernel: str
    problem: str
    rows: tuple[Variant, ...]
    columns: tuple[DeviceColumn, ...]


def chosen_devices(names: Sequence[str]) -> dict[str, DeviceRates]:
    """Return the rates of devices by name; "all" are all that irscope knows. Raises UserError."""
    from irscope.estimating.constants import DEVICES

    if list(names) == ["all"]:
        return dict(DEVICES)
    chosen = {}
    for name in names:
        rates, fit = device_named(name)
        if fit:
            raise UserError(f"{name}: the constants of one device; irscope pick --device takes such a file")
        chosen[next((short for short, known in DEVICES.items() if known is rates), rates.name)] = rates
    return chosen


def matrices_of_targets(workspace: Workspace, kernel: str) -> list[DeviceMatrix]:
    """Return the matrices of a kernel for all devices of the targets that it was compiled for.

    Raises UserError if it has more launched variants than a person waits for.
    """
    from irscope.estimating.constants import DEVICES

    variants = workspace.select(kernel)
    launched = sum(bool(variant.launches) for variant in variants)
    if launched > workspace.most_estimated:
        raise UserError(f"{launched:,} variants take too long here; irscope table --devices has them")
    targets = {str(variant.target) for variant in variants}
    devices = {name: rates for name, rates in DEVICES.items() if rates.target in targets}
    return device_matrices(workspace, devices, kernel)


def device_matrices(
    workspace: Workspace,
    devices: Mapping[str, DeviceRates],
    kernel: str | None = None,
    launches: Sequence[str] = (),
    report: Report = lambda done, total: None,
) -> list[DeviceMatrix]:
    """Return a matrix per kernel and problem of a capture that was compiled for all targets.

    `devices` are rates by name. Without `launches`, as `irscope pick --launch` takes them, the recorded ones
    are estimated. Raises UserError if nothing fits a launch, or no kernel is selected.
    """
    selected = [variant for variant in workspace.select(kernel) if variant.edit is None]
    recorded = bool(launches) or any(variant.launches for variant in selected)
    by_target = grouped(selected, lambda variant: str(variant.target))
    asked = [
        (problem, names)
        for target, names in grouped(devices, lambda name: devices[name].target).items()
        if target in by_target
        for problem in _problems(workspace, by_target[target], launches, recorded)
    ]
    total = sum(len(problem.launches) for problem, _ in asked)
    done = 0
    parts: dict[tuple[str, str], dict[str, _Cells]] = {}
    for problem, names in asked:
        rates = [devices[name] for name in names]
        columns = _cells(workspace, problem, rates, counting_from(done, report, total))
        parts.setdefault((problem.kernel, problem.text), {}).update(zip(names, columns, strict=True))
        done += len(problem.launches)
        workspace.estimates.save()
    return [_matrix(devices, *key, columns) for key, columns in parts.items()]


def _problems(
    workspace: Workspace, variants: Sequence[Variant], launches: Sequence[str], recorded: bool
) -> list[Problem]:
    """Return the problems of the variants of a target; if no launch is known, one per kernel."""
    if not recorded:
        return [
            Problem(members[0].kernel.name, str(members[0].target), (), (), {}, tuple(members))
            for members in by_kernel(variants)
        ]
    return asked_problems(workspace, variants, launches)


def _cells(
    workspace: Workspace, problem: Problem, devices: Sequence[DeviceRates], report: Callable[[int], None]
) -> list[_Cells]:
    """Return all variants of a problem on each device of its target, and why none has an estimate."""
    variants = [*problem.variants, *problem.unlaunched]
    launched = [variant for variant in variants if variant.id in problem.launches]
    columns: list[list[Estimate | None]] = [[] for _ in devices]
    trouble = "no launch is known"
    if launched:
        launches = [(variant, problem.launches[variant.id]) for variant in launched]
        columns, trouble = workspace.estimates.columns(launches, devices, report)
    facts = workspace.all_facts(variants)
    cells = [_cell(workspace, variant, facts[variant.id]) for variant in variants]
    result = []
    for column in columns:
        estimates = {variant.id: one for variant, one in zip(launched, column, strict=True)}
        estimated = [replace(cell, estimate=estimates.get(cell.variant.id)) for cell in cells]
        result.append((estimated, "" if any(column) else trouble))
    return result


def _cell(workspace: Workspace, variant: Variant, facts: Facts) -> DeviceCell:
    """Return a cell without its estimate."""
    from irscope.estimating.ranking import why_not_launchable

    # The machine code is read only if no block fits, to say why.
    find = workspace.contents.find if value_of(facts, BLOCKS_PER_SM) == 0 else lambda *_: None
    _, problem = why_not_launchable(variant, partial(partial, find)) or ("", "")
    spills, occupancy = value_of(facts, SPILLS), value_of(facts, OCCUPANCY)
    return DeviceCell(
        variant,
        one_line(problem),
        spills if isinstance(spills, int) else None,
        occupancy if isinstance(occupancy, float | int) else None,
        None,
    )


def _matrix(
    devices: Mapping[str, DeviceRates], kernel: str, problem: str, columns: Mapping[str, _Cells]
) -> DeviceMatrix:
    cells = sorted(
        (cell for column, _ in columns.values() for cell in column), key=lambda cell: cell.variant.id
    )
    rows: dict[tuple[object, Config], Variant] = {}
    for cell in cells:
        rows.setdefault(_key(cell.variant), cell.variant)
    made = []
    for name, rates in devices.items():
        column, trouble = columns.get(name, ([], ""))
        by_config = {_key(cell.variant): cell for cell in reversed(column)}
        made.append(DeviceColumn(name, rates, tuple(map(by_config.get, rows)), trouble))
    return DeviceMatrix(kernel, problem, tuple(rows.values()), tuple(made))


def _key(variant: Variant) -> tuple[object, Config]:
    """Return what tells a row from others: the specialization and the config."""
    return variant.specialization, variant.config
