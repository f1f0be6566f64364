"""The problems in a capture: the launches of all configs with equal arguments, whatever their grid.

A grid follows from the config (`cdiv(M, BLOCK_M)`), so the launches that an autotuner compares have equal
arguments and different grids. Only configs for the same problem can be ranked.

The parameters that a kernel loads from, according to its source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from irscope.lint.source.accesses import pointer_accesses
from irscope.lint.source.python_module import PythonModule, tuning_keys
from irscope.model import Argument, Dtype, Kernel, Launch, Value, Variant, format_value
from irscope.model.integer_values import decoded_integers
from irscope.model.records import grouped
from irscope.model.text import one_line

# The source of a kernel has no imports.
_IMPORTS = "import triton\nimport triton.language as tl\n"


@lru_cache(maxsize=64)
def loaded_parameters(kernel: Kernel) -> frozenset[str] | None:
    """Return the parameters that a kernel may load from; None if its text does not say it.

    A parameter counts as loaded from unless the kernel only stores to it, or adds to it, itself.
    """
    module = _module(kernel)
    source = module.kernels.get(kernel.name) if module else None
    if module is None or source is None:
        return None
    accesses = pointer_accesses(source, module)
    if any(not access.parameter for access in accesses):
        return None
    loaded = {access.parameter for access in accesses if access.operation == "load"}
    stored = {access.parameter for access in accesses} - loaded
    passed = {name for call in _other_calls(source.node, module) for name in call}
    return frozenset(source.runtime_parameters - (stored - passed))


def _module(kernel: Kernel) -> PythonModule | None:
    """Parse the text of a kernel; None if that is not possible."""
    try:
        return PythonModule(_IMPORTS + kernel.source.text, kernel.source.file)
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=64)
def tuning_names(kernel: Kernel) -> tuple[str, ...] | None:
    """Return the names in the key of a kernel's autotuner; none if it does not say them, None without one."""
    module = _module(kernel)
    source = module.kernels.get(kernel.name) if module else None
    if module is None or source is None or source.autotune is None:
        return None
    return tuple(name for key in tuning_keys(module) if key.kernel is source for name in key.names)


def _other_calls(function: ast.FunctionDef, module: PythonModule) -> list[set[str]]:
    """Return the names passed on to functions that are not Triton's own."""
    calls = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and not module.dotted(node.func).startswith("triton."):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            calls.append({part.id for part in arguments if isinstance(part, ast.Name)})
    return calls


# The block of a tensor descriptor follows from the config, its tensor does not.
_BLOCK = re.compile(r" in blocks of \[[\d, ]*\]$")

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Problem:
    """A kernel for one target, and what it is launched on.

    `kernel` and `target` are the names. `arguments` are the run-time arguments, as in `model.Launch`;
    `constants` the constexprs that are not tuned. `variants` are its configs, `launches` has the launch
    of each by id; `unlaunched` are variants of the same kernel, argument types and constants for which the
    capture has no launch at all.
    """

    kernel: str
    target: str
    arguments: Pairs
    constants: Pairs
    launches: Mapping[int, Launch]
    variants: tuple[Variant, ...]
    unlaunched: tuple[Variant, ...] = ()

    @property
    def text(self) -> str:
        """Return the numbers in one line, `M=4096, N=4096`; the tensors' shapes if there are none."""
        return _text(self.arguments, self.constants)

    @property
    def grid(self) -> tuple[int, ...] | None:
        """Return the grid of all launches; None if they differ."""
        grids = {launch.grid for launch in self.launches.values()}
        return grids.pop() if len(grids) == 1 else None


def problem_text(variant: Variant, launch: Launch, constants: bool = True) -> str:
    """Describe a launch's problem in one line: numbers, constants not tuned, tensors that it reads.

    Equal texts, equal problems; without `constants`, equal inputs.
    """
    read = loaded_parameters(variant.kernel)
    arguments = _without_lists(launch)
    numbers = [pair for pair in arguments if not _is_tensor(pair[1])]
    inputs = [pair for pair in arguments if _is_tensor(pair[1]) and not _is_output(*pair, read)]
    pairs = (*numbers, *(_constants(variant, launch) if constants else ()), *inputs)
    return one_line(", ".join(f"{name}={value}" for name, value in pairs))


def launch_text(variant: Variant, launch: Launch, constants: bool = True) -> str:
    """Return a launch's numbers and constants that are not tuned, in one line: `M=4096, N=4096`."""
    return _text(_arguments(launch), _constants(variant, launch) if constants else ())


