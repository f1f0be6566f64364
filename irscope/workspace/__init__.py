"""The API boundary: an open capture answers every question once, for every view.

Views import everything that they need from here, value types included. `from irscope.workspace import NAME`
imports only the module that defines NAME, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    from irscope.analysis.chart_data import AxisScale as AxisScale, axis_scale as axis_scale
    from irscope.analysis.cache_key_diff import ChangedInput as ChangedInput, Recompilation as Recompilation
    from irscope.analysis.cache_key_diff import key_sentence as key_sentence, reason_text as reason_text
    from irscope.analysis.capture_diff import FactChange as FactChange
    from irscope.analysis.chart_data import (
        EACH as EACH,
        Chart as Chart,
        Point as Point,
        axes as axes,
        chart as chart,
        chartable_facts as chartable_facts,
    )
    from irscope.analysis.compilations import (
        compilation_summary as compilation_summary,
        compilation_totals as compilation_totals,
    )
    from irscope.analysis.compilations import Compilations as Compilations
    from irscope.analysis.divergence import Divergence as Divergence
    from irscope.analysis.finding import Finding as Finding
    from irscope.analysis.pass_history import PassStep as PassStep
    from irscope.analysis.source_map import PythonLine as PythonLine
    from irscope.backends import TARGETS as TARGETS, parse_target as parse_target, stages_for as stages_for
    from irscope.backends.instructions import InstructionKind as InstructionKind
    from irscope.diff.opcode_counts import LineChange as LineChange, by_source_line as by_source_line
    from irscope.diff.rows import (
        Change as Change,
        LayoutChange as LayoutChange,
        Row as Row,
        StageDiff as StageDiff,
    )
    from irscope.diff.summary import (
        first_structural as first_structural,
        short_label as short_label,
        summarize as summarize,
    )
    from irscope.facts.fact import (
        Evidence as Evidence,
        Fact as Fact,
        FactKind as FactKind,
        FactValue as FactValue,
    )
    from irscope.languages.document import Layout as Layout
    from irscope.languages.lexers import lexer_for as lexer_for
    from irscope.languages.registry import strip_debug as strip_debug
    from irscope.layouts.banks import BankConflicts as BankConflicts
    from irscope.layouts.describe import conflicts_text as conflicts_text, ways_text as ways_text
    from irscope.layouts.grid import Grid as Grid, GridCell as GridCell, Window as Window
    from irscope.layouts.kernel_layouts import Picture as Picture
    from irscope.layouts.conversion_cost import Conversion as Conversion
    from irscope.layouts.shared_accesses import AccessConflicts as AccessConflicts
    from irscope.layouts.tensors import Tensor as Tensor
    from irscope.lint.diagnostic import Diagnostic as Diagnostic, Rule as Rule
    from irscope.lint.rules import RULES as RULES
    from irscope.store import CaptureReader as CaptureReader, CaptureWriter as CaptureWriter
    from irscope.store.merge import merge_captures as merge_captures
    from irscope.store.writer import remove_capture as remove_capture
    from irscope.toolchain.disassembler import find_nvdisasm as find_nvdisasm
    from irscope.toolchain.signature import split_signature as split_signature
    from irscope.workspace.capture_comparison import (
        CaptureComparison as CaptureComparison,
        compare_captures as compare_captures,
    )
    from irscope.workspace.checks import (
        CheckResult as CheckResult,
        CheckRule as CheckRule,
        check as check,
        read_rules as read_rules,
    )
    from irscope.workspace.comparison import Comparison as Comparison
    from irscope.workspace.diff_rows import (
        CHANGES as CHANGES,
        Hunk as Hunk,
        RowSide as RowSide,
        Span as Span,
        change_names as change_names,
        count_changes as count_changes,
        counts_text as counts_text,
        hunk_range as hunk_range,
        hunks as hunks,
        reads_differently as reads_differently,
        row_sides as row_sides,
        source_line_counts as source_line_counts,
    )
    from irscope.workspace.layout_view import LayoutView as LayoutView, TensorDrawing as TensorDrawing
    from irscope.workspace.linting import LintResult as LintResult, lint as lint
    from irscope.workspace.passes import (
        OperationEvent as OperationEvent,
        PassChange as PassChange,
        PassDifference as PassDifference,
        PassReport as PassReport,
        PassRow as PassRow,
        PassSummary as PassSummary,
        operation_history as operation_history,
        pass_changes as pass_changes,
        pass_report as pass_report,
    )
    from irscope.workspace.source_listing import (
        InstructionCounts as InstructionCounts,
        Listing as Listing,
        SourceIds as SourceIds,
        assembly_diff as assembly_diff,
        instruction_counts as instruction_counts,
        listings as listings,
        source_chains as source_chains,
    )
    from irscope.workspace.table import (
        UNKNOWN as UNKNOWN,
        ConfigColumn as ConfigColumn,
        FactColumn as FactColumn,
        TableCell as TableCell,
        TableEntry as TableEntry,
        TableSection as TableSection,
        TableView as TableView,
        all_kinds as all_kinds,
        chosen_kinds as chosen_kinds,
        default_kinds as default_kinds,
        minor as minor,
        ranked_pairs as ranked_pairs,
        table_view as table_view,
        varying_kinds as varying_kinds,
    )
    from irscope.workspace.texts import (
        PYTHON as PYTHON,
        TEXTS as TEXTS,
        check_stage as check_stage,
        encoded as encoded,
        text_stages as text_stages,
        variant_texts as variant_texts,
    )
    from irscope.workspace.workspace import Workspace as Workspace
    from irscope.analysis.chart_data import Series as Series
    from irscope.analysis.source_map import SourcePlace as SourcePlace
    from irscope.backends import STAGES as STAGES, stage_named as stage_named
    from irscope.diff.tokens import changed_spans as changed_spans
    from irscope.facts.registry import kinds_for as kinds_for
    from irscope.glossary.glossary import (
        GlossaryEntry as GlossaryEntry,
        entries_in_line as entries_in_line,
        entry_for as entry_for,
    )
    from irscope.languages.registry import line_without_location as line_without_location
    from irscope.store import variant_names as variant_names
    from irscope.workspace.detail import (
        Detail as Detail,
        differs_materially as differs_materially,
        rows_at as rows_at,
    )
    from irscope.workspace.fact_table import FactTable as FactTable
    from irscope.workspace.layout_comparison import (
        DrawingOptions as DrawingOptions,
        LayoutComparison as LayoutComparison,
    )
    from irscope.workspace.live import (
        InProgress as InProgress,
        LiveUpdates as LiveUpdates,
        apply_events as apply_events,
    )
    from irscope.workspace.pass_comparison import PassComparison as PassComparison, PassLine as PassLine
    from irscope.workspace.source_lines import (
        LineOutcome as LineOutcome,
        PythonSource as PythonSource,
        SourceMaps as SourceMaps,
        line_outcomes as line_outcomes,
        python_rows as python_rows,
        python_source as python_source,
        source_maps as source_maps,
    )
    from irscope.workspace.why_lines import (
        StageLine as StageLine,
        TextLine as TextLine,
        compilation_lines as compilation_lines,
        evidence_line as evidence_line,
        pair_lines as pair_lines,
    )

_NAMES = {
    "irscope.analysis.chart_data": "AxisScale EACH Chart Point axes axis_scale chart chartable_facts Series",
    "irscope.analysis.cache_key_diff": "ChangedInput Recompilation key_sentence reason_text",
    "irscope.analysis.capture_diff": "FactChange",
    "irscope.analysis.compilations": "Compilations compilation_summary compilation_totals",
    "irscope.analysis.divergence": "Divergence",
    "irscope.analysis.finding": "Finding",
    "irscope.analysis.pass_history": "PassStep",
    "irscope.analysis.source_map": "PythonLine SourcePlace",
    "irscope.backends": "TARGETS parse_target stages_for STAGES stage_named",
    "irscope.backends.instructions": "InstructionKind",
    "irscope.diff.opcode_counts": "LineChange by_source_line",
    "irscope.diff.rows": "Change LayoutChange Row StageDiff",
    "irscope.diff.summary": "first_structural short_label summarize",
    "irscope.facts.fact": "Evidence Fact FactKind FactValue",
    "irscope.languages.document": "Layout",
    "irscope.languages.lexers": "lexer_for",
    "irscope.languages.registry": "strip_debug line_without_location",
    "irscope.layouts.banks": "BankConflicts",
    "irscope.layouts.describe": "conflicts_text ways_text",
    "irscope.layouts.grid": "Grid GridCell Window",
    "irscope.layouts.kernel_layouts": "Picture",
    "irscope.layouts.conversion_cost": "Conversion",
    "irscope.layouts.shared_accesses": "AccessConflicts",
    "irscope.layouts.tensors": "Tensor",
    "irscope.lint.diagnostic": "Diagnostic Rule",
    "irscope.lint.rules": "RULES",
    "irscope.store": "CaptureReader CaptureWriter variant_names",
    "irscope.store.merge": "merge_captures",
    "irscope.store.writer": "remove_capture",
    "irscope.toolchain.disassembler": "find_nvdisasm",
    "irscope.toolchain.signature": "split_signature",
    "irscope.workspace.capture_comparison": "CaptureComparison compare_captures",
    "irscope.workspace.checks": "CheckResult CheckRule check read_rules",
    "irscope.workspace.comparison": "Comparison",
    "irscope.workspace.diff_rows": (
        "CHANGES Hunk RowSide Span change_names count_changes counts_text hunk_range hunks "
        "reads_differently row_sides source_line_counts "
    ),
    "irscope.workspace.layout_view": "LayoutView TensorDrawing",
    "irscope.workspace.linting": "LintResult lint",
    "irscope.workspace.passes": (
        "OperationEvent PassChange PassDifference PassReport PassRow PassSummary operation_history "
        "pass_changes pass_report "
    ),
    "irscope.workspace.source_listing": (
        "InstructionCounts Listing SourceIds assembly_diff instruction_counts listings source_chains "
    ),
    "irscope.workspace.table": (
        "UNKNOWN ConfigColumn FactColumn TableCell TableEntry TableSection TableView all_kinds "
        "chosen_kinds default_kinds minor ranked_pairs table_view varying_kinds "
    ),
    "irscope.workspace.texts": "PYTHON TEXTS check_stage encoded text_stages variant_texts",
    "irscope.workspace.workspace": "Workspace",
    "irscope.diff.tokens": "changed_spans",
    "irscope.facts.registry": "kinds_for",
    "irscope.glossary.glossary": "GlossaryEntry entries_in_line entry_for",
    "irscope.workspace.detail": "Detail differs_materially rows_at",
    "irscope.workspace.fact_table": "FactTable",
    "irscope.workspace.layout_comparison": "DrawingOptions LayoutComparison",
    "irscope.workspace.live": "InProgress LiveUpdates apply_events",
    "irscope.workspace.pass_comparison": "PassComparison PassLine",
    "irscope.workspace.source_lines": (
        "LineOutcome PythonSource SourceMaps line_outcomes python_rows python_source source_maps "
    ),
    "irscope.workspace.why_lines": "StageLine TextLine compilation_lines evidence_line pair_lines",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'irscope.workspace' has no attribute '{name}'")
    return getattr(import_module(_MODULE_OF[name]), name)
