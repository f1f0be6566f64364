"""The screens, one per file. To add one over the main screen, write its file and add it here.

Each has OPENED_BY (its key in the main screen, one of OPENING_KEYS), `open` (what that key does), KEYS (its
groups of keys) and PANELS (its panels with keys of their own). The help, the palette and the config file
follow from these. A screen of text is a ReadingScreen, which can search and explain.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from irscope.tui.bindings import Action, act

if TYPE_CHECKING:
    from irscope.tui.screens.chart import ChartScreen
    from irscope.tui.screens.compare import CompareScreen
    from irscope.tui.screens.documents import DocumentScreen
    from irscope.tui.screens.layout import LayoutScreen
    from irscope.tui.screens.passes import PassesScreen
    from irscope.tui.screens.timeline import TimelineScreen

    Overlay: TypeAlias = type[LayoutScreen | ChartScreen | DocumentScreen | PassesScreen | TimelineScreen]


def _opening(
    keys: str,
    name: str,
    tooltip: str,
    hint: str = "",
    problem: Callable[[CompareScreen], str] = lambda screen: "",
) -> Action:
    """Create the action that opens the screen `name` over the main one."""
    return act(keys, name, tooltip, lambda screen: screen.open_overlay(name), hint, problem=problem)


def _no_layouts(screen: CompareScreen) -> str:
    return (
        ""
        if "ttgir" in screen.pair.stages
        else "There are no layouts without TTGIR; J shows the next variant"
    )


def _no_timeline(screen: CompareScreen) -> str:
    return (
        ""
        if "ttgir" in screen.pair.stages
        else "There is no timeline without TTGIR; J shows the next variant"
    )


def _no_launches(screen: CompareScreen) -> str:
    if screen.pair.a.launches or screen.pair.b.launches:
        return ""
    return "No launches were recorded; irscope pick --launch estimates one that you write"


def _no_passes(screen: CompareScreen) -> str:
    if screen.pair.has_passes or screen.can_compile:
        return ""
    return "No passes were recorded; compile with --passes, or open the capture in a terminal"


# The main screen has the keys when it is painted first; the screens themselves are imported later.
OPEN_LAYOUTS = _opening(
    "T", "layout", "Tensor layouts: threads, registers and memory", "layouts", _no_layouts
)
OPEN_CHART = _opening("C", "chart", "Chart a fact (the table's column) over the configs", "chart")
OPEN_ESTIMATE = _opening(
    "B", "estimate", "Estimated time of A and B, what bounds it, why one is slower", "bound", _no_launches
)
OPEN_REASONS = _opening("W", "why", "Why it was compiled again, what changed, was it worth it", "why")
OPEN_PASSES = _opening(
    "p", "passes", "Compiler passes, and the one in which A and B diverge", "passes", _no_passes
)
OPEN_BITS = _opening("I", "bits", "Do A and B compute the same bits, and which line decides", "bits")
OPEN_TIMELINE = _opening(
    "P",
    "timeline",
    "The pipeline in time: what is in flight, and what waits for it",
    "pipeline",
    _no_timeline,
)
OPENING_KEYS = (
    OPEN_LAYOUTS,
    OPEN_CHART,
    OPEN_ESTIMATE,
    OPEN_REASONS,
    OPEN_BITS,
    OPEN_PASSES,
    OPEN_TIMELINE,
)


# The module and class of each, by the name of its key.
_OVERLAYS = {
    "layout": ("layout", "LayoutScreen"),
    "chart": ("chart", "ChartScreen"),
    "estimate": ("estimate", "EstimateScreen"),
    "why": ("documents", "WhyScreen"),
    "bits": ("equal_bits", "BitsScreen"),
    "passes": ("passes", "PassesScreen"),
    "timeline": ("timeline", "TimelineScreen"),
}


def overlay(name: str) -> Overlay:
    """Return the screen that the key with this name opens over the main one.

    It is imported in 1 to 25 ms.
    """
    module, screen = _OVERLAYS[name]
    screen_class: Overlay = getattr(import_module(f"irscope.tui.screens.{module}"), screen)
    return screen_class


def overlays() -> list[Overlay]:
    """Return the screens that open over the main one, in the order of their keys."""
    return list(map(overlay, _OVERLAYS))
