"""The further compilations of a launch that `irscope run --sweep` requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irscope.capturing.compile.plan import settable_options
from irscope.capturing.record.recorder import RecordedCompilation
from irscope.capturing.record.requested_config import TunedNames
from irscope.model import Expression, UserError, Value
from irscope.toolchain.constants import Constants

# The values of a sweep, by kernel and name.
Sweep = Mapping[tuple[str, str], tuple[Value | Expression, ...]]


def sweep_problems(recorded: RecordedCompilation, sweep: Sweep) -> Iterator[str]:
    """A line per name in a sweep of this kernel that is neither a `tl.constexpr` of it nor an option.

    And a line per value that cannot be evaluated.
    """
    name = recorded.source.fn.fn.__name__
    constants = [parameter.name for parameter in recorded.source.fn.params if parameter.is_constexpr]
    for kernel, of in sweep:
        if kernel == name and of not in constants and of not in vars(recorded.options):
            usable = ", ".join([*constants, *settable_options(recorded.variant.target)])
            yield f"sweep: '{of}' is neither a tl.constexpr of {kernel} nor an option; known: {usable}"
    yield from _sweep_values(recorded, sweep)[1]


def _sweep_values(recorded: RecordedCompilation, sweep: Sweep) -> tuple[dict[str, list[Any]], list[str]]:
    """The objects of each name in a sweep of this kernel, and a line per value that cannot be evaluated."""
    known, name = Constants(recorded.source.fn), recorded.source.fn.fn.__name__
    found = {
        of: [_evaluated(known, value) for value in values]
        for (kernel, of), values in sweep.items()
        if kernel == name
    }
    problems = [
        f"sweep: {of}={v}" for of, values in found.items() for v in values if isinstance(v, UserError)
    ]
    return {of: [v for v in values if not isinstance(v, UserError)] for of, values in found.items()}, problems


def _evaluated(known: Constants, value: Value | Expression) -> Any:
    """The object of a value; the UserError if it cannot be evaluated."""
    try:
        return known.real(value)
    except UserError as error:
        return error


def swept(recorded: RecordedCompilation, sweep: Sweep) -> Iterator[tuple[Any, Any, TunedNames]]:
    """The source, options and tuned names of a compilation with each combination of its kernel's values."""
    from itertools import product

    from triton.compiler import make_backend

    source, options = recorded.source, vars(recorded.options)
    axes, _ = _sweep_values(recorded, sweep)
    indexes = {parameter.name: parameter.num for parameter in source.fn.params if parameter.is_constexpr}
    for values in product(*axes.values()) if axes else ():
        constants, changed = dict(source.constants), dict(options)
        for of, value in zip(axes, values, strict=True):
            # A launch's keyword sets both, if a parameter has the name of an option.
            if of in indexes:
                constants[(indexes[of],)] = value
            if of in options or of not in indexes:
                changed[of] = value
        new_source = type(source)(source.fn, source.signature, constants, source.attrs)
        tuned = TunedNames(recorded.tuned.autotuned, recorded.tuned.names | set(axes))
        yield new_source, make_backend(recorded.target).parse_options(changed), tuned
