"""Turns a request into a plan: the variants to compile. Runs in a process that has Triton.

The values that `@triton.heuristics` compute, without a launch.

A heuristic reads the arguments of the launch. An argument of which the signature has only the type has no
value, but it is not None, and many heuristics ask only that: `lambda args: args["bias"] is not None`.

The cache keys of jobs before they are compiled. Runs in a process that has Triton.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from importlib import metadata
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn

import irscope
from irscope.compiling.constexpr_values import Constants
from irscope.compiling.job import Job, job_group
from irscope.compiling.kernels import FoundKernel, called_functions, find_kernel, parameters, source_function
from irscope.compiling.messages import Plan, SweepRequest
from irscope.compiling.python_files import import_file
from irscope.compiling.signature import SignatureItem, bind_signature, specialize, split_named
from irscope.compiling.suggestion import (
    guessed_values,
    missing_constexprs,
    missing_signature,
    missing_values,
    with_guesses,
)
from irscope.compiling.toolchain.compiler import launch_options, source_of
from irscope.compiling.toolchain.requested_config import NOT_CONFIGURABLE
from irscope.compiling.toolchain.stub_driver import gpu_target
from irscope.compiling.toolchain.triton_cache import cache_key, environment_components
from irscope.model import OPTION_NAMES, Argument, Config, Expression, Target, UserError, Value, parse_argument
from irscope.model.errors import ArgumentError, error_line
from irscope.store.new_variant import cache_key_digest
from irscope.targets import all_targets, backend_of


class HeuristicError(ArgumentError):
    """A heuristic fails for a config."""


class _ReadError(Exception):
    """A heuristic computes with a run-time argument; the text is its name."""


class _MissingError(KeyError):
    """A heuristic reads an argument that is not given; a KeyError, as in a launch."""


class _Arguments(dict[str, Any]):
    """The arguments of a heuristic."""

    def __missing__(self, name: str) -> NoReturn:
        raise _MissingError(name)


class _RuntimeArgument:
    """An argument whose value is unknown; any use of it raises, except `is None`."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _read(self, *_: object) -> NoReturn:
        raise _ReadError(object.__getattribute__(self, "_name"))

    __getattribute__ = __bool__ = __len__ = __iter__ = __getitem__ = __call__ = __hash__ = _read
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _read
    __int__ = __index__ = __float__ = __abs__ = __neg__ = __invert__ = __str__ = _read
    __add__ = __sub__ = __mul__ = __floordiv__ = __truediv__ = __mod__ = __pow__ = __and__ = __or__ = _read
    __radd__ = __rsub__ = __rmul__ = __rfloordiv__ = __rtruediv__ = __rmod__ = __rpow__ = __rand__ = _read
    __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = __divmod__ = _read


def with_heuristics(
    found: FoundKernel, config: Config, arguments: Iterable[Argument], guesses: Mapping[str, Value]
) -> Config:
    """Return the config with the values that `@triton.heuristics` compute from it and the arguments.

    If a heuristic computes with a run-time argument, its guess is used. Raises ArgumentError if
    there is no guess, HeuristicError if a heuristic fails.
    """
    values = dict(config.values)
    available = {a.name: a.value if a.type == "constexpr" else _RuntimeArgument(a.name) for a in arguments}
    available |= values
    for name, heuristic in found.heuristics.items():
        if name in available:
            continue
        try:
            available[name] = values[name] = _value(name, heuristic, available, found.constants)
        except ArgumentError:
            if name not in guesses:
                raise
            available[name] = values[name] = guesses[name]
    return Config(tuple(sorted(values.items(), key=lambda pair: pair[0] in OPTION_NAMES)))


def _value(name: str, heuristic: Any, known: Mapping[str, Any], constants: Constants) -> Value:
    """Return the result of a heuristic. Raises ArgumentError if it needs a launch, or fails."""
    arguments = _Arguments({of: _real(value, constants) for of, value in known.items()})
    try:
        value = heuristic(arguments)
    except (_ReadError, _MissingError) as error:
        raise ArgumentError(
            "const",
            f"the heuristic of '{name}' reads the run-time argument '{error.args[0]}', which has no value "
            f"without a launch: add a value for '{name}'",
        ) from error
    except BaseException as error:  # user code may raise anything
        raise HeuristicError(
            "const", f"the heuristic of '{name}' fails: {error_line(error)}; give '{name}' a value"
        ) from error
    return constants.plain(value)


def _real(value: Any, constants: Constants) -> Any:
    return value if type(value) is _RuntimeArgument else constants.real(value)


