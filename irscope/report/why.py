"""What `irscope why` has to say, before any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.analysis.cache_key_diff import Recompilation
from irscope.analysis.cache_key_text import verdict
from irscope.analysis.compilations import Compilations
from irscope.diff.rows import StageDiff
from irscope.diff.summary import first_structural
from irscope.report.pair_report import PairReport


@dataclass(frozen=True)
class Why:
    """Two variants: what differs between them, which inputs made the second compile, and what spares it."""

    comparison: PairReport
    recompilation: Recompilation
    remedies: Sequence[str]

    @property
    def first(self) -> StageDiff | None:
        """The first compared stage that differs in more than shapes and constants."""
        return first_structural(self.comparison.diffs.values())

    @property
    def verdict(self) -> str:
        """Whether the second compilation was worth it, in one sentence."""
        return verdict(*self.comparison.variants, self.comparison.identical)


@dataclass(frozen=True)
class Story:
    """A whole capture: the compilations of each kernel."""

    capture: str
    kernels: Sequence[Compilations]
