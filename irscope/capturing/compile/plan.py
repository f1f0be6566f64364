"""Request -> plan: which variants there are to compile. Runs in a worker process, which has triton."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from itertools import product
from typing import Any

import irscope
from irscope.capturing.compile.request import Job, Plan, SweepRequest
from irscope.model import OPTION_NAMES, Argument, Config, Target, UserError, Value
from irscope.toolchain.kernels import (
    FoundKernel,
    called_functions,
    find_kernel,
    parameters,
    plain_value,
    source_function,
)
from irscope.toolchain.signature import SignatureItem, bind_signature, specialize
from irscope.toolchain.stub_driver import gpu_target


def make_plan(request: SweepRequest) -> Plan:
    """The jobs of a request. Raises UserError where the request does not fit the file."""
    return plan_for(find_kernel(request.file, request.kernel), request)


def plan_for(found: FoundKernel, request: SweepRequest) -> Plan:
    """The jobs of a request for this kernel. Raises UserError where the request does not fit it."""
    known = parameters(found.function)
    configs = _lay_over(found.configs, request.axes)
    _check_names(request, found, known, configs)
    given = frozenset(request.constants) | {name for config in configs for name, _ in config.values}
    given |= frozenset(found.heuristics)
    if request.signature is None and any(not p.constexpr for p in known):
        raise UserError(_signature_wanted(request, found, known))
    entries = bind_signature(request.signature or "", known, given)
    if twice := [name for name in entries if name in given]:
        raise UserError(f"'{twice[0]}' is in --signature and in a config, --const or heuristic: drop one")
    constants = {p.name: p.default for p in known if p.constexpr and p.has_default and p.name not in given}
    constants |= request.constants
    jobs: list[Job] = []
    groups: dict[tuple[Any, ...], int] = {}
    for target in request.targets:
        arguments = specialize(entries, constants, known, target)
        for config in configs:
            full = _with_heuristics(found, config, arguments)
            _check_complete(found, known, full, arguments)
            rest = tuple(pair for pair in full.values if pair[0] != "num_stages")
            group = groups.setdefault((target, rest), len(groups))
            name = found.function.fn.__name__
            asked = request.reasons, request.passes
            jobs.append(Job(request.file, name, target, arguments, full, group, *asked))
    return Plan(
        source=source_function(found.function),
        helpers=tuple(source_function(helper) for helper in called_functions(found.function)),
        parameters=tuple(parameter.name for parameter in known),
        versions=versions(request.targets),
        jobs=tuple(jobs),
        notes=_notes(found),
    )


def versions(targets: tuple[Target, ...]) -> Mapping[str, str]:
    """The versions that decide what a compilation for these targets makes: name -> version."""
    import triton
    from triton.backends.nvidia.compiler import get_ptxas_version

    found = {
        "irscope": irscope.__version__,
        "python": platform.python_version(),
        "triton": triton.__version__,
    }
    for target in targets:
        if target.backend == "cuda":
            # Of what `ptxas --version` prints, the last line names the release.
            found["ptxas"] = get_ptxas_version(int(target.arch)).strip().splitlines()[-1]
    try:
        found["torch"] = metadata.version("torch")
    except metadata.PackageNotFoundError:
        found["torch"] = "none"
    return found


def option_names(target: Target) -> frozenset[str]:
    """The names of the options that the target's backend takes in this version of Triton."""
    from triton.compiler import make_backend

    return frozenset(vars(make_backend(gpu_target(target)).parse_options({})))


def _lay_over(configs: tuple[Config, ...], axes: Mapping[str, tuple[Value, ...]]) -> tuple[Config, ...]:
    """The product of the axes over each config; a name in both takes the axis's values."""
    laid = [
        Config(tuple((dict(config.values) | dict(zip(axes, values, strict=True))).items()))
        for config in configs or (Config(),)
        for values in product(*axes.values())
    ]
    ordered = [Config(tuple(sorted(c.values, key=lambda pair: pair[0] in OPTION_NAMES))) for c in laid]
    return tuple(dict.fromkeys(ordered))


def _check_names(
    request: SweepRequest, found: FoundKernel, known: tuple[SignatureItem, ...], configs: tuple[Config, ...]
) -> None:
    constexprs = {parameter.name for parameter in known if parameter.constexpr}
    everyone = {parameter.name for parameter in known}
    for name in request.constants:
        if name in everyone - constexprs:
            raise UserError(f"--const {name}: no tl.constexpr parameter; put its type in --signature")
        if name not in constexprs:
            raise UserError(f"--const {name}: no such parameter; constexprs: {', '.join(sorted(constexprs))}")
    for target in request.targets:
        options = option_names(target)
        for name in dict.fromkeys(name for config in configs for name, _ in config.values):
            if name in constexprs or name in options:
                continue
            if name in everyone:
                raise UserError(f"--config {name}: a run-time parameter; put its type in --signature")
            usable = sorted(constexprs) + [option for option in OPTION_NAMES if option in options]
            raise UserError(f"--config {name}: unknown for {target}; known: {', '.join(usable)}")


def _check_complete(
    found: FoundKernel, known: tuple[SignatureItem, ...], config: Config, arguments: tuple[Argument, ...]
) -> None:
    have = {argument.name for argument in arguments} | {name for name, _ in config.values}
    for parameter in known:
        if parameter.name not in have and not parameter.has_default:
            if parameter.constexpr:
                raise UserError(
                    f"no value for the constexpr '{parameter.name}' of {found.function.fn.__name__}: give "
                    f"--config {parameter.name}=VALUE,... or --const {parameter.name}=VALUE"
                )
            raise UserError(f"--signature: no type for argument '{parameter.name}'")


def _with_heuristics(found: FoundKernel, config: Config, arguments: tuple[Argument, ...]) -> Config:
    """The config with the values that `@triton.heuristics` compute from it and the constants.

    Raises UserError where one asks for a run-time argument, which no compilation has.
    """
    values = dict(config.values)
    known = {a.name: a.value for a in arguments if a.type == "constexpr"} | values
    for name, heuristic in found.heuristics.items():
        if name in known:
            continue
        try:
            known[name] = values[name] = plain_value(heuristic(dict(known)))
        except KeyError as error:
            raise UserError(
                f"the heuristic of '{name}' asks for the run-time argument {error}, whose value a "
                f"compilation does not have: give --const {name}=VALUE or --config {name}=VALUE,..."
            ) from error
    return Config(tuple(sorted(values.items(), key=lambda pair: pair[0] in OPTION_NAMES)))


def _notes(found: FoundKernel) -> tuple[str, ...]:
    if found.pruned:
        return ("the autotuner's pruning needs real arguments and was not run: every config is compiled",)
    return ()


def _signature_wanted(request: SweepRequest, found: FoundKernel, known: tuple[SignatureItem, ...]) -> str:
    runtime = [parameter.name for parameter in known if not parameter.constexpr]
    example = ", ".join("*fp32:16" if "ptr" in name else "i32:16" for name in runtime)
    return (
        f"{request.file}::{found.function.fn.__name__}: --signature is needed: one type for each of "
        f'{", ".join(runtime)}; for example --signature "{example}"'
    )
