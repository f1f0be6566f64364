"""The API boundary: an open capture answers every question once, for every view.

Views import everything that they need from here, value types included. Each name is loaded from its own
module when it is first used, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    from irscope.analysis.cache_key_diff import ChangedInput, Recompilation, key_sentence, reason_text
    from irscope.analysis.capture_diff import FactChange
    from irscope.analysis.chart_data import (
        EACH,
        AxisScale,
        Chart,
        Point,
        Series,
        axes,
        axis_scale,
        chart,
        chartable_facts,
    )
    from irscope.analysis.compilations import Compilations, compilation_summary, compilation_totals
    from irscope.analysis.divergence import Divergence, Divergences
    from irscope.analysis.expectations import parse_expectation, unmet
    from irscope.analysis.finding import Finding
    from irscope.analysis.pass_history import PassStep
    from irscope.analysis.source_map import PythonLine, SourcePlace
    from irscope.backends import STAGES, TARGETS, parse_target, stage_named, stages_for
    from irscope.backends.instructions import InstructionKind
    from irscope.diff.opcode_counts import LineChange, by_source_line
    from irscope.diff.rows import Change, LayoutChange, Row, StageDiff
    from irscope.diff.summary import first_structural, short_label, summarize
    from irscope.diff.tokens import changed_spans
    from irscope.facts.fact import Evidence, Fact, FactKind, FactValue
    from irscope.facts.registry import FACT_KINDS, kinds_for
    from irscope.glossary.glossary import (
        GlossaryEntry,
        entries_in_line,
        entry_for,
        find_entries,
        glossary_entries,
        similar_names,
    )
    from irscope.languages.document import Document, Layout
    from irscope.languages.lexers import lexer_for
    from irscope.languages.registry import line_without_location, strip_debug
    from irscope.layouts.banks import BankConflicts
    from irscope.layouts.conversion_cost import Conversion
    from irscope.layouts.describe import conflicts_text, ways_text
    from irscope.layouts.grid import Grid, GridCell, Window
    from irscope.layouts.kernel_layouts import KernelLayouts, Picture
    from irscope.layouts.shared_accesses import AccessConflicts
    from irscope.layouts.tensors import Tensor
    from irscope.lint.diagnostic import Diagnostic, Rule
    from irscope.lint.linter import lint_source
    from irscope.lint.rules import RULES, SOURCE_RULES
    from irscope.store import CaptureReader, CaptureWriter, variant_names
    from irscope.store.merge import merge_captures
    from irscope.store.writer import remove_capture
    from irscope.toolchain.disassembler import find_nvdisasm
    from irscope.toolchain.signature import split_signature
    from irscope.workspace.capture_comparison import CaptureComparison, compare_captures
    from irscope.workspace.checks import CheckResult, CheckRule, check, read_rules
    from irscope.workspace.comparison import Comparison
    from irscope.workspace.detail import Detail, differs_materially, rows_at
    from irscope.workspace.diff_rows import (
        CHANGES,
        Hunk,
        RowSide,
        Span,
        change_names,
        count_changes,
        counts_text,
        hunk_range,
        hunks,
        reads_differently,
        row_sides,
        source_line_counts,
    )
    from irscope.workspace.fact_table import FactTable
    from irscope.workspace.layout_comparison import LayoutComparison
    from irscope.workspace.linting import LintResult, lint
    from irscope.workspace.live import InProgress, LiveUpdates, apply_events
    from irscope.workspace.pass_comparison import PassChange, PassComparison, PassDifference, PassLine
    from irscope.workspace.pass_reports import (
        OperationEvent,
        PassReport,
        operation_history,
        pass_changes,
        pass_report,
    )
    from irscope.workspace.source_lines import (
        InstructionCounts,
        LineOutcome,
        Listing,
        PythonSource,
        SourceMaps,
        assembly_stage,
        instruction_counts,
        line_outcomes,
        listings,
        python_rows,
        python_source,
        source_chains,
        source_maps,
    )
    from irscope.workspace.table import (
        UNKNOWN,
        ConfigColumn,
        FactColumn,
        TableCell,
        TableEntry,
        TableSection,
        TableView,
        all_kinds,
        chosen_kinds,
        default_kinds,
        minor,
        ranked_pairs,
        table_view,
        varying_kinds,
    )
    from irscope.workspace.texts import PYTHON, TEXTS, check_stage, encoded, text_stages, variant_texts
    from irscope.workspace.variant_layouts import (
        DrawingOptions,
        LayoutDrawing,
        VariantLayouts,
        listed_tensors,
    )
    from irscope.workspace.why_lines import StageLine, TextLine, compilation_lines, evidence_line, pair_lines
    from irscope.workspace.workspace import Workspace

# Module -> the names loaded from it.
_EXPORTS = {
    "irscope.analysis.cache_key_diff": "ChangedInput Recompilation key_sentence reason_text",
    "irscope.analysis.capture_diff": "FactChange",
    "irscope.analysis.chart_data": (
        "AxisScale Chart EACH Point Series axes axis_scale chart chartable_facts"
    ),
    "irscope.analysis.compilations": "Compilations compilation_summary compilation_totals",
    "irscope.analysis.divergence": "Divergence Divergences",
    "irscope.analysis.expectations": "parse_expectation unmet",
    "irscope.analysis.finding": "Finding",
    "irscope.analysis.pass_history": "PassStep",
    "irscope.analysis.source_map": "PythonLine SourcePlace",
    "irscope.backends": "STAGES TARGETS parse_target stage_named stages_for",
    "irscope.backends.instructions": "InstructionKind",
    "irscope.diff.opcode_counts": "LineChange by_source_line",
    "irscope.diff.rows": "Change LayoutChange Row StageDiff",
    "irscope.diff.summary": "first_structural short_label summarize",
    "irscope.diff.tokens": "changed_spans",
    "irscope.facts.fact": "Evidence Fact FactKind FactValue",
    "irscope.facts.registry": "FACT_KINDS kinds_for",
    "irscope.glossary.glossary": (
        "GlossaryEntry entries_in_line entry_for find_entries glossary_entries similar_names"
    ),
    "irscope.languages.document": "Document Layout",
    "irscope.languages.lexers": "lexer_for",
    "irscope.languages.registry": "line_without_location strip_debug",
    "irscope.layouts.banks": "BankConflicts",
    "irscope.layouts.conversion_cost": "Conversion",
    "irscope.layouts.describe": "conflicts_text ways_text",
    "irscope.layouts.grid": "Grid GridCell Window",
    "irscope.layouts.kernel_layouts": "KernelLayouts Picture",
    "irscope.layouts.shared_accesses": "AccessConflicts",
    "irscope.layouts.tensors": "Tensor",
    "irscope.lint.diagnostic": "Diagnostic Rule",
    "irscope.lint.linter": "lint_source",
    "irscope.lint.rules": "RULES SOURCE_RULES",
    "irscope.store": "CaptureReader CaptureWriter variant_names",
    "irscope.store.merge": "merge_captures",
    "irscope.store.writer": "remove_capture",
    "irscope.toolchain.disassembler": "find_nvdisasm",
    "irscope.toolchain.signature": "split_signature",
    "irscope.workspace.capture_comparison": "CaptureComparison compare_captures",
    "irscope.workspace.checks": "CheckResult CheckRule check read_rules",
    "irscope.workspace.comparison": "Comparison",
    "irscope.workspace.detail": "Detail differs_materially rows_at",
    "irscope.workspace.diff_rows": (
        "CHANGES Hunk RowSide Span change_names count_changes counts_text hunk_range hunks "
        "reads_differently row_sides source_line_counts"
    ),
    "irscope.workspace.fact_table": "FactTable",
    "irscope.workspace.layout_comparison": "LayoutComparison",
    "irscope.workspace.linting": "LintResult lint",
    "irscope.workspace.live": "InProgress LiveUpdates apply_events",
    "irscope.workspace.pass_comparison": "PassChange PassComparison PassDifference PassLine",
    "irscope.workspace.pass_reports": (
        "OperationEvent PassReport operation_history pass_changes pass_report"
    ),
    "irscope.workspace.source_lines": (
        "InstructionCounts LineOutcome Listing PythonSource SourceMaps assembly_stage instruction_counts "
        "line_outcomes listings python_rows python_source source_chains source_maps"
    ),
    "irscope.workspace.table": (
        "ConfigColumn FactColumn TableCell TableEntry TableSection TableView UNKNOWN all_kinds "
        "chosen_kinds default_kinds minor ranked_pairs table_view varying_kinds"
    ),
    "irscope.workspace.texts": "PYTHON TEXTS check_stage encoded text_stages variant_texts",
    "irscope.workspace.variant_layouts": "DrawingOptions LayoutDrawing VariantLayouts listed_tensors",
    "irscope.workspace.why_lines": "StageLine TextLine compilation_lines evidence_line pair_lines",
    "irscope.workspace.workspace": "Workspace",
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}

__all__ = [
    "CHANGES",
    "EACH",
    "FACT_KINDS",
    "PYTHON",
    "RULES",
    "SOURCE_RULES",
    "STAGES",
    "TARGETS",
    "TEXTS",
    "UNKNOWN",
    "AccessConflicts",
    "AxisScale",
    "BankConflicts",
    "CaptureComparison",
    "CaptureReader",
    "CaptureWriter",
    "Change",
    "ChangedInput",
    "Chart",
    "CheckResult",
    "CheckRule",
    "Comparison",
    "Compilations",
    "ConfigColumn",
    "Conversion",
    "Detail",
    "Diagnostic",
    "Divergence",
    "Divergences",
    "Document",
    "DrawingOptions",
    "Evidence",
    "Fact",
    "FactChange",
    "FactColumn",
    "FactKind",
    "FactTable",
    "FactValue",
    "Finding",
    "GlossaryEntry",
    "Grid",
    "GridCell",
    "Hunk",
    "InProgress",
    "InstructionCounts",
    "InstructionKind",
    "KernelLayouts",
    "Layout",
    "LayoutChange",
    "LayoutComparison",
    "LayoutDrawing",
    "LineChange",
    "LineOutcome",
    "LintResult",
    "Listing",
    "LiveUpdates",
    "OperationEvent",
    "PassChange",
    "PassComparison",
    "PassDifference",
    "PassLine",
    "PassReport",
    "PassStep",
    "Picture",
    "Point",
    "PythonLine",
    "PythonSource",
    "Recompilation",
    "Row",
    "RowSide",
    "Rule",
    "Series",
    "SourceMaps",
    "SourcePlace",
    "Span",
    "StageDiff",
    "StageLine",
    "TableCell",
    "TableEntry",
    "TableSection",
    "TableView",
    "Tensor",
    "TextLine",
    "VariantLayouts",
    "Window",
    "Workspace",
    "all_kinds",
    "apply_events",
    "assembly_stage",
    "axes",
    "axis_scale",
    "by_source_line",
    "change_names",
    "changed_spans",
    "chart",
    "chartable_facts",
    "check",
    "check_stage",
    "chosen_kinds",
    "compare_captures",
    "compilation_lines",
    "compilation_summary",
    "compilation_totals",
    "conflicts_text",
    "count_changes",
    "counts_text",
    "default_kinds",
    "differs_materially",
    "encoded",
    "entries_in_line",
    "entry_for",
    "evidence_line",
    "find_entries",
    "find_nvdisasm",
    "first_structural",
    "glossary_entries",
    "hunk_range",
    "hunks",
    "instruction_counts",
    "key_sentence",
    "kinds_for",
    "lexer_for",
    "line_outcomes",
    "line_without_location",
    "lint",
    "lint_source",
    "listed_tensors",
    "listings",
    "merge_captures",
    "minor",
    "operation_history",
    "pair_lines",
    "parse_expectation",
    "parse_target",
    "pass_changes",
    "pass_report",
    "python_rows",
    "python_source",
    "ranked_pairs",
    "read_rules",
    "reads_differently",
    "reason_text",
    "remove_capture",
    "row_sides",
    "rows_at",
    "short_label",
    "similar_names",
    "source_chains",
    "source_line_counts",
    "source_maps",
    "split_signature",
    "stage_named",
    "stages_for",
    "strip_debug",
    "summarize",
    "table_view",
    "text_stages",
    "unmet",
    "variant_names",
    "variant_texts",
    "varying_kinds",
    "ways_text",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'irscope.workspace' has no attribute '{name}'")
    return getattr(import_module(_MODULE_OF[name]), name)
