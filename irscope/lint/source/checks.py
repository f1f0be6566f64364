"""All rules about source, and the one way to run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.blocks import BLOCK, block_not_power_of_two
from irscope.lint.source.configs import ONE, TWICE, duplicate_config, one_config
from irscope.lint.source.grid import GRID, grid_before_config
from irscope.lint.source.keys import (
    MISSING,
    POINTER,
    UNKNOWN_NAME,
    UNUSED,
    key_missing,
    key_pointer,
    key_unused,
    unknown_parameter,
)
from irscope.lint.source.masks import MASK, unspecialized_bound
from irscope.lint.source.module import PythonModule
from irscope.lint.source.prune import PRUNE, prune_signature
from irscope.lint.source.sizes import SIZE, constexpr_size
from irscope.lint.source.tolerance import TOLERANCE, tolerance_too_tight
from irscope.lint.suppressions import silenced

CHECKS: Mapping[Rule, Callable[[PythonModule], Iterator[Diagnostic]]] = {
    GRID: grid_before_config,
    ONE: one_config,
    TWICE: duplicate_config,
    PRUNE: prune_signature,
    UNKNOWN_NAME: unknown_parameter,
    UNUSED: key_unused,
    POINTER: key_pointer,
    MISSING: key_missing,
    BLOCK: block_not_power_of_two,
    MASK: unspecialized_bound,
    SIZE: constexpr_size,
    TOLERANCE: tolerance_too_tight,
}


def lint_source(text: str, path: str, rules: frozenset[str]) -> list[Diagnostic]:
    """The problems in a Python file, by line; `rules` are the names of those to look for.

    Raises SyntaxError or ValueError where `text` is no Python.
    """
    module = PythonModule(text, path)
    if "triton" not in text:
        return []
    found = [problem for rule, check in CHECKS.items() if rule.name in rules for problem in check(module)]
    kept = [problem for problem in dict.fromkeys(found) if not silenced(problem, module.lines)]
    return sorted(kept, key=lambda problem: (problem.line, problem.column, problem.rule.code))
