"""Which config to use on which device: fits, spills, occupancy and estimate of each, from one capture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from irscope.facts.fact import value_named
from irscope.model import Config, UserError, Variant
from irscope.model.text import one_line
from irscope.workspace.picking import Choice, device_named, picks
from irscope.workspace.problem_sizes import by_kernel

if TYPE_CHECKING:
    from irscope.estimating.constants import DeviceRates
    from irscope.estimating.terms import Estimate
    from irscope.workspace.workspace import Workspace

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class DeviceCell:
    """A config on a device: the variant that was compiled for it, and how it does there.

    `problem` says why it cannot be launched, in one line ("": it can be). `spills` are words per thread,
    `occupancy` is a share of 1, both None if they are not known. `estimate` is that of the launch.
    """

    variant: Variant
    problem: str
    spills: int | None
    occupancy: float | None
    estimate: Estimate | None


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
        return min(
            (row for row in self.fitting if math.isfinite(self._time(row))), key=self._time, default=None
        )

    def _time(self, row: int) -> float:
        cell = self.cells[row]
        return cell.estimate.microseconds if cell is not None and cell.estimate is not None else math.inf


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
        rates, _ = device_named(name)
        chosen[next((short for short, known in DEVICES.items() if known is rates), name)] = rates
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
    parts: dict[tuple[str, str], dict[str, tuple[list[Choice], str]]] = {}
    recorded = bool(launches) or any(variant.launches for variant in workspace.select(kernel))
    for number, (name, rates) in enumerate(devices.items()):
        report(number, len(devices))
        if not any(str(variant.target) == rates.target for variant in workspace.variants):
            continue
        groups = _estimated if recorded else _compiled
        for key, choices, trouble in groups(workspace, kernel, name, rates, launches):
            parts.setdefault(key, {})[name] = choices, trouble
    workspace.estimates.save()
    return [
        _matrix(workspace, devices, *key, {name: columns.get(name, ([], "")) for name in devices})
        for key, columns in parts.items()
    ]


def _estimated(
    workspace: Workspace, kernel: str | None, device: str, rates: DeviceRates, launches: Sequence[str]
) -> Iterator[tuple[tuple[str, str], list[Choice], str]]:
    """Yield kernel and problem, its configs, and why none has an estimate."""
    for pick in picks(workspace, kernel, rates.target, launches, device=device):
        yield (pick.problem.kernel, pick.problem.text), list(pick.choices), pick.trouble


def _compiled(
    workspace: Workspace, kernel: str | None, device: str, rates: DeviceRates, launches: Sequence[str]
) -> Iterator[tuple[tuple[str, str], list[Choice], str]]:
    """Yield the same without a launch: what can be launched, and no estimates."""
    from irscope.estimating.ranking import why_not_launchable

    read = partial(partial, workspace.contents.find)
    for members in by_kernel(workspace.select(kernel, rates.target)):
        choices = []
        for variant in members:
            reason, text = why_not_launchable(variant, read) or ("", None)
            choices.append(Choice(variant, workspace.names[variant.id], None, None, text, reason))
        yield (members[0].kernel.name, ""), choices, "no launch is known"


def _matrix(
    workspace: Workspace,
    devices: Mapping[str, DeviceRates],
    kernel: str,
    problem: str,
    columns: Mapping[str, tuple[list[Choice], str]],
) -> DeviceMatrix:
    rows = _rows(choice for choices, _ in columns.values() for choice in choices)
    return DeviceMatrix(
        kernel,
        problem,
        tuple(rows.values()),
        tuple(
            DeviceColumn(name, devices[name], _cells(workspace, rows, choices), trouble)
            for name, (choices, trouble) in columns.items()
        ),
    )


def _rows(choices: Iterable[Choice]) -> dict[tuple[object, Config], Variant]:
    """Return the first variant of each config and specialization, in the order of the capture."""
    variants = sorted((choice.variant for choice in choices), key=lambda variant: variant.id)
    rows: dict[tuple[object, Config], Variant] = {}
    for variant in variants:
        rows.setdefault(_key(variant), variant)
    return rows


def _key(variant: Variant) -> tuple[object, Config]:
    return variant.specialization, variant.config


def _cells(
    workspace: Workspace, rows: Iterable[tuple[object, Config]], choices: Sequence[Choice]
) -> tuple[DeviceCell | None, ...]:
    by_config = {_key(choice.variant): choice for choice in choices}
    return tuple(_cell(workspace, by_config[key]) if key in by_config else None for key in rows)


def _cell(workspace: Workspace, choice: Choice) -> DeviceCell:
    from irscope.estimating.ranking import CANNOT_LAUNCH, NOT_COMPILED

    facts = workspace.facts(choice.variant)
    problem = choice.rejected if choice.reason in (NOT_COMPILED, CANNOT_LAUNCH) else None
    spills, occupancy = (value_named(facts, name) for name in ("n_spills", "occupancy"))
    return DeviceCell(
        choice.variant,
        one_line(problem or ""),
        spills if isinstance(spills, int) else None,
        occupancy if isinstance(occupancy, float | int) else None,
        choice.estimate,
    )
