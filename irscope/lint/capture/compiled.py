"""What the rules about a capture are given: one kernel for one target, as it was compiled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.facts.fact import Fact, FactValue, status_of
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model import Kernel, Target, Variant

Read = Callable[[Variant, str], bytes | None]

_DEF = re.compile(r"[ \t]*(?:async[ \t]+)?def\b")
_MOST_NAMED = 3


@dataclass(frozen=True)
class Compiled:
    """The variants of one kernel for one target. `names` are their short names and `facts` their facts, by
    variant id; `read` gives a stage's content.
    """

    variants: Sequence[Variant]
    names: Mapping[int, str]
    facts: Mapping[int, Mapping[str, Fact]]
    read: Read

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.variants[0].kernel

    @property
    def target(self) -> Target:
        """The target."""
        return self.variants[0].target

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the kernel's source, decorators included."""
        return self.kernel.source.text.split("\n")

    @property
    def head_lines(self) -> tuple[int, ...]:
        """The lines of the file up to the kernel's `def`, where a comment is about all of it."""
        last = next((at for at, line in enumerate(self.lines) if _DEF.match(line)), 0)
        return tuple(range(self.kernel.source.line, self.kernel.source.line + last + 1))

    def value(self, variant: Variant, name: str) -> FactValue:
        """A fact's value; None where it is not known."""
        facts = self.facts[variant.id]
        return facts[name].value if name in facts else None

    def launches(self, variant: Variant) -> bool:
        """Whether nothing speaks against launching a variant."""
        status = status_of(variant, self.facts[variant.id])
        return status is None or status.ok

    def number(self, variant: Variant, name: str) -> float:
        """A fact that is a number; 0 where it is not known."""
        value = self.value(variant, name)
        return value if isinstance(value, int | float) else 0

    def listed(self, variants: Sequence[Variant]) -> str:
        """The first of `variants` by name, and how many more there are."""
        named = [f"#{variant.id} {self.names[variant.id]}" for variant in variants[:_MOST_NAMED]]
        more = len(variants) - len(named)
        return "; ".join([*named, *([f"and {more:,} more"] if more else [])])

    def problem(self, rule: Rule, message: str, fix: str, line: int | None = None) -> Diagnostic:
        """A problem of this kernel, at its `def` unless a line of it is given."""
        source, head = self.kernel.source, self.head_lines
        place = head[-1] if line is None else line
        own = self.lines[place - source.line] if 0 <= place - source.line < len(self.lines) else ""
        column = len(own) - len(own.lstrip()) + 1
        return Diagnostic(rule, source.file, place, column, message, fix, head)
