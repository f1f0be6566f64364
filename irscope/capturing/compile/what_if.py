"""Plans one variant again with other values of its config. Runs in a process that has Triton."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from irscope.capturing.compile import plan as planning
from irscope.capturing.compile.heuristics import with_heuristics
from irscope.capturing.messages import Plan, SweepRequest, WhatIfRequest
from irscope.model import Argument, Config, Expression, UserError
from irscope.model.errors import ArgumentError
from irscope.toolchain.job import Job
from irscope.toolchain.kernels import (
    FoundKernel,
    called_functions,
    find_kernel,
    parameters,
    source_function,
)


def plan_what_if(request: WhatIfRequest) -> Plan:
    """The jobs of a request: the variant itself, then those with other values.

    Raises UserError if the kernel no longer fits the variant, or a name or value does not fit the kernel.
    """
    found = find_kernel(request.file, request.kernel)
    known = parameters(found)
    names = {parameter.name for parameter in known}
    if gone := [a.name for a in request.specialization if a.name not in names]:
        raise UserError(f"{request.kernel} has no parameter '{gone[0]}' any more; compile it again")
    axes = {
        name: tuple(planning.plain_value(found.constants, "config", name, value) for value in values)
        for name, values in request.axes.items()
    }
    base = Config(tuple(pair for pair in request.config.values if pair[0] not in _computed(found, request)))
    configs = planning.apply_axes((base,), axes)
    _check_names(request, found, configs)
    environment = planning.environment_of_kernel(found.function, request.target)
    expressions = tuple(
        value.text for values in request.axes.values() for value in values if isinstance(value, Expression)
    )
    jobs = []
    for config in (request.config, *configs):
        chosen = {name for name, _ in config.values}
        arguments = tuple(a for a in request.specialization if a.name not in chosen)
        full = with_heuristics(found, config, arguments, dict(request.config.values))
        planning.check_complete(found, known, full, arguments)
        jobs.append(_job(request, arguments, full, environment, expressions))
    return Plan(
        source=source_function(found.function),
        helpers=tuple(map(source_function, called_functions(found.function))),
        parameters=tuple(parameter.name for parameter in known),
        versions=planning.versions((request.target,)),
        jobs=tuple(jobs),
    )


def _job(
    request: WhatIfRequest,
    arguments: tuple[Argument, ...],
    config: Config,
    environment: tuple[tuple[str, str], ...],
    expressions: tuple[str, ...],
) -> Job:
    flags = request.reasons, request.passes
    place = request.file, request.kernel, request.target
    return Job(*place, arguments, config, 0, *flags, environment, expressions)


def _computed(found: FoundKernel, request: WhatIfRequest) -> frozenset[str]:
    """The values of the config that heuristics compute from the others, and that may change with them.

    A user may have chosen another value for one.
    """
    values = dict(request.config.values)
    chosen = Config(tuple(pair for pair in values.items() if pair[0] not in found.heuristics))
    computed = dict(with_heuristics(found, chosen, request.specialization, values).values)
    return frozenset(
        name for name in found.heuristics if name in values and values[name] == computed.get(name)
    )


def _check_names(request: WhatIfRequest, found: FoundKernel, configs: tuple[Config, ...]) -> None:
    """Raises UserError, with the nearest name, if a value is of no constexpr and no option."""
    sweep = SweepRequest(request.file, request.kernel, None, {}, {}, (request.target,))
    try:
        planning.check_names(sweep, found, parameters(found), configs)
    except ArgumentError as error:
        known = {p.name for p in parameters(found) if p.constexpr} | planning.option_names(request.target)
        unknown = [name for name in request.axes if name not in known]
        if not unknown:
            raise UserError(error.problem) from error
        raise UserError(with_nearest(error.problem, unknown[0], known)) from error


def with_nearest(problem: str, name: str, known: Collection[str]) -> str:
    """`problem`, and the name among `known` that was probably meant."""
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f"{problem}; did you mean {near[0]}?" if near else problem