def problems(variants: Iterable[Variant]) -> list[Problem]:
    """Return the problems of the recorded launches: kernel by kernel, in the order of the capture."""
    return [problem for members in by_kernel(variants) for problem in _of_kernel(members)]


def by_kernel(variants: Iterable[Variant]) -> Iterable[list[Variant]]:
    """Group variants by kernel, its file and target, in the order of the capture."""
    return grouped(variants, lambda v: (v.kernel.name, v.kernel.source.file, str(v.target))).values()


def problem_titles(problems: Sequence[Problem]) -> list[str]:
    """Return the text of each problem, with the tensors that differ if those of a kernel are equal."""
    titles = []
    for problem in problems:
        same = [
            candidate
            for candidate in problems
            if candidate.kernel == problem.kernel and candidate.text == problem.text
        ]
        other_arguments = [dict(candidate.arguments) for candidate in same if candidate is not problem]
        differing = [
            f"{name}={value}"
            for name, value in problem.arguments
            if any(arguments.get(name) != value for arguments in other_arguments)
        ]
        titles.append(one_line(", ".join([problem.text, *differing])))
    return titles


def requested_problem(launches: Mapping[int, Launch], variants: Sequence[Variant]) -> Problem:
    """Return the problem of `variants` of one kernel and target; `launches` may have others, too."""
    first = variants[0]
    launch = launches[first.id]
    own = {variant.id: launches[variant.id] for variant in variants}
    return Problem(
        first.kernel.name,
        str(first.target),
        _common_arguments(_arguments(launch), own),
        _constants(first, launch),
        own,
        tuple(variants),
    )


def _of_kernel(variants: Sequence[Variant]) -> list[Problem]:
    launches: dict[tuple[Pairs, Pairs], dict[int, Launch]] = {}
    members: dict[tuple[Pairs, Pairs], list[Variant]] = {}
    for variant in variants:
        for launch in variant.launches:
            key = (_arguments(launch), _constants(variant, launch))
            if variant.id not in launches.setdefault(key, {}):
                launches[key][variant.id] = launch
                members.setdefault(key, []).append(variant)
    _join_by_outputs(variants[0], launches, members)
    unlaunched = [variant for variant in variants if not variant.launches]
    return [
        Problem(
            variants[0].kernel.name,
            str(variants[0].target),
            _common_arguments(key[0], launches_by_id),
            key[1],
            launches_by_id,
            tuple(members[key]),
            tuple(_belonging(unlaunched, members[key], list(members.values()))),
        )
        for key, launches_by_id in launches.items()
    ]


def _join_by_outputs(
    variant: Variant,
    launches: dict[tuple[Pairs, Pairs], dict[int, Launch]],
    members: dict[tuple[Pairs, Pairs], list[Variant]],
) -> None:
    """Join problems of different configs that differ only in the shapes of what the kernel writes.

    A kernel that splits the work of a program writes partial results, as many as the config
    says. Lists of integers may be as long as the config says, too.
    """
    if len(launches) < 2:
        return
    read = loaded_parameters(variant.kernel)
    firsts: dict[tuple[Pairs, Pairs], list[tuple[Pairs, Pairs]]] = {}
    for key in list(launches):
        constants = key[1]
        arguments = _without_lists(next(iter(launches[key].values())))
        inputs = tuple((name, value) for name, value in arguments if not _is_output(name, value, read))
        candidates = firsts.setdefault((inputs, constants), [])
        first = next(
            (candidate for candidate in candidates if not launches[candidate].keys() & launches[key].keys()),
            None,
        )
        if first is None:
            candidates.append(key)
        else:
            launches[first].update(launches.pop(key))
            members[first] += members.pop(key)


def _is_output(name: str, value: str, read: frozenset[str] | None) -> bool:
    return read is not None and _is_tensor(value) and name not in read


def _belonging(
    others: Sequence[Variant], members: Sequence[Variant], every: Sequence[Sequence[Variant]]
) -> Iterable[Variant]:
    """Yield those of `others` that the program would launch for the problem of `members`.

    They have the types and constants of a member. A config value that is the same for all
    members, and another one for another problem, is part of the problem (the size of a head).
    """
    if not others:
        return
    specializations = {specialization_key(variant) for variant in members}
    shared = _shared(members)
    differing = [_shared(group) for group in every]
    fixed = {
        name: value
        for name, value in shared.items()
        if any(name in shared_values and shared_values[name] != value for shared_values in differing)
    }
    for variant in others:
        settings = variant.settings
        if specialization_key(variant) in specializations and all(
            settings.get(n) == v for n, v in fixed.items()
        ):
            yield variant


