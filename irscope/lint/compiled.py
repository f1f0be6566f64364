"""The input of a rule about a capture: one kernel, compiled for one target.

The recorded launches of a compiled kernel, with what is known of the values in its TTIR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from irscope.diff.def_use import Definition, Definitions, definitions
from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.global_accesses import GlobalAccess, global_accesses
from irscope.facts.accesses.launch_values import LaunchValue, launch_values
from irscope.facts.fact import Fact, FactValue, status_of
from irscope.facts.source.tokens import def_index
from irscope.languages.document import Document
from irscope.languages.language import parse
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model import Kernel, Launch, Target, Variant
from irscope.model.records import frozen, frozen_with_dict

if TYPE_CHECKING:
    from irscope.lint.executed import ExecutedLaunch

ReadStage = Callable[[Variant, str], bytes | None]

_MAX_LISTED = 3
_MAX_OPERATIONS = 5_000
_TTIR = "mlir"


@frozen
class ChangedResults:
    """A launch at which configs of a kernel compute other bits: the values `names` of a config decide.

    `executed` configs show it. `sizes` are the numbers among the arguments. `reason` says what two of them do
    differently, `line 27 (...): A ...; B ...`, at `line` of the file (None: unknown).
    """

    launch: str
    names: Sequence[str]
    executed: int
    sizes: Sequence[str]
    reason: str
    line: int | None


@frozen_with_dict
class CompiledKernel:
    """The variants of one kernel for one target.

    `names` (short names) and `facts` are by variant id; `read` returns a stage's content, None if the
    variant lacks it; `document` parses a stage that it has, located in the captured source.
    `changed_results` executes a few variants; None if they compute the same bits, as far as is known.
    `launched` yields the launches that rules may execute, each once. Rules add to `notes` what they
    could not decide.
    """

    variants: Sequence[Variant]
    names: Mapping[int, str]
    facts: Mapping[int, Mapping[str, Fact]]
    read: ReadStage
    document: Callable[[Variant, str], Document]
    changed_results: Callable[[Sequence[Variant]], ChangedResults | None] = lambda variants: None
    launched: Callable[[Sequence[Variant]], Iterator[ExecutedLaunch]] = lambda variants: iter(())
    notes: list[str] = field(default_factory=list, compare=False)

    @property
    def kernel(self) -> Kernel:
        """Return the kernel."""
        return self.variants[0].kernel

    @property
    def target(self) -> Target:
        """Return the target."""
        return self.variants[0].target

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines of the kernel's source, including its decorators."""
        return self.kernel.source.text.split("\n")

    def text(self, variant: Variant, stage: str) -> str | None:
        """Return the text of a stage, or None if the variant lacks it."""
        content = self.read(variant, stage)
        return None if content is None else content.decode("utf-8", "replace")

    def definitions(self, variant: Variant, stage: str) -> Definitions:
        """Return the def-use chains of a stage."""
        document = self.document(variant, stage)
        if document.text not in self._definitions:
            self._definitions[document.text] = definitions(document)
        return self._definitions[document.text]

    @cached_property
    def _definitions(self) -> dict[str, Definitions]:
        """Map texts of stages to their def-use chains: configs often share a stage, and rules do."""
        return {}

    def flow(self, variant: Variant) -> AxisFlow | None:
        """Return the data flow of a variant's TTIR, or None if it has none or is too large to analyze."""
        artifact = variant.artifacts.get("ttir")
        key = artifact.digest if artifact else str(variant.id)
        if key not in self._flows:
            text = self.text(variant, "ttir")
            document = parse(text, _TTIR) if text is not None else None
            small = document is not None and len(document.operations) <= _MAX_OPERATIONS
            self._flows[key] = AxisFlow(document) if document is not None and small else None
        return self._flows[key]

    @cached_property
    def _flows(self) -> dict[str, AxisFlow | None]:
        """Map a digest of TTIR to its data flow: configs that differ in num_warps or num_stages share it."""
        return {}

    @property
    def head_lines(self) -> tuple[int, ...]:
        """Return the lines of the file up to the kernel's `def`.

        A comment there applies to the whole kernel.
        """
        first = self.kernel.source.line
        return tuple(range(first, first + def_index(self.lines) + 1))

    def value(self, variant: Variant, name: str) -> FactValue:
        """Return a fact's value, or None if it is unknown."""
        facts = self.facts[variant.id]
        return facts[name].value if name in facts else None

    def launches(self, variant: Variant) -> bool:
        """Return True if no known limit prevents launching a variant."""
        status = status_of(variant, self.facts[variant.id])
        return status is None or status.ok

    def number(self, variant: Variant, name: str) -> float:
        """Return a numeric fact, or 0 if it is unknown."""
        value = self.value(variant, name)
        return value if isinstance(value, int | float) else 0

    def listed(self, variants: Sequence[Variant]) -> str:
        """Return the first of `variants` by name, and how many more there are."""
        named = [f"#{variant.id} {self.names[variant.id]}" for variant in variants[:_MAX_LISTED]]
        more = len(variants) - len(named)
        return "; ".join([*named, *([f"and {more:,} more"] if more else [])])

    def share(self, variants: Sequence[Variant]) -> str:
        """Return the number of variants and the total: "2 of 10 variants"."""
        return f"{len(variants):,} of {len(self.variants):,} variants"

    def diagnostic(self, rule: Rule, message: str, fix: str, line: int | None = None) -> Diagnostic:
        """Make a diagnostic of this kernel, at `line` of its file or, without it, at its `def`."""
        source, head = self.kernel.source, self.head_lines
        reported_line = head[-1] if line is None else line
        text = (
            self.lines[reported_line - source.line]
            if 0 <= reported_line - source.line < len(self.lines)
            else ""
        )
        column = len(text) - len(text.lstrip()) + 1
        return Diagnostic(rule, source.file, reported_line, column, message, fix, head)


