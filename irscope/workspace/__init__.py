"""The API boundary: an open capture answers every question once, for every view.

Views import everything that they need from here, value types included. Each name is loaded from its own
module when it is first used, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    # "as" marks what type checkers see from outside.
    from irscope.compiling.processes.disassembler import find_nvdisasm as find_nvdisasm
    from irscope.compiling.python_files import module_file as module_file
    from irscope.diff.rows import Change as Change
    from irscope.diff.rows import LayoutChange as LayoutChange
    from irscope.diff.rows import Row as Row
    from irscope.diff.rows import StageDiff as StageDiff
    from irscope.diff.rows import by_source_line as by_source_line
    from irscope.diff.rows import first_structural as first_structural
    from irscope.diff.rows import short_label as short_label
    from irscope.diff.rows import summarize as summarize
    from irscope.estimating.terms import Estimate as Estimate
    from irscope.facts.fact import ESTIMATE_KINDS as ESTIMATE_KINDS
    from irscope.facts.fact import MOST_ESTIMATED as MOST_ESTIMATED
    from irscope.facts.fact import Evidence as Evidence
    from irscope.facts.fact import Fact as Fact
    from irscope.facts.fact import FactKind as FactKind
    from irscope.facts.fact import FactValue as FactValue
    from irscope.facts.fact import microseconds_text as microseconds_text
    from irscope.facts.registers.live_values import LiveValue as LiveValue
    from irscope.facts.registers.live_values import SourceLine as SourceLine
    from irscope.facts.registers.live_values import SpilledValue as SpilledValue
    from irscope.facts.registers.register_report import RegisterReport as RegisterReport
    from irscope.facts.registers.register_report import TensorInRegisters as TensorInRegisters
    from irscope.facts.registry import kinds_for as kinds_for
    from irscope.facts.source.map import PythonLine as PythonLine
    from irscope.facts.source.map import SourcePlace as SourcePlace
    from irscope.findings.cache_key_diff import ChangedInput as ChangedInput
    from irscope.findings.cache_key_diff import reason_text as reason_text
    from irscope.findings.compilations import Compilations as Compilations
    from irscope.findings.finding import Finding as Finding
    from irscope.findings.passes import Divergence as Divergence
    from irscope.findings.passes import Divergences as Divergences
    from irscope.glossary.glossary import GlossaryEntry as GlossaryEntry
    from irscope.glossary.glossary import entries_in_line as entries_in_line
    from irscope.glossary.glossary import entry_for as entry_for
    from irscope.glossary.glossary import find_entries as find_entries
    from irscope.glossary.glossary import glossary_entries as glossary_entries
    from irscope.glossary.glossary import similar_names as similar_names
    from irscope.languages.document import Layout as Layout
    from irscope.languages.language import line_without_location as line_without_location
    from irscope.languages.language import strip_debug as strip_debug
    from irscope.languages.lexers import lexer_for as lexer_for
    from irscope.layouts.banks import AccessConflicts as AccessConflicts
    from irscope.layouts.banks import BankConflicts as BankConflicts
    from irscope.layouts.color_map import ColorBy as ColorBy
    from irscope.layouts.color_map import cell_size as cell_size
    from irscope.layouts.describe import conflicts_text as conflicts_text
    from irscope.layouts.describe import ways_text as ways_text
    from irscope.layouts.grid import Grid as Grid
    from irscope.layouts.grid import GridCell as GridCell
    from irscope.layouts.grid import Window as Window
    from irscope.layouts.grid import ruler as ruler
    from irscope.layouts.kernel_layouts import Conversion as Conversion
    from irscope.layouts.kernel_layouts import Picture as Picture
    from irscope.layouts.tensors import Tensor as Tensor
    from irscope.layouts.tensors import layout_shape as layout_shape
    from irscope.lint.diagnostic import Diagnostic as Diagnostic
    from irscope.lint.diagnostic import Rule as Rule
    from irscope.lint.linter import lint_source as lint_source
    from irscope.lint.rules import RULES as RULES
    from irscope.lint.rules import SOURCE_RULES as SOURCE_RULES
    from irscope.store import CaptureReader as CaptureReader
    from irscope.store import CaptureWriter as CaptureWriter
    from irscope.store import select_variants as select_variants
    from irscope.store import variant_names as variant_names
    from irscope.store.capture_file import find_writer as find_writer
    from irscope.store.capture_file import holds_nothing as holds_nothing
    from irscope.store.capture_file import remove_capture as remove_capture
    from irscope.store.merge_captures import merge_captures as merge_captures
    from irscope.store.overview import overview as overview
    from irscope.targets import all_stages as all_stages
    from irscope.targets import all_targets as all_targets
    from irscope.targets import parse_target as parse_target
    from irscope.targets import stage_named as stage_named
    from irscope.targets import stages_of as stages_of
    from irscope.targets.instructions import InstructionKind as InstructionKind
    from irscope.workspace.capture_comparison import CaptureComparison as CaptureComparison
    from irscope.workspace.capture_comparison import FactChange as FactChange
    from irscope.workspace.capture_comparison import MatchedVariants as MatchedVariants
    from irscope.workspace.capture_comparison import compare_captures as compare_captures
    from irscope.workspace.charts import EACH as EACH
    from irscope.workspace.charts import Chart as Chart
    from irscope.workspace.charts import Point as Point
    from irscope.workspace.charts import Series as Series
    from irscope.workspace.charts import axes as axes
    from irscope.workspace.charts import axis_scale as axis_scale
    from irscope.workspace.charts import chart as chart
    from irscope.workspace.charts import chartable_facts as chartable_facts
    from irscope.workspace.charts import lines_text as lines_text
    from irscope.workspace.charts import plotted as plotted
    from irscope.workspace.comparison import Comparison as Comparison
    from irscope.workspace.comparison import config_code as config_code
    from irscope.workspace.compiler_version import CompilerVersion as CompilerVersion
    from irscope.workspace.compiler_version import version_name as version_name
    from irscope.workspace.conditions import CheckResult as CheckResult
    from irscope.workspace.conditions import CheckRule as CheckRule
    from irscope.workspace.conditions import check as check
    from irscope.workspace.conditions import parse_expectation as parse_expectation
    from irscope.workspace.conditions import read_rules as read_rules
    from irscope.workspace.conditions import unmet as unmet
    from irscope.workspace.diff_rows import CHANGES as CHANGES
    from irscope.workspace.diff_rows import Detail as Detail
    from irscope.workspace.diff_rows import Hunk as Hunk
    from irscope.workspace.diff_rows import OperandNotes as OperandNotes
    from irscope.workspace.diff_rows import RowSide as RowSide
    from irscope.workspace.diff_rows import Span as Span
    from irscope.workspace.diff_rows import change_names as change_names
    from irscope.workspace.diff_rows import count_changes as count_changes
    from irscope.workspace.diff_rows import counts_text as counts_text
    from irscope.workspace.diff_rows import differs_materially as differs_materially
    from irscope.workspace.diff_rows import hunk_range as hunk_range
    from irscope.workspace.diff_rows import hunks as hunks
    from irscope.workspace.diff_rows import reads_differently as reads_differently
    from irscope.workspace.diff_rows import row_sides as row_sides
    from irscope.workspace.diff_rows import rows_at as rows_at
    from irscope.workspace.diff_rows import rows_in_place as rows_in_place
    from irscope.workspace.diff_rows import source_line_counts as source_line_counts
    from irscope.workspace.estimate_comparison import pair_estimate_lines as pair_estimate_lines
    from irscope.workspace.estimate_text import estimate_lines as estimate_lines
    from irscope.workspace.fact_table import FactTable as FactTable
    from irscope.workspace.finding_table import FindingRow as FindingRow
    from irscope.workspace.finding_table import FindingTarget as FindingTarget
    from irscope.workspace.finding_table import finding_rows as finding_rows
    from irscope.workspace.first_difference import equal_text as equal_text
    from irscope.workspace.first_difference import first_differences as first_differences
    from irscope.workspace.gate import GateResult as GateResult
    from irscope.workspace.gate import Violation as Violation
    from irscope.workspace.gate import gate_captures as gate_captures
    from irscope.workspace.gate import gate_pair as gate_pair
    from irscope.workspace.growth import captures_in as captures_in
    from irscope.workspace.kernel_scopes import Scope as Scope
    from irscope.workspace.kernel_scopes import ScopeCount as ScopeCount
    from irscope.workspace.kernel_scopes import kernel_place as kernel_place
    from irscope.workspace.kernel_scopes import mismatch as mismatch
    from irscope.workspace.kernel_scopes import plugin_uses as plugin_uses
    from irscope.workspace.kernel_scopes import relative_file as relative_file
    from irscope.workspace.kernel_scopes import scope_counts as scope_counts
    from irscope.workspace.kernel_scopes import scope_of as scope_of
    from irscope.workspace.launch_expression import add_launches as add_launches
    from irscope.workspace.layout_comparison import LayoutComparison as LayoutComparison
    from irscope.workspace.layout_comparison import ValuePair as ValuePair
    from irscope.workspace.line_differences import LineChange as LineChange
    from irscope.workspace.line_differences import content_span as content_span
    from irscope.workspace.line_differences import elided_layouts as elided_layouts
    from irscope.workspace.line_differences import first_change as first_change
    from irscope.workspace.line_differences import line_changes as line_changes
    from irscope.workspace.line_differences import line_spans as line_spans
    from irscope.workspace.linting import LintResult as LintResult
    from irscope.workspace.linting import lint as lint
    from irscope.workspace.live import LiveUpdates as LiveUpdates
    from irscope.workspace.live import apply_events as apply_events
    from irscope.workspace.opening import opening_pair as opening_pair
    from irscope.workspace.pass_comparison import LlvmReport as LlvmReport
    from irscope.workspace.pass_comparison import OperationEvent as OperationEvent
    from irscope.workspace.pass_comparison import PassChange as PassChange
    from irscope.workspace.pass_comparison import PassComparison as PassComparison
    from irscope.workspace.pass_comparison import PassDifference as PassDifference
    from irscope.workspace.pass_comparison import PassLine as PassLine
    from irscope.workspace.pass_comparison import PassReport as PassReport
    from irscope.workspace.pass_comparison import effect_text as effect_text
    from irscope.workspace.pass_comparison import llvm_lines as llvm_lines
    from irscope.workspace.pass_comparison import llvm_report as llvm_report
    from irscope.workspace.pass_comparison import operation_history as operation_history
    from irscope.workspace.pass_comparison import pass_changes as pass_changes
    from irscope.workspace.pass_comparison import pass_report as pass_report
    from irscope.workspace.picking import Calibration as Calibration
    from irscope.workspace.picking import Choice as Choice
    from irscope.workspace.picking import Pick as Pick
    from irscope.workspace.picking import calibrate_captures as calibrate_captures
    from irscope.workspace.picking import never_launched as never_launched
    from irscope.workspace.picking import picks as picks
    from irscope.workspace.problem_sizes import problem_titles as problem_titles
    from irscope.workspace.source_lines import InstructionCounts as InstructionCounts
    from irscope.workspace.source_lines import LineOutcome as LineOutcome
    from irscope.workspace.source_lines import Listing as Listing
    from irscope.workspace.source_lines import PythonSource as PythonSource
    from irscope.workspace.source_lines import SourceMaps as SourceMaps
    from irscope.workspace.source_lines import assembly_stage as assembly_stage
    from irscope.workspace.source_lines import instruction_counts as instruction_counts
    from irscope.workspace.source_lines import instruction_lines as instruction_lines
    from irscope.workspace.source_lines import line_outcomes as line_outcomes
    from irscope.workspace.source_lines import listings as listings
    from irscope.workspace.source_lines import python_rows as python_rows
    from irscope.workspace.source_lines import python_source as python_source
    from irscope.workspace.source_lines import source_chains as source_chains
    from irscope.workspace.source_lines import source_maps as source_maps
    from irscope.workspace.stage_marks import NO_MARKS as NO_MARKS
    from irscope.workspace.stage_marks import LineMarks as LineMarks
    from irscope.workspace.stage_marks import Pressure as Pressure
    from irscope.workspace.stage_marks import line_marks as line_marks
    from irscope.workspace.table import FactColumn as FactColumn
    from irscope.workspace.table import TableCell as TableCell
    from irscope.workspace.table import TableView as TableView
    from irscope.workspace.table import table_view as table_view
    from irscope.workspace.table_columns import UNMEASURED as UNMEASURED
    from irscope.workspace.table_columns import Column as Column
    from irscope.workspace.table_columns import ColumnSummary as ColumnSummary
    from irscope.workspace.table_columns import columns as columns
    from irscope.workspace.table_columns import constants_text as constants_text
    from irscope.workspace.table_columns import shown_columns as shown_columns
    from irscope.workspace.table_columns import summarize_columns as summarize_columns
    from irscope.workspace.table_rows import Folding as Folding
    from irscope.workspace.table_rows import TableRow as TableRow
    from irscope.workspace.table_rows import matching as matching
    from irscope.workspace.table_rows import rows as rows
    from irscope.workspace.table_rows import sorted_variants as sorted_variants
    from irscope.workspace.table_sections import TableEntry as TableEntry
    from irscope.workspace.table_sections import TableSection as TableSection
    from irscope.workspace.table_sections import all_kinds as all_kinds
    from irscope.workspace.table_sections import chosen_kinds as chosen_kinds
    from irscope.workspace.table_sections import default_kinds as default_kinds
    from irscope.workspace.table_sections import minor as minor
    from irscope.workspace.table_sections import ranked_pairs as ranked_pairs
    from irscope.workspace.table_sections import varying_kinds as varying_kinds
    from irscope.workspace.timeline import FactMovement as FactMovement
    from irscope.workspace.timeline import Timeline as Timeline
    from irscope.workspace.timeline import TimelineStep as TimelineStep
    from irscope.workspace.timeline import VersionStep as VersionStep
    from irscope.workspace.timeline import VersionSummary as VersionSummary
    from irscope.workspace.timeline import version_summaries as version_summaries
    from irscope.workspace.variant_layouts import DrawingOptions as DrawingOptions
    from irscope.workspace.variant_layouts import LayoutDrawing as LayoutDrawing
    from irscope.workspace.variant_layouts import VariantLayouts as VariantLayouts
    from irscope.workspace.variant_layouts import listed_tensors as listed_tensors
    from irscope.workspace.variant_registers import CompileTimeInput as CompileTimeInput
    from irscope.workspace.variant_registers import compile_time_inputs as compile_time_inputs
    from irscope.workspace.variant_texts import ERROR as ERROR
    from irscope.workspace.variant_texts import PYTHON as PYTHON
    from irscope.workspace.variant_texts import check_stage as check_stage
    from irscope.workspace.variant_texts import encoded as encoded
    from irscope.workspace.variant_texts import failure_lines as failure_lines
    from irscope.workspace.variant_texts import text_stages as text_stages
    from irscope.workspace.variant_texts import variant_texts as variant_texts
    from irscope.workspace.variant_texts import written_stage as written_stage
    from irscope.workspace.verdict import KeyPoint as KeyPoint
    from irscope.workspace.verdict import PairVerdict as PairVerdict
    from irscope.workspace.verdict import Remedy as Remedy
    from irscope.workspace.verdict import Resource as Resource
    from irscope.workspace.verdict import Verdict as Verdict
    from irscope.workspace.verdict import finding_point as finding_point
    from irscope.workspace.what_if import StageEdit as StageEdit
    from irscope.workspace.what_if import can_build_from as can_build_from
    from irscope.workspace.what_if import edit_names as edit_names
    from irscope.workspace.why_lines import StageLine as StageLine
    from irscope.workspace.why_lines import TextLine as TextLine
    from irscope.workspace.why_lines import compilation_lines as compilation_lines
    from irscope.workspace.why_lines import pair_lines as pair_lines
    from irscope.workspace.why_lines import reason_lines as reason_lines
    from irscope.workspace.why_lines import without_rest as without_rest
    from irscope.workspace.why_lines import worth_lines as worth_lines
    from irscope.workspace.workspace import Workspace as Workspace

# Module -> the names loaded from it.
_EXPORTS = {
    "irscope.compiling.processes.disassembler": "find_nvdisasm",
    "irscope.compiling.python_files": "module_file",
    "irscope.diff.rows": (
        "Change LayoutChange Row StageDiff by_source_line first_structural short_label summarize"
    ),
    "irscope.estimating.terms": "Estimate",
    "irscope.facts.fact": "ESTIMATE_KINDS Evidence Fact FactKind FactValue MOST_ESTIMATED microseconds_text",
    "irscope.facts.registers.live_values": "LiveValue SourceLine SpilledValue",
    "irscope.facts.registers.register_report": "RegisterReport TensorInRegisters",
    "irscope.facts.registry": "kinds_for",
    "irscope.facts.source.map": "PythonLine SourcePlace",
    "irscope.findings.cache_key_diff": "ChangedInput reason_text",
    "irscope.findings.compilations": "Compilations",
    "irscope.findings.finding": "Finding",
    "irscope.findings.passes": "Divergence Divergences",
    "irscope.glossary.glossary": (
        "GlossaryEntry entries_in_line entry_for find_entries glossary_entries similar_names"
    ),
    "irscope.languages.document": "Layout",
    "irscope.languages.language": "line_without_location strip_debug",
    "irscope.languages.lexers": "lexer_for",
    "irscope.layouts.banks": "AccessConflicts BankConflicts",
    "irscope.layouts.color_map": "ColorBy cell_size",
    "irscope.layouts.describe": "conflicts_text ways_text",
    "irscope.layouts.grid": "Grid GridCell Window ruler",
    "irscope.layouts.kernel_layouts": "Conversion Picture",
    "irscope.layouts.tensors": "Tensor layout_shape",
    "irscope.lint.diagnostic": "Diagnostic Rule",
    "irscope.lint.linter": "lint_source",
    "irscope.lint.rules": "RULES SOURCE_RULES",
    "irscope.store": "CaptureReader CaptureWriter select_variants variant_names",
    "irscope.store.capture_file": "find_writer holds_nothing remove_capture",
    "irscope.store.merge_captures": "merge_captures",
    "irscope.store.overview": "overview",
    "irscope.targets": "all_stages all_targets parse_target stage_named stages_of",
    "irscope.targets.instructions": "InstructionKind",
    "irscope.workspace.capture_comparison": "CaptureComparison FactChange MatchedVariants compare_captures",
    "irscope.workspace.charts": (
        "Chart EACH Point Series axes axis_scale chart chartable_facts lines_text plotted"
    ),
    "irscope.workspace.comparison": "Comparison config_code",
    "irscope.workspace.compiler_version": "CompilerVersion version_name",
    "irscope.workspace.conditions": "CheckResult CheckRule check parse_expectation read_rules unmet",
    "irscope.workspace.diff_rows": (
        "CHANGES Detail Hunk OperandNotes RowSide Span change_names count_changes counts_text "
        "differs_materially hunk_range hunks reads_differently row_sides rows_at rows_in_place "
        "source_line_counts"
    ),
    "irscope.workspace.estimate_comparison": "pair_estimate_lines",
    "irscope.workspace.estimate_text": "estimate_lines",
    "irscope.workspace.fact_table": "FactTable",
    "irscope.workspace.finding_table": "FindingRow FindingTarget finding_rows",
    "irscope.workspace.first_difference": "equal_text first_differences",
    "irscope.workspace.gate": "GateResult Violation gate_captures gate_pair",
    "irscope.workspace.growth": "captures_in",
    "irscope.workspace.kernel_scopes": (
        "Scope ScopeCount kernel_place mismatch plugin_uses relative_file scope_counts scope_of"
    ),
    "irscope.workspace.launch_expression": "add_launches",
    "irscope.workspace.layout_comparison": "LayoutComparison ValuePair",
    "irscope.workspace.line_differences": (
        "LineChange content_span elided_layouts first_change line_changes line_spans"
    ),
    "irscope.workspace.linting": "LintResult lint",
    "irscope.workspace.live": "LiveUpdates apply_events",
    "irscope.workspace.opening": "opening_pair",
    "irscope.workspace.pass_comparison": (
        "LlvmReport OperationEvent PassChange PassComparison PassDifference PassLine PassReport "
        "effect_text llvm_lines llvm_report operation_history pass_changes pass_report"
    ),
    "irscope.workspace.picking": "Calibration Choice Pick calibrate_captures never_launched picks",
    "irscope.workspace.problem_sizes": "problem_titles",
    "irscope.workspace.source_lines": (
        "InstructionCounts LineOutcome Listing PythonSource SourceMaps assembly_stage instruction_counts "
        "instruction_lines line_outcomes listings python_rows python_source source_chains source_maps"
    ),
    "irscope.workspace.stage_marks": "LineMarks NO_MARKS Pressure line_marks",
    "irscope.workspace.table": "FactColumn TableCell TableView table_view",
    "irscope.workspace.table_columns": (
        "Column ColumnSummary UNMEASURED columns constants_text shown_columns summarize_columns"
    ),
    "irscope.workspace.table_rows": "Folding TableRow matching rows sorted_variants",
    "irscope.workspace.table_sections": (
        "TableEntry TableSection all_kinds chosen_kinds default_kinds minor ranked_pairs varying_kinds"
    ),
    "irscope.workspace.timeline": (
        "FactMovement Timeline TimelineStep VersionStep VersionSummary version_summaries"
    ),
    "irscope.workspace.variant_layouts": "DrawingOptions LayoutDrawing VariantLayouts listed_tensors",
    "irscope.workspace.variant_registers": "CompileTimeInput compile_time_inputs",
    "irscope.workspace.variant_texts": (
        "ERROR PYTHON check_stage encoded failure_lines text_stages variant_texts written_stage"
    ),
    "irscope.workspace.verdict": "KeyPoint PairVerdict Remedy Resource Verdict finding_point",
    "irscope.workspace.what_if": "StageEdit can_build_from edit_names",
    "irscope.workspace.why_lines": (
        "StageLine TextLine compilation_lines pair_lines reason_lines without_rest worth_lines"
    ),
    "irscope.workspace.workspace": "Workspace",
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'irscope.workspace' has no attribute '{name}'")
    return getattr(import_module(_MODULE_OF[name]), name)
