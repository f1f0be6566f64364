"""`irscope pick`: the configs of each problem, the most promising first, and why not the others.

Fitting the constants of the model behind estimates to the times that a user's captures have.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import StatisticsError, correlation
from typing import TYPE_CHECKING

from irscope.model import Benchmark, Launch, UserError, Variant
from irscope.model.files import exists_already
from irscope.model.records import frozen
from irscope.model.text import html_paragraph, html_table, html_text, microseconds_text, one_line, pluralize
from irscope.workspace.launch_expression import LaunchExpression, fitting_launches
from irscope.workspace.problem_sizes import Problem, by_kernel, problems, requested_problem

if TYPE_CHECKING:
    from irscope.estimating.calibrate import MeasuredLaunch, Measurements
    from irscope.estimating.constants import DeviceRates, Fit
    from irscope.estimating.ranking import Ranked
    from irscope.estimating.terms import Estimate
    from irscope.workspace.same_bits import SameBits
    from irscope.workspace.workspace import Workspace


@frozen
class CalibratedConstant:
    """A constant of the model before and after a calibration."""

    name: str
    unit: str
    meaning: str
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """The constants of a device, fitted to measured launches, and the file that has them.

    `error_before` and `error_after` are the typical deviation of estimates from measurements: 0.1 is 10 %.
    """

    device: str
    launches: int
    problems: int
    constants: tuple[CalibratedConstant, ...]
    error_before: float
    error_after: float
    path: Path


def calibrate_captures(
    paths: Sequence[Path], output: Path | None, device: str | None, force: bool
) -> Calibration:
    """Fit the constants of a device to the times in captures, and write them.

    `device` is the name of a device (None: that of the captures' target). Without `output`, the
    file is the user's own, which estimates use from then on. Raises UserError if the captures
    have too few times, if they are of several targets, or if `output` exists (unless `force`).
    """
    from irscope.estimating.calibrate import Measurements, calibrate
    from irscope.estimating.constants import CONSTANTS, fit_of, user_path, write_fit

    if output is not None and output.exists() and not force:
        raise exists_already(output)
    measurements, rates = _measurements(paths, device)
    if not measurements:
        raise UserError(
            f"{', '.join(map(str, paths))}: no measured launches; irscope run on a GPU records what an "
            "autotuner measures"
        )
    measured = Measurements(measurements)
    before = fit_of(rates)
    kernels = ", ".join(sorted({_kernel(item) for item in measurements}))
    provenance = {
        "fitted": f"{pluralize(len(measurements), 'launch')} of {kernels}",
        "captures": ", ".join(path.name for path in paths),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    }
    after = calibrate(measured, rates, before, provenance)
    path = output or user_path(rates.name)
    write_fit(after, path)
    constants = tuple(
        CalibratedConstant(
            item.name, item.unit, item.meaning, before.values[item.name], after.values[item.name]
        )
        for item in CONSTANTS
    )
    first, last = (_error(measured, rates, fit.values) for fit in (before, after))
    return Calibration(rates.name, len(measurements), measured.problems, constants, first, last, path)


def device_named(text: str) -> tuple[DeviceRates, Fit | None]:
    """Find a device by its name, or by a file of its rates or its constants. Raises UserError."""
    from irscope.estimating.constants import DEVICES, read_device, read_fit

    path = Path(text)
    if path.suffix == ".toml":
        return read_device(path), None
    fit = read_fit(path) if path.suffix == ".json" or path.is_file() else None
    wanted = fit.device if fit else text
    for name, rates in DEVICES.items():
        if wanted.replace("_", " ").lower() in (one.lower() for one in (name, rates.name, rates.driver_name)):
            return rates, fit
    raise UserError(f"no device '{wanted}'; known: {', '.join(DEVICES)}, or FILE.toml with its rates")


def _measurements(paths: Sequence[Path], device: str | None) -> tuple[list[MeasuredLaunch], DeviceRates]:
    from irscope.estimating.calibrate import measurements_of
    from irscope.estimating.constants import rates_of
    from irscope.workspace.workspace import Workspace

    measurements: list[MeasuredLaunch] = []
    rates = device_named(device)[0] if device else None
    for path in paths:
        with Workspace(path) as workspace:
            timed = [variant for variant in workspace.variants if variant.benchmarks]
            for variant in timed:
                variant_rates = rates_of(variant.target)
                rates = rates or variant_rates
                if variant_rates is None or rates is None or (device is None and variant_rates != rates):
                    raise UserError(
                        f"{path}: #{variant.id} was measured on {variant.target}; calibrate one device at a "
                        "time, --device says which"
                    )
            read = partial(partial, workspace.contents.find)
            measurements += measurements_of(timed, read, rates) if rates else []
    if rates is None:
        raise UserError(f"{', '.join(map(str, paths))}: nothing was measured")
    return measurements, rates


def _kernel(one: MeasuredLaunch) -> str:
    return str(one.problem[0]) if isinstance(one.problem, tuple) else str(one.problem)


def _error(measured: Measurements, device: DeviceRates, values: Mapping[str, float]) -> float:
    """Return the median deviation of estimates from times."""
    import numpy as np

    from irscope.estimating.model import term_times, total_time

    estimates = total_time(term_times(measured.numbers, device, values), values)
    return float(np.expm1(np.median(np.abs(np.log(estimates / measured.microseconds)))))


# The kinds of `Choice.reason` that irscope.estimating does not know.
SLOWER, NOT_LAUNCHED = "slower", "not launched"
_LEAST_FOR_CORRELATION = 3  # fewer measured configs say nothing about a ranking
_NO_LAUNCHES = (
    "{path}: no launches were recorded; say how the kernel is launched: "
    '--launch "grid=(cdiv(M, BLOCK_M),), M=4096"'
)
Report = Callable[[int, int], None]


@frozen
class Choice:
    """A config for a problem.

    `variant` is the compiled config, `name` its short name, `launch` the launch that solves the problem with
    it, and `estimate` how long that takes (None: not known). `rejected` says in one line why it need not be
    measured (None: it may be the best), `reason` is the kind of rejection: "cannot launch", "duplicate",
    "dominated", "spills", "slower", ...; "" if there is none. `measured` is the time that the autotuner
    measured for this problem, in microseconds.
    """

    variant: Variant
    name: str
    launch: Launch | None
    estimate: Estimate | None
    rejected: str | None
    reason: str
    measured: float | None = None

    def __repr__(self) -> str:
        time = f"{self.estimate.text} us" if self.estimate else "not estimated"
        return f"Choice(#{self.variant.id} {one_line(self.name)}: {one_line(self.rejected or time)})"

    def _repr_html_(self) -> str:
        return html_paragraph(repr(self))

    @property
    def bound(self) -> str:
        """Return the bound of its estimate, such as "memory"; "" if it has none."""
        return self.estimate.bound if self.estimate else ""


@dataclass(frozen=True)
class Pick:
    """The configs of a problem, in the order in which to measure them; rejected ones are last.

    `problem` is what was launched: the kernel, the target and the arguments. `choices` are the configs.
    `trouble` says why there is no estimate, if no config has one; "" if any has. `same_bits` says which
    configs compute the bits of a given one, and what it costs to pick only those; None if none was given.
    """

    problem: Problem
    choices: tuple[Choice, ...]
    trouble: str = ""
    same_bits: SameBits | None = None

    def __repr__(self) -> str:
        """Return one line: what is launched, how many configs there are, and the best one."""
        configs = f"{pluralize(len(self.choices), 'config')}, {len(self.accepted)} worth measuring"
        best = f", first {self.best!r}" if self.best else ""
        problem = one_line(f"{self.problem.kernel} {self.problem.target} {self.problem.text}")
        return f"Pick({problem}: {configs}{best})"

    def _repr_html_(self) -> str:
        heading = f"{self.problem.kernel}  {self.problem.target}  {self.problem.text}  {self.device}"
        rows = [
            (
                f"#{choice.variant.id}",
                html_text(choice.name),
                choice.estimate.text if choice.estimate else "?",
                html_text(choice.bound),
                html_text(choice.rejected or ""),
            )
            for choice in self.choices
        ]
        titles = ("#", "config", "estimate us", "bound by", "need not be measured because")
        return html_paragraph(heading, bold=True) + html_table(titles, rows)

    @cached_property
    def accepted(self) -> tuple[Choice, ...]:
        """Return the configs worth measuring, the most promising first."""
        return tuple(choice for choice in self.choices if choice.rejected is None)

    @property
    def best(self) -> Choice | None:
        """Return the config with the shortest estimate; None if none has one."""
        return next((choice for choice in self.accepted if choice.estimate), None)

    @property
    def device(self) -> str:
        """Return the device that the estimates are for; "" without any."""
        return next((choice.estimate.device for choice in self.choices if choice.estimate), "")

    @property
    def limits(self) -> tuple[str, ...]:
        """Return what the model does not know about these kernels, without repetitions."""
        estimates = (choice.estimate for choice in self.choices if choice.estimate)
        return tuple(dict.fromkeys(text for estimate in estimates for text in estimate.limits))

    @cached_property
    def expected_loss(self) -> float | None:
        """Return by how much the best of the first tenth is likely slower than the best, or None."""
        from irscope.estimating.ranking import expected_losses

        first = [choice for choice in self.choices if choice.reason in ("", SLOWER) and choice.estimate]
        times = [choice.estimate.microseconds for choice in first if choice.estimate]
        error = max(self.doubts.values(), default=1.0)
        losses = expected_losses(times, [choice.variant.settings for choice in first], error)
        return losses[min(len(losses), max(1, round(len(self.choices) / 10))) - 1] if losses else None

    @property
    def doubts(self) -> Mapping[str, float]:
        """Return why the estimate of the first config may be further off than usual, and how many times."""
        from irscope.estimating.ranking import doubts

        return doubts(self.best.estimate) if self.best and self.best.estimate else {}

    @property
    def unsure(self) -> bool:
        """Return True if the best of the first tenth may be much slower than the best of all."""
        from irscope.estimating.ranking import UNSURE

        return (self.expected_loss or 0.0) >= UNSURE

    @property
    def confidence(self) -> str:
        """Return in one line how sure the order is, and what decides it; "" without estimates."""
        from irscope.estimating.ranking import confidence_text

        estimate, loss = self.best and self.best.estimate, self.expected_loss
        return confidence_text(estimate, loss) if estimate and loss is not None else ""

    @property
    def measured(self) -> tuple[tuple[float, float], ...]:
        """Return estimate and measurement, in microseconds, of each config that has both."""
        return tuple(
            (choice.estimate.microseconds, choice.measured)
            for choice in self.choices
            if choice.estimate is not None and choice.measured is not None
        )

    @property
    def correlation(self) -> float | None:
        """Return Spearman's rank correlation of estimates and measurements.

        It is Pearson's of the ranks, equal values sharing theirs. None if too few configs have both.
        """
        pairs = self.measured
        try:
            few = len(pairs) < _LEAST_FOR_CORRELATION
            return None if few else correlation(*map(_ranks, zip(*pairs, strict=True)))
        except StatisticsError:
            return None

    @property
    def speed(self) -> float | None:
        """Return the speed of the fastest accepted config as a share of the fastest of all.

        None unless all accepted configs are measured.
        """
        every = [choice.measured for choice in self.choices if choice.measured is not None]
        first = [choice.measured for choice in self.accepted if choice.measured is not None]
        return min(every) / min(first) if first and len(first) == len(self.accepted) else None


def picks(
    workspace: Workspace,
    kernel: str | None = None,
    target: str | None = None,
    launches: Sequence[str | LaunchExpression] = (),
    top: str | None = None,
    device: str | None = None,
    report: Report = lambda done, total: None,
    same_bits_as: Variant | None = None,
) -> list[Pick]:
    """Rank the configs of each problem of a capture; see `Workspace.pick`."""
    rates = device_named(device) if device else (None, None)
    target = target or (rates[0].target if rates[0] else None)
    variants = [variant for variant in workspace.select(kernel, target) if variant.edit is None]
    share = parse_top(top) if top is not None else None
    requested = asked_problems(workspace, variants, launches)
    if same_bits_as is not None:
        from irscope.workspace.same_bits import with_same_bits

        requested = [problem for problem in requested if same_bits_as.id in problem.launches]
        if not requested:
            raise UserError(f"#{same_bits_as.id} is not launched by what was selected; see --launch")
    total = sum(len(problem.variants) for problem in requested)
    done = 0
    result = []
    for problem in requested:
        choices, trouble = _choices(workspace, rates, problem, counting_from(done, report, total))
        done += len(problem.variants)
        pick = Pick(problem, choices, trouble)
        if same_bits_as is not None:
            pick = with_same_bits(workspace, pick, same_bits_as, partial(_choices, workspace, rates))
        result.append(pick if share is None or pick.best is None else _limited(pick, share))
    workspace.estimates.save()
    return result


def counting_from(before: int, report: Report, total: int) -> Callable[[int], None]:
    """Return a report of a part's progress as progress of all, `before` of which were done."""
    return lambda done: report(before + done, total)


def never_launched(workspace: Workspace, kernel: str | None, target: str | None) -> list[str]:
    """List the kernels of a capture without any launch.

    `picks` without `launches` says nothing about them.
    """
    variants = workspace.select(kernel, target)
    launched = {variant.kernel.name for variant in variants if variant.launches}
    return list(dict.fromkeys(v.kernel.name for v in variants if v.kernel.name not in launched))


def parse_top(text: str) -> Callable[[int], int]:
    """Parse --top, "8" or "10%" (rounded up): from the number of configs to the number to keep.

    Raises UserError for anything else.
    """
    number = text.removesuffix("%").strip()
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf or (text.endswith("%") and value > 100):
        raise UserError(f"--top {text}: write a number of configs, or a share of them such as 10%")
    if text.endswith("%"):
        return lambda configs: max(1, math.ceil(configs * value / 100))
    if value != int(value):
        raise UserError(f"--top {text}: write a whole number of configs, or a share of them such as 10%")
    return lambda configs: int(value)


def measured_microseconds(benchmarks: Iterable[Benchmark], arguments: Mapping[str, str]) -> float | None:
    """Return the time that the autotuner measured for a problem; None if no key of it is about that.

    A key names arguments ("M=512, N=64"), and after them the element types of tensors.
    """
    for benchmark in benchmarks:
        pairs = [part.partition("=") for part in benchmark.key.split(", ") if "=" in part]
        if all(arguments.get(name.strip(), value.strip()) == value.strip() for name, _, value in pairs):
            return benchmark.ms * 1000
    return None


def asked_problems(
    workspace: Workspace, variants: Sequence[Variant], written: Sequence[str | LaunchExpression]
) -> list[Problem]:
    """Return the problems that a user wrote, else the recorded ones.

    Raises UserError if there are none, and as `fitting_launches`.
    """
    asked = [] if written else problems(variants)
    for launches in fitting_launches(variants, written)[0]:
        for members in by_kernel([variant for variant in variants if variant.id in launches]):
            asked.append(requested_problem(launches, members))
    if not asked:
        raise UserError(_NO_LAUNCHES.format(path=workspace.path))
    return asked


def _choices(
    workspace: Workspace,
    rates: tuple[DeviceRates | None, Fit | None],
    problem: Problem,
    report: Callable[[int], None] = lambda done: None,
) -> tuple[tuple[Choice, ...], str]:
    """Return the configs in their order, and why no variant has an estimate ("" if one has)."""
    from irscope.estimating.ranking import rank

    estimates: dict[int, Estimate] = {}
    trouble = ""
    for number, variant in enumerate(problem.variants, 1):
        try:
            estimates[variant.id] = workspace.estimates.of(variant, problem.launches[variant.id], *rates)
        except UserError as error:
            # Why a compilation failed is said with the config.
            trouble = trouble or ("" if variant.failure else str(error))
        report(number)
    variants = [*problem.variants, *problem.unlaunched]
    read = partial(partial, workspace.contents.find)
    ranked = rank(variants, problem.launches, read, rates[0], estimates).ranked
    return tuple(_choice(workspace, problem, item) for item in ranked), "" if estimates else trouble


def _choice(workspace: Workspace, problem: Problem, ranked: Ranked) -> Choice:
    variant = ranked.variant
    rejected, reason = ranked.rejected, ranked.reason
    if rejected is None and ranked.launch is None:
        rejected, reason = "not launched: its grid is unknown, see --launch", NOT_LAUNCHED
    measured = measured_microseconds(variant.benchmarks, dict(problem.arguments))
    name = workspace.names[variant.id]
    return Choice(variant, name, ranked.launch, ranked.estimate, rejected, reason, measured)


def _limited(pick: Pick, share: Callable[[int], int]) -> Pick:
    """Keep only a pick's first accepted configs, as many as `share` says."""
    count, best = share(len(pick.choices)), pick.best
    rest = [choice for choice in pick.choices if choice.rejected is not None]
    slower = [
        replace(choice, rejected=_slower(choice, best), reason=SLOWER) for choice in pick.accepted[count:]
    ]
    return replace(pick, choices=(*pick.accepted[:count], *slower, *rest))


def _slower(choice: Choice, best: Choice | None) -> str:
    if choice.estimate is None or best is None or best.estimate is None:
        return "no estimate"
    time, first = choice.estimate.microseconds, best.estimate.microseconds
    return f"slower: estimated {microseconds_text(time)} us, {time / first:.2f}x the first"


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]
