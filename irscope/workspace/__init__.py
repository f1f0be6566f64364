"""The API boundary: an open capture answers every question once, for every view.

Views import everything that they need from here: the Workspace, and the types and functions below, which are
loaded when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from irscope.analysis.axis_ticks import scale as axis_scale
    from irscope.analysis.chart_data import EACH, Chart, Point, Series, axes, chart
    from irscope.analysis.chart_data import charted as chartable_facts
    from irscope.analysis.finding import Finding
    from irscope.analysis.source_map import Place as SourcePlace
    from irscope.backends import STAGES, stage_named, stages_for
    from irscope.diff.rows import Change, Row, StageDiff
    from irscope.diff.summary import short_label, summarize
    from irscope.diff.tokens import changed_spans
    from irscope.facts.fact import Fact, FactKind, FactValue
    from irscope.facts.registry import kinds_for
    from irscope.glossary.glossary import GlossaryEntry, entries_in_line, entry_for
    from irscope.languages.lexers.select import lexer_for
    from irscope.languages.strip_debug import line_without_location
    from irscope.layouts.grid import Grid, GridCell
    from irscope.store import variant_names
    from irscope.workspace.comparison import Comparison
    from irscope.workspace.detail import Detail, differs_materially, rows_at
    from irscope.workspace.fact_table import FactTable
    from irscope.workspace.layout_comparison import DrawingOptions, LayoutComparison, TensorDrawing
    from irscope.workspace.live import InProgress, LiveUpdates, apply_events
    from irscope.workspace.pass_comparison import PassComparison, PassLine
    from irscope.workspace.source_lines import (
        LineOutcome,
        PythonSource,
        SourceMaps,
        line_outcomes,
        python_rows,
        python_source,
        source_maps,
    )
    from irscope.workspace.texts import PYTHON, TEXTS, check_stage, encoded, text_stages, variant_texts
    from irscope.workspace.why_lines import (
        StageLine,
        TextLine,
        compilation_lines,
        evidence_line,
        pair_lines,
    )
    from irscope.workspace.workspace import Workspace

# Module -> the names loaded from it; NAME=ORIGINAL if the module calls it ORIGINAL.
_EXPORTS = {
    "irscope.analysis.axis_ticks": "axis_scale=scale",
    "irscope.analysis.chart_data": "EACH Chart Point Series axes chart chartable_facts=charted",
    "irscope.analysis.finding": "Finding",
    "irscope.analysis.source_map": "SourcePlace=Place",
    "irscope.backends": "STAGES stage_named stages_for",
    "irscope.diff.rows": "Change Row StageDiff",
    "irscope.diff.summary": "short_label summarize",
    "irscope.diff.tokens": "changed_spans",
    "irscope.facts.fact": "Fact FactKind FactValue",
    "irscope.facts.registry": "kinds_for",
    "irscope.glossary.glossary": "GlossaryEntry entries_in_line entry_for",
    "irscope.languages.lexers.select": "lexer_for",
    "irscope.languages.strip_debug": "line_without_location",
    "irscope.layouts.grid": "Grid GridCell",
    "irscope.store": "variant_names",
    "irscope.workspace.comparison": "Comparison",
    "irscope.workspace.detail": "Detail differs_materially rows_at",
    "irscope.workspace.fact_table": "FactTable",
    "irscope.workspace.layout_comparison": "DrawingOptions LayoutComparison TensorDrawing",
    "irscope.workspace.live": "InProgress LiveUpdates apply_events",
    "irscope.workspace.pass_comparison": "PassComparison PassLine",
    "irscope.workspace.source_lines": (
        "LineOutcome PythonSource SourceMaps line_outcomes python_rows python_source source_maps"
    ),
    "irscope.workspace.texts": "PYTHON TEXTS check_stage encoded text_stages variant_texts",
    "irscope.workspace.why_lines": "StageLine TextLine compilation_lines evidence_line pair_lines",
    "irscope.workspace.workspace": "Workspace",
}
_SOURCES = {
    name: (module, original or name)
    for module, names in _EXPORTS.items()
    for name, _, original in (entry.partition("=") for entry in names.split())
}

__all__ = [
    "EACH",
    "PYTHON",
    "STAGES",
    "TEXTS",
    "Change",
    "Chart",
    "Comparison",
    "Detail",
    "DrawingOptions",
    "Fact",
    "FactKind",
    "FactTable",
    "FactValue",
    "Finding",
    "GlossaryEntry",
    "Grid",
    "GridCell",
    "InProgress",
    "LayoutComparison",
    "LineOutcome",
    "LiveUpdates",
    "PassComparison",
    "PassLine",
    "Point",
    "PythonSource",
    "Row",
    "Series",
    "SourceMaps",
    "SourcePlace",
    "StageDiff",
    "StageLine",
    "TensorDrawing",
    "TextLine",
    "Workspace",
    "apply_events",
    "axes",
    "axis_scale",
    "changed_spans",
    "chart",
    "chartable_facts",
    "check_stage",
    "compilation_lines",
    "differs_materially",
    "encoded",
    "entries_in_line",
    "entry_for",
    "evidence_line",
    "kinds_for",
    "lexer_for",
    "line_outcomes",
    "line_without_location",
    "pair_lines",
    "python_rows",
    "python_source",
    "rows_at",
    "short_label",
    "source_maps",
    "stage_named",
    "stages_for",
    "summarize",
    "text_stages",
    "variant_names",
    "variant_texts",
]


def __getattr__(name: str) -> object:
    """An exported name, imported when it is first used."""
    if name not in _SOURCES:
        raise AttributeError(f"module 'irscope.workspace' has no attribute '{name}'")
    from importlib import import_module

    module, original = _SOURCES[name]
    value = globals()[name] = getattr(import_module(module), original)
    return value