def job_keys(found: FoundKernel, jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the digest of all components of the cache key of each job; "" if it is unknown.

    This takes 0.3 ms per job.
    """
    if found.source_stages:  # the key has only the Triton kernel, not the text that it was generated from
        return ("",) * len(jobs)
    return tuple(_job_key(found, job) for job in jobs)


def _job_key(found: FoundKernel, job: Job) -> str:
    if job.problem:
        return ""
    try:
        for text in job.expressions:
            found.constants.evaluate(text)
        source, options = source_of(found, job)
        return cache_key_digest(cache_key(source, gpu_target(job.target), options))
    except Exception:  # noqa: BLE001 - Triton may raise anything; compiling says so
        return ""


# How Python names a package that is not installed; the import name is that of the package in most cases.
_NO_MODULE = re.compile(r"No module named '(\w+)")
_COMMA = re.compile(r",\s*")
# tensordesc<fp16[128, 64], gl.NVMMASharedLayout(128, 16)>: the part before the layout, and the layout.
_GLUON_DESCRIPTOR = re.compile(
    r"(tensordesc(?:_im2col)?<\w+\[[\d, ]+\](?:,\s*input_rank=\d+)?),\s*(\w[\w.]*\(.*\))>"
)


def make_plan(request: SweepRequest) -> Plan:
    """Plan the jobs of a request. Raises UserError if the request does not fit the file."""
    plan = plan_for(find_kernel(request.file, request.kernel), request)
    return replace(plan, notes=(*plan.notes, *_import_notes(request.file)))


def plan_for(found: FoundKernel, request: SweepRequest) -> Plan:
    """Plan the jobs of a request for this kernel. Raises UserError if the request does not fit it."""
    kernel_parameters = parameters(found)
    request = _with_launch_keywords(request, kernel_parameters)
    expressions = _expressions(request)
    plain = partial(plain_value, found.constants)
    axes = {name: tuple(plain("config", name, v) for v in values) for name, values in request.axes.items()}
    configs = apply_axes(found.configs, axes)
    check_names(request, found, kernel_parameters, configs)
    given_names = frozenset(request.constants) | {name for config in configs for name, _ in config.values}
    given_names |= frozenset(found.heuristics)
    guesses: Mapping[str, Value] = {}
    note = ""
    if request.guess:
        request, note = with_guesses(request, found, kernel_parameters, given_names)
        guesses = guessed_values(found, found.heuristics)
    elif request.signature is None and any(not p.constexpr for p in kernel_parameters):
        raise missing_signature(request, found, kernel_parameters, given_names)
    entries = bind_signature(request.signature or "", kernel_parameters, given_names)
    _check_given_once(entries, request, configs)
    constants = {
        p.name: p.default
        for p in kernel_parameters
        if p.constexpr and p.has_default and p.name not in given_names
    }
    constants |= {name: plain("const", name, value) for name, value in request.constants.items()}
    for name, (type_, hint) in entries.items():
        entries[name] = with_layout(found.constants, name, type_), hint
    for name in [p.name for p in kernel_parameters if p.constexpr and p.name in entries]:
        value = parse_argument(entries.pop(name)[0])
        constants[name] = plain("signature", name, value)
        expressions += (value.text,) if isinstance(value, Expression) else ()
    jobs = _jobs(
        found,
        request,
        configs,
        partial(specialize, entries, constants, kernel_parameters),
        guesses,
        expressions,
    )
    notes = (*_notes(found), *filter(None, [note]))
    keys = job_keys(found, jobs) if request.keys else ()
    return replace(kernel_plan(found, request.targets, jobs), notes=notes, keys=keys)


def kernel_plan(found: FoundKernel, targets: tuple[Target, ...], jobs: Sequence[Job]) -> Plan:
    """Return a plan of these jobs, with what every plan says of its kernel and toolchain."""
    return Plan(
        source=source_function(found.function),
        helpers=tuple(map(source_function, called_functions(found.function))),
        parameters=tuple(parameter.name for parameter in found.function.params),
        versions=versions(targets),
        jobs=tuple(jobs),
    )


def _check_given_once(
    entries: Mapping[str, tuple[str, str]], request: SweepRequest, configs: Sequence[Config]
) -> None:
    """Raise ArgumentError if a parameter in the signature also has a value from elsewhere.

    A value in the signature for what a heuristic computes replaces the heuristic, as --const does.
    """
    in_configs = {name for config in configs for name, _ in config.values}
    for name in entries:
        if name in request.constants:
            raise ArgumentError("signature", f"'{name}' also has a value from --const: drop one")
        if name in request.axes:
            raise ArgumentError("signature", f"'{name}' also has values from --config: drop one")
        if name in in_configs:
            problem = f"the autotune configs set '{name}': leave it out; --config {name}=VALUE overrides them"
            raise ArgumentError("signature", problem)


def _jobs(
    found: FoundKernel,
    request: SweepRequest,
    configs: Sequence[Config],
    specialized: Callable[[Target], tuple[Argument, ...]],
    guesses: Mapping[str, Value],
    expressions: tuple[str, ...],
) -> tuple[Job, ...]:
    """Create the jobs of every target and config, also those that fail because a heuristic does.

    Raises HeuristicError if it fails for all of them, ArgumentError if a parameter has no value.
    """
    jobs: list[Job] = []
    failed: list[HeuristicError] = []
    groups: dict[object, int] = {}
    kernel_parameters, name = parameters(found), found.function.fn.__name__
    flags = request.reasons, request.passes
    for target in request.targets:
        arguments = specialized(target)
        environment = environment_of_kernel(found.function, target)
        for config in configs:
            full, problem = config, ""
            try:
                full = with_heuristics(found, config, arguments, guesses)
                check_complete(found, kernel_parameters, full, arguments)
            except HeuristicError as error:
                failed.append(error)
                problem = error.problem
            of = request.file, name, target, arguments, full, job_group(groups, full, target)
            jobs.append(Job(*of, *flags, environment, expressions, problem))
    if failed and len(failed) == len(jobs):
        raise failed[0]
    return tuple(jobs)


def versions(targets: tuple[Target, ...]) -> Mapping[str, str]:
    """Return the versions that determine the result of a compilation for these targets.

    They map each name to a version.
    """
    import triton

    result_versions = {
        "irscope": irscope.__version__,
        "python": platform.python_version(),
        "triton": triton.__version__,
    }
    for target in targets:
        if hook := backend_of(target).versions:
            result_versions |= resolve_name(hook)(target.arch)
    return {**result_versions, "torch": _torch_version()}


@cache
def _torch_version() -> str:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return "none"


def environment_of_kernel(function: Any, target: Target) -> tuple[tuple[str, str], ...]:
    """Return the components of Triton's key that identify this process's compiler environment."""
    from triton.compiler import make_backend

    options = make_backend(gpu_target(target)).parse_options(launch_options(function, {}))
    return tuple(environment_components(options).items())


def option_names(target: Target) -> frozenset[str]:
    """Return the names of the options that the target's backend has in this version of Triton."""
    from triton.compiler import make_backend

    return frozenset(vars(make_backend(gpu_target(target)).parse_options({})))


def settable_options(target: Target) -> list[str]:
    """Return the options of the target that a config may set to a number, a text or a flag."""
    from triton.compiler import make_backend

    defaults = vars(make_backend(gpu_target(target)).parse_options({}))
    plain = {name for name, value in defaults.items() if value is None or isinstance(value, int | str)}
    first = [name for name in OPTION_NAMES if name in plain]
    return first + sorted(plain - set(first) - NOT_CONFIGURABLE)


def _with_launch_keywords(request: SweepRequest, known: tuple[SignatureItem, ...]) -> SweepRequest:
    """Turn the request's constants that are also launch options (num_warps) into config values.

    `kernel[grid](..., num_warps=8)` sets the option, and the `tl.constexpr` parameter if there is
    one. A positional argument or the parameter's default sets only the parameter.
    """
    options = frozenset().union(*map(option_names, request.targets))
    names = options & {parameter.name for parameter in known if parameter.constexpr}
    if not names:
        return request
    signature, named = split_named(request.signature or "", names)
    values = named | {name: value for name, value in request.constants.items() if name in names}
    return replace(
        request,
        signature=None if request.signature is None else signature,
        constants={name: value for name, value in request.constants.items() if name not in names},
        axes={name: (value,) for name, value in values.items()} | dict(request.axes),
    )


def _expressions(request: SweepRequest) -> tuple[str, ...]:
    """Return the values of a request that are Python expressions, as text."""
    values = [*request.constants.values(), *(value for axis in request.axes.values() for value in axis)]
    return tuple(dict.fromkeys(value.text for value in values if isinstance(value, Expression)))


def with_layout(constants: Constants, name: str, type_: str) -> str:
    """Return the type of an argument.

    The layout in a type of Gluon's tensor descriptors is written as the JIT writes it.
    """
    match = _GLUON_DESCRIPTOR.fullmatch(type_)
    if match is None:
        return type_
    layout = constants.real(plain_value(constants, "signature", name, Expression(match[2])))
    return f"{_COMMA.sub(', ', match[1])},{layout!r}>"


def plain_value(constants: Constants, argument: str, name: str, value: Value | Expression) -> Value:
    """Return a value as plain data. Raises ArgumentError about `argument` if it cannot be evaluated."""
    try:
        return constants.plain(value)
    except UserError as error:
        raise ArgumentError(argument, f"{name}={error}") from error


def apply_axes(configs: tuple[Config, ...], axes: Mapping[str, tuple[Value, ...]]) -> tuple[Config, ...]:
    """Combine each config with the product of the axes; the axis wins over the config's own value."""
    product_ = [
        Config(tuple((dict(config.values) | dict(zip(axes, values, strict=True))).items()))
        for config in configs or (Config(),)
        for values in product(*axes.values())
    ]
    ordered = [Config(tuple(sorted(c.values, key=lambda pair: pair[0] in OPTION_NAMES))) for c in product_]
    return tuple(dict.fromkeys(ordered))


def check_names(
    request: SweepRequest, found: FoundKernel, known: tuple[SignatureItem, ...], configs: tuple[Config, ...]
) -> None:
    """Raise ArgumentError if a constant or a config value is of no constexpr and no option."""
    constexprs = {parameter.name for parameter in known if parameter.constexpr}
    names = {parameter.name for parameter in known}
    for name in request.constants:
        if name in names - constexprs:
            raise ArgumentError(
                "const", f"'{name}' is not a tl.constexpr parameter; put its type in the signature"
            )
        if name not in constexprs:
            known_names = ", ".join(sorted(constexprs))
            raise ArgumentError("const", f"no parameter '{name}'; the constexprs are {known_names}")
    for target in request.targets:
        options = option_names(target)
        for name in dict.fromkeys(name for config in configs for name, _ in config.values):
            if name in constexprs or name in options:
                continue
            if name in names:
                raise ArgumentError(
                    "config", f"'{name}' is a run-time parameter; put its type in the signature"
                )
            if name not in request.axes and any(name in dict(config.values) for config in found.configs):
                raise UserError(_unknown_in_decorator(found, name, target))
            usable = ", ".join([*sorted(constexprs), *settable_options(target)])
            raise ArgumentError("config", f"'{name}' is unknown for {target}; known: {usable}")


def _unknown_in_decorator(found: FoundKernel, name: str, target: Target) -> str:
    """Return the problem with an autotune config that sets what the target does not have."""
    kernel = found.function.fn.__name__
    problem = f"the autotune configs of {kernel} set '{name}', which is neither a tl.constexpr of it"
    problem = f"{problem} nor an option of {target}"
    supporting_target = next(
        (
            candidate
            for candidate in all_targets()
            if candidate.backend != target.backend and _has(candidate, name)
        ),
        None,
    )
    return (
        problem
        if supporting_target is None
        else f"{problem}; it is one of {supporting_target.backend}: --target {supporting_target}"
    )


def _has(target: Target, option: str) -> bool:
    """Return True if the target has the option; False if this Triton lacks the target's backend."""
    with suppress(Exception):  # a plug-in's backend may raise anything
        return option in option_names(target)
    return False


def check_complete(
    found: FoundKernel, known: tuple[SignatureItem, ...], config: Config, arguments: tuple[Argument, ...]
) -> None:
    """Raise UserError if a parameter has neither a type nor a value."""
    have = {argument.name for argument in arguments} | {name for name, _ in config.values}
    if missing := missing_constexprs(known, frozenset(have)):
        raise missing_values(found, missing)
    for parameter in known:
        if parameter.name not in have and not parameter.has_default:
            raise ArgumentError("signature", f"no type for argument '{parameter.name}'")


def _notes(found: FoundKernel) -> tuple[str, ...]:
    if found.pruned:
        return ("every config is compiled: the autotuner's pruning needs real arguments and did not run",)
    return ()


def _import_notes(file: Path) -> tuple[str, ...]:
    """Says which statements of the file or its packages were left out because they fail."""
    skipped = import_file(file).skipped
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    modules = dict.fromkeys(match[1] for line in skipped if (match := _NO_MODULE.search(line)))
    # A module that an installed package lacks is of another version of that package.
    missing = [module for module in modules if not _is_installed(module)]
    install = f"; what they define needs: pip install {' '.join(missing)}" if missing else ""
    return (f"imported without what fails: {skipped[0]}{more}{install}",) if skipped else ()


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module without a spec, which is in sys.modules
        return True
