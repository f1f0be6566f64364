"""Launches a kernel again with recorded or varied arguments, so that Triton says what it would compile.

    attention, M=17, stride=17  ->  the heuristics, the autotuner's pruning and key, the specialization

Nothing is compiled or executed, and nothing is measured. Runs in processes that have Triton.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.analysis.launch_correlations import LaunchCase
from irscope.model import UserError
from irscope.model.errors import error_line
from irscope.toolchain.constants import Constants
from irscope.toolchain.patching import patched
from irscope.toolchain.python_files import load_file
from irscope.toolchain.replayed_arguments import argument_object
from irscope.toolchain.stub_driver import call_once

# More decorators around each other than any kernel has: a bound on a chain that may have a cycle.
_MOST_DECORATORS = 16
# Options as a capture has them that a launch takes in another form.
_NO_KEYWORDS = frozenset(["extern_libs"])


@dataclass(frozen=True)
class Launchable:
    """A kernel with Triton's decorators around it, as a program launches it.

    `function` is the JITFunction inside; `tuner` the autotuner, None if it has none. `tuned` are the names
    that the autotuner's configs set, `computed` those that heuristics set. `prunes` is true if the
    autotuner drops configs that depend on the launch.
    """

    outer: Any
    function: Any
    tuner: Any
    tuned: frozenset[str]
    computed: frozenset[str]
    prunes: bool

    @property
    def depends_on_values(self) -> bool:
        """Whether launches that specialize alike may still be compiled differently."""
        return self.prunes or bool(self.computed)


def launchable(path: Path, name: str) -> Launchable:
    """The kernel of a file as a program launches it. Raises UserError if there is none."""
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    value = load_file(path).get(name)
    outer = tuner = None
    computed: set[str] = set()
    for _ in range(_MOST_DECORATORS):
        if isinstance(value, Autotuner | Heuristics | JITFunction):
            outer = outer or value
        if isinstance(value, JITFunction):
            configs: list[Any] = [] if tuner is None else tuner.configs
            tuned = frozenset(name for config in configs for name in config.all_kwargs())
            prunes = tuner is not None and bool(tuner.perf_model or tuner.early_config_prune)
            return Launchable(outer, value, tuner, tuned, frozenset(computed), prunes)
        if isinstance(value, Autotuner):
            tuner = value
        elif isinstance(value, Heuristics):
            computed |= set(value.values)
        value = next(
            (vars(value)[attribute] for attribute in ("jit_function", "fn") if attribute in _vars(value)),
            None,
        )
    raise UserError(f"{path}: no kernel '{name}' that can be launched")


def _vars(value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(value, "__dict__", {})
    return found


@contextmanager
def replaying(kernel: Launchable) -> Iterator[None]:
    """Within the block, autotuners measure nothing, and the kernel is compiled for every launch anew."""
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner

    @functools.wraps(Autotuner.check_disk_cache)
    def check_disk_cache(_: Any, key: Any, configs: Any, measure: Callable[[], None]) -> bool:
        measure()
        return False

    device = driver.active.get_current_device()
    with ExitStack() as stack:
        kernel.function.device_caches.pop(device, None)
        stack.callback(kernel.function.device_caches.pop, device, None)
        stack.enter_context(patched(Autotuner, "do_bench", property(lambda _: call_once)))
        stack.enter_context(patched(Autotuner, "check_disk_cache", check_disk_cache))
        yield


def replay(kernel: Launchable, case: LaunchCase, constants: Constants) -> None:
    """Launches a kernel with the arguments of `case`. Raises UserError if a launch is not possible."""
    positional, keywords = _arguments(kernel, case, constants)
    _check_all_given(kernel, len(positional), keywords)
    if kernel.tuner is not None:
        kernel.tuner.cache.clear()  # else its other configs are not compiled for another specialization
    try:
        kernel.outer.run(*positional, grid=(1, 1, 1), warmup=False, **keywords)
    except UserError:
        raise
    except Exception as error:  # user code: heuristics, prune functions, hooks
        raise UserError(f"{kernel.function.fn.__name__}: the launch fails: {error_line(error)}") from error


def _check_all_given(kernel: Launchable, positional: int, keywords: Mapping[str, Any]) -> None:
    """Raises UserError if a parameter without a default has no value, as in a launch from a Triton cache."""
    set_later = kernel.tuned | kernel.computed | keywords.keys()
    missing = [
        parameter.name
        for parameter in kernel.function.params[positional:]
        if parameter.name not in set_later and not parameter.has_default
    ]
    if missing:
        raise UserError(
            f"{kernel.function.fn.__name__}: a launch has no {', '.join(missing)}: Triton's cache does not "
            "contain arguments that are None, 1 or a constant; add them to the launch in a plan"
        )


def outcome(kernel: Launchable, case: LaunchCase, constants: Constants) -> Hashable:
    """The configs that a launch leaves after pruning, and what heuristics compute for each.

    The text of the error if the launch fails.
    """
    from triton.runtime.jit import JITFunction

    found: list[Hashable] = []
    names = kernel.tuned | kernel.computed

    def run(function: Any, *_: Any, **keywords: Any) -> None:
        found.append(tuple((name, repr(keywords[name])) for name in sorted(names & keywords.keys())))

    with patched(JITFunction, "run", run):
        try:
            replay(kernel, case, constants)
        except UserError as error:
            return str(error)
    return tuple(found)


def _arguments(
    kernel: Launchable, case: LaunchCase, constants: Constants
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The leading run-time arguments, as most programs pass them by position, and the other arguments."""
    given = {name: argument_object(name, text, name not in case.unaligned) for name, text in case.arguments}
    dropped = kernel.tuned | kernel.computed | _NO_KEYWORDS
    given |= {name: constants.real(value) for name, value in case.constants if name not in dropped}
    positional = []
    for parameter in kernel.function.params:
        if parameter.name not in given or parameter.name in dropped:
            break
        positional.append(given.pop(parameter.name))
    return positional, given


def without_tuned(kernel: Launchable, cases: Sequence[LaunchCase]) -> tuple[LaunchCase, ...]:
    """`cases` without the values that the autotuner and heuristics set; those that are then equal, once."""
    dropped = kernel.tuned | kernel.computed
    bare = (
        LaunchCase(
            case.arguments,
            tuple(sorted((pair for pair in case.constants if pair[0] not in dropped), key=lambda p: p[0])),
            case.unaligned,
            case.choices,
        )
        for case in cases
    )
    return tuple(dict.fromkeys(bare))