def _shared(variants: Sequence[Variant]) -> dict[str, Value]:
    """Return the config values that all of `variants` have in common."""
    first, *rest = (variant.settings for variant in variants)
    return {name: value for name, value in first.items() if all(s.get(name) == value for s in rest)}


def specialization_key(variant: Variant) -> tuple[object, ...]:
    """Return the specialization, without tuned constants and the blocks of tensor descriptors."""
    tuned = variant.settings
    fixed = (argument for argument in variant.specialization if argument.name not in tuned)
    return (
        tuple((a.name, a.type.partition("[")[0], a.key, str(a.value)) for a in fixed),
        _untuned(variant),
    )


def fixed_values(variant: Variant, launch: Launch, varying: Collection[str]) -> tuple[object, ...]:
    """Return the types, numbers and constants of a launch that no config sets, but strides and `varying`."""
    tensors = ((a.name, a.type) for a in variant.specialization if a.type.startswith(("*", "tensordesc")))
    numbers = ((name, value) for name, value in _arguments(launch) if not _is_tensor(value))
    return (
        *tensors,
        *(pair for pair in numbers if pair[0] not in varying and "stride" not in pair[0]),
        *(pair for pair in _constants(variant, launch) if pair[0] not in varying),
    )


def _text(arguments: Pairs, constants: Pairs) -> str:
    """Write the numbers without strides, which follow from them; else the shapes of the tensors."""
    every = tuple((name, value) for name, value in arguments if not _is_tensor(value))
    numbers = tuple(pair for pair in every if "stride" not in pair[0]) or every
    return one_line(", ".join(f"{name}={value}" for name, value in (*(numbers or arguments), *constants)))


def _is_tensor(value: str) -> bool:
    """Check whether a recorded argument is a tensor: it has a shape, or only a type (`float16`)."""
    return "[" in value or (value[:1].isalpha() and value not in ("True", "False", "None", "nan", "inf"))


def _arguments(launch: Launch) -> Pairs:
    return tuple((name, _BLOCK.sub("", text)) for name, text in launch.arguments)


def _without_lists(launch: Launch) -> Pairs:
    """Return the arguments without what may depend on the config if the launch has lists of integers.

    These are the lengths of the lists, and a number between the single integer of a tensor and the
    length of a list: how much of it a grid covers.
    """
    values = {name: found for name, text in launch.values if (found := decoded_integers(text)) is not None}
    if not values:
        return _arguments(launch)
    used = [int(found[0]) for found in values.values() if len(found) == 1]
    ranges = [(low, len(found)) for low in used for found in values.values() if low <= len(found)]
    return tuple(
        (name, value.partition("[")[0] if name in values else value)
        for name, value in _arguments(launch)
        if not (value.isdecimal() and any(low <= int(value) <= high for low, high in ranges))
    )


def _common_arguments(arguments: Pairs, launches: Mapping[int, Launch]) -> Pairs:
    """Return the arguments of a problem without those that its lists of integers make different."""
    if not any(launch.values for launch in launches.values()):
        return arguments
    every = [set(_arguments(launch)) for launch in launches.values()]
    return tuple(pair for pair in arguments if all(pair in own for own in every))


def _constants(variant: Variant, launch: Launch) -> Pairs:
    """Return the constants of a launch that are not its arguments."""
    passed = {name for name, _ in launch.arguments}
    fixed = [
        (argument.name, str(argument))
        for argument in variant.specialization
        if _is_constant(variant, argument) and argument.name not in passed
    ]
    return (*fixed, *_untuned(variant))


def _is_constant(variant: Variant, argument: Argument) -> bool:
    """Check whether an argument is a constexpr outside the config, not a number that is 1 by chance."""
    is_one = type(argument.value) is int and argument.value == 1
    return argument.type == "constexpr" and not is_one and argument.name not in variant.settings


def _untuned(variant: Variant) -> Pairs:
    """Return the values of a config that choose what is computed: flags and types, unless tuned.

    A flag that the metadata has is one of the compiler (`enable_fp_fusion`). The recorded config of a
    kernel that is not autotuned has every constexpr that it was launched with.
    """
    if variant.benchmarks or any(map(partial(_is_constant, variant), variant.specialization)):
        return ()
    chosen = ((name, v) for name, v in variant.config.meta.items() if name not in variant.metadata)
    return tuple((name, format_value(v)) for name, v in chosen if isinstance(v, bool | str | Dtype))
