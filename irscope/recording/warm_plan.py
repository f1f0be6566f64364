"""Plans what a warm cache needs for recorded, varied and pinned launches. Runs in a process with Triton."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from irscope.compiling import plan as planning
from irscope.compiling import worker
from irscope.compiling.job import Job
from irscope.compiling.kernels import called_functions, find_kernel, source_function
from irscope.compiling.launch_grid import (
    Axis,
    LaunchCase,
    constants_text,
    dependent_arguments,
    dependent_constants,
    expand_axes,
    linked_axes,
)
from irscope.compiling.messages import Plan, WarmPlan, WarmRequest
from irscope.compiling.toolchain.compiler import source_of
from irscope.compiling.toolchain.pinned_tuning import NoPinError, PinnedTuning
from irscope.compiling.toolchain.replay import (
    Launchable,
    launchable,
    outcome,
    replay,
    replaying,
    without_tuned,
)
from irscope.compiling.toolchain.requested_config import TunedNames, requested_config, specialization
from irscope.model import OPTION_NAMES, UserError
from irscope.recording.deferred import DeferredKernel
from irscope.recording.triton_hooks import intercepted_compilations

# Problems of launches that are listed; the others are counted.
_MOST_PROBLEMS = 5


def main(pipe: str, lifeline: str) -> None:
    """Serve as a compile worker that answers a WarmRequest too."""
    worker.main(pipe, lifeline, {WarmRequest: plan_warm})


def plan_warm(request: WarmRequest) -> WarmPlan:
    """Plan the jobs of a request and the case that each is for.

    Raises UserError if nothing can be launched.
    """
    found_kernel = find_kernel(request.file, request.kernel)
    kernel = launchable(request.file, request.kernel)
    _check_axes(kernel, request.axes)
    recorded = without_tuned(kernel, request.cases)
    axes = linked_axes(request.axes, recorded)
    with replaying(kernel):
        ask = partial(outcome, kernel, constants=found_kernel.constants) if kernel.depends_on_values else None
        cases = expand_axes(recorded, axes, ask)
    planner = _Planner(request, kernel, found_kernel, PinnedTuning(request.pins))
    planner.run(cases, _pinned_cases(kernel, request, recorded))
    if not planner.jobs and planner.problems:
        raise UserError(next(iter(planner.problems)))
    return WarmPlan(
        plan=Plan(
            source=source_function(found_kernel.function),
            helpers=tuple(map(source_function, called_functions(found_kernel.function))),
            parameters=tuple(parameter.name for parameter in kernel.function.params),
            versions=planning.versions((request.target,)),
            jobs=tuple(planner.jobs.values()),
            notes=tuple(_notes(planner, axes, recorded)),
        ),
        recorded=planner.number_without(None),
        costs=tuple(
            (axis.description, len(planner.jobs) - planner.number_without(axis.name)) for axis in axes
        ),
        files=tuple(planner.pinned.files.values()),
    )


def _check_axes(kernel: Launchable, axes: Sequence[Axis]) -> None:
    """Raise UserError if an axis is of no argument, or of one that the autotuner or a heuristic sets."""
    names = [parameter.name for parameter in kernel.function.params]
    for axis in axes:
        axis_label = f"vary {axis.kernel}: {axis.name}"
        if axis.name in kernel.tuned:
            raise UserError(
                f"{axis_label} is set by the configs of @triton.autotune, all of which are compiled"
            )
        if axis.name in kernel.computed:
            raise UserError(f"{axis_label} is computed by @triton.heuristics; vary what it is computed from")
        if axis.name not in (*names, *OPTION_NAMES):
            raise UserError(f"{axis_label} is no argument; {request_name(kernel)} has {', '.join(names)}")


def request_name(kernel: Launchable) -> str:
    """Return the name of the kernel's Python function."""
    return str(kernel.function.fn.__name__)


def _notes(planner: _Planner, axes: Sequence[Axis], cases: Sequence[LaunchCase]) -> Iterator[str]:
    name = request_name(planner.kernel)
    varied_too = {axis.name for axis in axes}
    for axis in axes:
        for constant, values in dependent_constants(axis.name, cases):
            if constant not in varied_too:
                yield f"{name}: {constants_text(axis.name, constant, values)}"
    problems = list(planner.problems)
    yield from problems[:_MOST_PROBLEMS]
    if len(problems) > _MOST_PROBLEMS:
        yield f"{name}: {len(problems) - _MOST_PROBLEMS} more launches fail"
    yield from planner.pinned.problems
    yield from planner.pinned.unpinned_lines()


