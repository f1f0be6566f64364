"""The facts about a launch that an estimate gives.

They are not in the registry, because they need a launch, and time: about 0.1 s per variant. Views ask for
them (`Workspace.estimates`).
"""

from __future__ import annotations

from irscope.facts.fact import FactKind, FactValue, format_value


def microseconds_text(value: FactValue) -> str:
    """A time in microseconds with three digits: "0.12", "43.7", "1,230"."""
    if not isinstance(value, int | float):
        return format_value(value)
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


ESTIMATE = FactKind(
    "estimate", "Estimate us", "microseconds", "low", "estimated time of the first launch, in microseconds",
    "Estimated time", format=microseconds_text,
)  # fmt: skip
BOUND_BY = FactKind("bound", "Bound by", "", "", "what limits the first launch, according to the estimate")
ESTIMATE_KEY = FactKind(
    "estimate_key", "Estimate for", "", "", "the arguments of the launch that is estimated"
)
ESTIMATE_KINDS = (ESTIMATE, BOUND_BY, ESTIMATE_KEY)
# Views that nobody asked for estimates show those of at most so many variants.
MOST_ESTIMATED = 128
