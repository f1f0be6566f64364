"""The screens, one per file. To add one over the main screen, write its file and add it to OVERLAYS.

Each has OPENED_BY (its key in the main screen), `open` (what that key does), KEYS (its groups of keys) and
PANELS (its panels with keys of their own). The help, the palette and the config file follow from these. A
screen of text is a ReadingScreen, which can search and explain.
"""

from irscope.tui.screens.chart import ChartScreen
from irscope.tui.screens.layout import LayoutScreen
from irscope.tui.screens.passes import PassesScreen
from irscope.tui.screens.why import WhyScreen

OVERLAYS = (LayoutScreen, ChartScreen, WhyScreen, PassesScreen)
Overlay = LayoutScreen | ChartScreen | WhyScreen | PassesScreen
