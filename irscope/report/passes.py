"""What `irscope passes` has to say of a variant or two, before any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.divergence import Divergences
from irscope.analysis.pass_history import PassStep
from irscope.diff.rows import Change
from irscope.model import Variant


@dataclass(frozen=True, slots=True)
class PassSummary:
    """A pass with what it did, in a line; `touched` counts the operations of the line asked for."""

    step: PassStep
    summary: str
    touched: Mapping[Change, int] | None = None


# A pass as A and B ran it; None where one did not. Of a single variant, B's are None.
Pair = tuple[PassSummary | None, PassSummary | None]


@dataclass(frozen=True)
class PassReport:
    """The passes that were asked for, in order; `total` counts all of A. `partings` only of two variants."""

    capture: str
    variants: Sequence[Variant]
    names: Sequence[str]
    rows: Sequence[Pair]
    total: Sequence[PassStep]
    partings: Divergences | None = None
