"""irscope: what the Triton compiler made of a kernel under each config, and what differs between two.

`irscope.open` opens a capture, `irscope.capture` captures what a block launches, `irscope.compile` compiles a
kernel under each of its configs. `irscope.fits` and `irscope.prune` drop configs of an autotuner before it
measures them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    from irscope.api import (
        Capture,
        CaptureBlock,
        Choice,
        Comparison,
        Config,
        Divergences,
        Estimate,
        Evidence,
        Fact,
        FactKind,
        Finding,
        Kernel,
        Pick,
        StageDiff,
        Target,
        UserError,
        Variant,
        Verdict,
        capture,
        compile,
        fits,
        open,
        prune,
    )
    from irscope.jobs.warm.expecting import ColdStart, ColdStartError, expect_warm

__version__ = "0.1.0"
__all__ = [
    "Capture",
    "CaptureBlock",
    "Choice",
    "ColdStart",
    "ColdStartError",
    "Comparison",
    "Config",
    "Divergences",
    "Estimate",
    "Evidence",
    "Fact",
    "FactKind",
    "Finding",
    "Kernel",
    "Pick",
    "StageDiff",
    "Target",
    "UserError",
    "Variant",
    "Verdict",
    "capture",
    "compile",
    "expect_warm",
    "fits",
    "open",
    "prune",
]
# The names that production uses: they are imported without the rest of the API.
_WARMING = {
    "ColdStart": "irscope.jobs.warm.expecting",
    "ColdStartError": "irscope.jobs.warm.expecting",
    "expect_warm": "irscope.jobs.warm.expecting",
}


def __getattr__(name: str) -> object:
    """Return the public names, imported when they are first used: the command line needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'irscope' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_WARMING.get(name, "irscope.api")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
