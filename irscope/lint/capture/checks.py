"""All rules about captures, and the one way to run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from irscope.lint.capture.compiled import Compiled
from irscope.lint.capture.keys import KEY, key_changed_nothing
from irscope.lint.capture.launches import LAUNCH, SPILLS, cannot_launch, config_spills
from irscope.lint.capture.loads import NARROW, narrow_access
from irscope.lint.capture.same_code import SAME, same_code
from irscope.lint.capture.sizes import RECOMPILED, constexpr_recompiled
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.suppressions import silenced

CHECKS: Mapping[Rule, Callable[[Compiled], Iterator[Diagnostic]]] = {
    LAUNCH: cannot_launch,
    SPILLS: config_spills,
    SAME: same_code,
    RECOMPILED: constexpr_recompiled,
    KEY: key_changed_nothing,
    NARROW: narrow_access,
}


def lint_compiled(kernels: Sequence[Compiled], rules: frozenset[str]) -> list[Diagnostic]:
    """The problems of these kernels, by file and line; `rules` are the names of those to look for."""
    found = [
        problem
        for compiled in kernels
        for rule, check in CHECKS.items()
        if rule.name in rules
        for problem in check(compiled)
        if not silenced(problem, compiled.lines, compiled.kernel.source.line)
    ]
    return sorted(found, key=lambda one: (one.file, one.line, one.column, one.rule.code, one.message))
