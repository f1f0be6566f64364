"""The estimate of one launch: the time in microseconds, the bound, and the terms that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from irscope.facts.fact import Evidence
from irscope.model.records import frozen
from irscope.model.text import microseconds_text

# The terms by the names that people know them by, in the order of the documentation.
LATENCY, TENSOR, MEMORY, L2 = "latency", "tensor cores", "memory", "L2"
SHARED, ISSUE, SPECIAL, SPILLS = "shared memory", "issue", "special functions", "spills"
ATOMICS, STORES, TAIL, OVERHEAD = "atomics", "stores", "tail", "launch overhead"
PROGRAMS, FETCH, EXPOSED, RAMP = "program launches", "instruction fetch", "no overlap", "ramp"
FABRIC = "Infinity Cache"


@frozen
class Term:
    """One resource that a launch uses: how long the launch takes if nothing else limits it.

    `name` is the resource: "tensor cores", "L2", "latency" or another one. `microseconds` is the
    time. `text` says how the time comes about, with numbers and units; `evidence` are the lines that show it.
    """

    name: str
    microseconds: float
    text: str
    evidence: tuple[Evidence, ...] = ()


@frozen
class Estimate:
    """How long one launch takes.

    `microseconds` is the time of the launch, `device` the name of the GPU that it is for. `bound` is the name
    of the largest term. `terms` are in descending order of time. `facts` are the numbers that the terms are
    made of, by name, with the unit in the name. `notes` say what was not known, `limits` among them what the
    model does not know about this kind of kernel. `complete` is false if the work was not counted to its end:
    the time is then too short. `depends` are tensors whose values are not known and decide which programs
    work, and how long ("lengths (line 24)"): the time is then that of one possibility. `cache_risk` is by
    how much longer the launch takes if L2 keeps a quarter of what it is taken to keep: 0.2 is 20 %.
    """

    microseconds: float
    bound: str
    terms: tuple[Term, ...]
    device: str
    facts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    complete: bool = True
    limits: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    cache_risk: float = 0.0

    @property
    def text(self) -> str:
        """Return the time with three digits, `1,230`; with a question mark if values decide it."""
        return f"{microseconds_text(self.microseconds)}{'?' if self.depends else ''}"

    def __repr__(self) -> str:
        return f"Estimate({self.microseconds:,.1f} us on {self.device}, bound by {self.bound})"

    def _repr_html_(self) -> str:
        from irscope.model.text import html_list, html_paragraph, html_table, html_text

        rows = [(html_text(t.name), f"{t.microseconds:,.1f}", html_text(t.text)) for t in self.terms]
        notes = html_list(self.notes)
        return html_paragraph(repr(self), bold=True) + html_table(("term", "us", "made of"), rows) + notes

    def term(self, name: str) -> Term | None:
        """Return the term of a name, or None if the launch does not use that resource."""
        return next((term for term in self.terms if term.name == name), None)