@dataclass
class _Planner:
    """Collects the jobs of launches, by Triton's hashes of source and options, in the order of the launches.

    `launched` are those of the launches in which these arguments were changed.
    """

    request: WarmRequest
    kernel: Launchable
    found: Any
    pinned: PinnedTuning
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    launched: dict[frozenset[str], set[tuple[str, str]]] = field(default_factory=dict)
    problems: dict[str, None] = field(default_factory=dict)
    _case: LaunchCase = field(default_factory=lambda: LaunchCase(()))
    _groups: dict[Any, int] = field(default_factory=dict)
    _environment: tuple[tuple[str, str], ...] = ()

    def run(self, cases: Sequence[LaunchCase], pinned: Sequence[LaunchCase]) -> None:
        """Launch each case; of `pinned`, which pins ask for, only those for whose key there is a pin."""
        self._environment = planning.environment_of_kernel(self.kernel.function, self.request.target)
        with ExitStack() as stack:
            stack.enter_context(replaying(self.kernel))
            stack.enter_context(intercepted_compilations(self._on_jit, self._on_jit))
            if self.pinned.pins:
                stack.enter_context(self.pinned.installed())
            self._launch(cases)
            self.pinned.only_pinned = True
            self._launch(pinned)

    def _launch(self, cases: Sequence[LaunchCase]) -> None:
        for case in cases:
            self._case = case
            try:
                replay(self.kernel, case, self.found.constants)
            except NoPinError:
                continue  # the pin is for tensors of other types
            except UserError as error:
                self.problems.setdefault(str(error))

    def _on_jit(self, source: Any, target: Any, options: Any, tuned: TunedNames, compile_: Any) -> Any:
        from triton.compiler import make_backend

        parsed = make_backend(target).parse_options(dict(options or {}))
        name = (source.hash(), parsed.hash())
        if name not in self.jobs:
            job = self._job(source, parsed, target, tuned)
            same = source_of(self.found, job)
            if (same[0].hash(), same[1].hash()) == name:
                self.jobs[name] = job
            else:
                self.problems.setdefault(
                    f"{request_name(self.kernel)}: a launch has arguments that only its program can compile"
                )
        return DeferredKernel(None, compile_, lambda *_: self._on_launch(name))

    def _on_launch(self, name: tuple[str, str]) -> None:
        changed = frozenset(of for of, _ in self._case.choices)
        self.launched.setdefault(changed, set()).add(name)

    def number_without(self, axis: str | None) -> int:
        """Count the jobs of launches in which this argument was not changed; None: nothing was."""
        used = (names for of, names in self.launched.items() if not of or (axis and axis not in of))
        return len(self.jobs.keys() & set().union(*used))

    def _job(self, source: Any, options: Any, target: Any, tuned: TunedNames) -> Job:
        arguments = specialization(source, options, tuned, None)
        config = requested_config(source, options, target, tuned, None)
        rest = tuple(pair for pair in config.values if pair[0] != "num_stages")
        group = self._groups.setdefault((arguments, rest), len(self._groups))
        kernel_on_target = self.request.file, self.request.kernel, self.request.target
        return Job(*kernel_on_target, arguments, config, group, environment=self._environment)


def _pinned_cases(
    kernel: Launchable, request: WarmRequest, cases: Sequence[LaunchCase]
) -> tuple[LaunchCase, ...]:
    """Return the launches of the pins' keys.

    These are recorded ones with the key's values, and what moves with these.
    """
    if kernel.tuner is None:
        return ()
    pinned_cases: dict[LaunchCase, None] = {}
    names = list(kernel.tuner.keys)
    moved = {name: dependent_arguments(name, cases, frozenset(names) - {name}) for name in names}
    for pin in request.pins:
        for case in cases if pin.kernel == request_name(kernel) else ():
            present_names = [
                name for name in names if name in dict(case.arguments) or name in dict(case.constants)
            ]
            values = _key_values(pin.tuning.key, present_names)
            changed = case if values is None else _with_key(case, values, moved)
            pinned_cases.setdefault(replace(changed, choices=(("pin", pin.tuning.key),)))
    return tuple(pinned_cases)


def _key_values(key: str, names: Sequence[str]) -> dict[str, Any] | None:
    try:
        values = ast.literal_eval(key)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(values, tuple) or len(values) < len(names):
        return None
    return dict(zip(names, values, strict=False))


def _with_key(case: LaunchCase, values: Mapping[str, Any], moved: Mapping[str, Any]) -> LaunchCase:
    arguments, constants = dict(case.arguments), dict(case.constants)
    for name, value in values.items():
        if name in constants:
            constants[name] = value
        elif isinstance(value, bool | int | float) and arguments[name] != str(value):
            arguments[name] = str(value)
            if type(value) is int:
                arguments |= {dependent.name: str(value * dependent.ratio) for dependent in moved[name]}
    return replace(case, arguments=tuple(arguments.items()), constants=tuple(constants.items()))
