"""The screens, one per file. To add one over the main screen, write its file and add it here.

Each has OPENED_BY (its key in the main screen, one of OPENING_KEYS), `open` (what that key does), KEYS (its
groups of keys) and PANELS (its panels with keys of their own). The help, the palette and the config file
follow from these. A screen of text is a ReadingScreen, which can search and explain.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, cast

from irscope.tui.bindings import key

if TYPE_CHECKING:
    from irscope.tui.screens.chart import ChartScreen
    from irscope.tui.screens.estimate import EstimateScreen
    from irscope.tui.screens.layout import LayoutScreen
    from irscope.tui.screens.llvm import LlvmScreen
    from irscope.tui.screens.passes import PassesScreen
    from irscope.tui.screens.why import WhyScreen

    _Overlays: TypeAlias = tuple[
        type[LayoutScreen],
        type[ChartScreen],
        type[EstimateScreen],
        type[WhyScreen],
        type[PassesScreen],
        type[LlvmScreen],
    ]

Overlay: TypeAlias = "LayoutScreen | ChartScreen | EstimateScreen | WhyScreen | PassesScreen | LlvmScreen"

# The main screen has the keys when it is painted first; the screens themselves are imported later.
OPEN_LAYOUTS = key(
    "T", "open('layout')", "Tensor layouts: threads, registers and memory", "layouts", name="layout"
)
OPEN_CHART = key(
    "C", "open('chart')", "Chart a fact (the table's column) over the configs", "chart", name="chart"
)
OPEN_ESTIMATE = key(
    "B",
    "open('estimate')",
    "Estimated time of A and B, what bounds it, and why one is slower",
    "bound",
    name="estimate",
)
OPEN_REASONS = key(
    "W", "open('why')", "Why it was compiled again, what changed, was it worth it", "why", name="why"
)
OPEN_PASSES = key(
    "p",
    "open('passes')",
    "Compiler passes, and the one in which A and B diverge",
    "passes",
    name="passes",
)
OPEN_LLVM = key("O", "open('llvm')", "LLVM's passes and what ptxas says; compiles A and B again", name="llvm")
OPENING_KEYS = (OPEN_LAYOUTS, OPEN_CHART, OPEN_ESTIMATE, OPEN_REASONS, OPEN_PASSES, OPEN_LLVM)


# The module and class of each, by the name of its key.
_OVERLAYS = {
    "layout": ("layout", "LayoutScreen"),
    "chart": ("chart", "ChartScreen"),
    "estimate": ("estimate", "EstimateScreen"),
    "why": ("why", "WhyScreen"),
    "passes": ("passes", "PassesScreen"),
    "llvm": ("llvm", "LlvmScreen"),
}


def overlay(name: str) -> type[Overlay]:
    """Return the screen that the key with this name opens over the main one.

    It is imported in 1 to 25 ms.
    """
    module, screen = _OVERLAYS[name]
    screen_class: type[Overlay] = getattr(import_module(f"irscope.tui.screens.{module}"), screen)
    return screen_class


def overlays() -> _Overlays:
    """Return the screens that open over the main one, in the order of their keys."""
    return cast("_Overlays", tuple(map(overlay, _OVERLAYS)))