# A tensor as recorded: "float16[512, 64]"; " strides [...]" follows if it is not contiguous.
_TENSOR = re.compile(r"\w+\[([\d, ]*)\]$")
_LOOPS = ("tt.func", "scf.for", "module", "builtin.module")


@frozen
class LaunchedVariant:
    """A variant and one of its launches, None if none was recorded."""

    variant: Variant
    launch: Launch | None
    flow: AxisFlow
    values: Mapping[Definition, LaunchValue]

    def accesses(self) -> Iterator[tuple[GlobalAccess, LaunchValue]]:
        """Yield the global loads and stores that the last program surely runs, with their pointers."""
        for access in global_accesses(self.flow):
            pointer = self.values.get(access.pointer)
            if pointer is not None and pointer.base and self._runs(access.index):
                yield access, pointer

    def elements(self, parameter: str) -> int | None:
        """Return the elements of the tensor passed for a parameter, or None if unknown or not contiguous."""
        sizes = self.sizes(parameter)
        return None if sizes is None else prod(sizes)

    def sizes(self, parameter: str) -> tuple[int, ...] | None:
        """Return the shape of the contiguous tensor passed for a parameter, or None if it is unknown."""
        text = dict(self.launch.arguments).get(parameter, "") if self.launch else ""
        match = _TENSOR.match(text)
        if match is None:
            return None
        return tuple(int(size) for size in match[1].split(",") if size.strip())

    def _runs(self, index: int) -> bool:
        """Return True if an operation is in no branch, and in no loop that may not run."""
        operations = self.flow.operations
        parent = operations[index].parent
        while parent >= 0:
            opcode = operations[parent].opcode
            if opcode not in _LOOPS:
                return False
            if opcode == "scf.for" and Definition(parent, True, 0) not in self.values:
                return False
            parent = operations[parent].parent
        return True


def launched_variants(compiled: CompiledKernel) -> Iterator[LaunchedVariant]:
    """Yield each variant with each of its recorded launches; variants without TTIR are left out."""
    for variant in compiled.variants:
        flow = compiled.flow(variant)
        for launch in variant.launches if flow is not None else ():
            if flow is not None:
                yield LaunchedVariant(variant, launch, flow, launch_values(flow, launch))
