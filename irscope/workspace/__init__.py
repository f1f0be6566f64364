"""The API boundary: an open capture answers every question once, for every view.

Views import everything that they need from here, value types included. Each name is loaded from its own
module when it is first used, so that the command line starts fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    # "as" marks what type checkers see from outside.
    from irscope.diff.rows import Change as Change
    from irscope.diff.rows import LayoutChange as LayoutChange
    from irscope.diff.rows import Row as Row
    from irscope.diff.rows import StageDiff as StageDiff
    from irscope.estimating.terms import Estimate as Estimate
    from irscope.facts.fact import Evidence as Evidence
    from irscope.facts.fact import Fact as Fact
    from irscope.facts.fact import FactKind as FactKind
    from irscope.facts.fact import FactValue as FactValue
    from irscope.facts.registers.live_values import LiveValue as LiveValue
    from irscope.facts.registers.live_values import SourceLine as SourceLine
    from irscope.facts.registers.live_values import SpilledValue as SpilledValue
    from irscope.facts.registers.register_report import RegisterReport as RegisterReport
    from irscope.facts.registers.register_report import TensorInRegisters as TensorInRegisters
    from irscope.facts.source.map import PythonLine as PythonLine
    from irscope.facts.source.map import SourcePlace as SourcePlace
    from irscope.findings.cache_key_diff import ChangedInput as ChangedInput
    from irscope.findings.compilations import Compilations as Compilations
    from irscope.findings.finding import Finding as Finding
    from irscope.findings.passes import Divergence as Divergence
    from irscope.findings.passes import Divergences as Divergences
    from irscope.languages.document import Layout as Layout
    from irscope.languages.language import Language as Language
    from irscope.layouts.banks import AccessConflicts as AccessConflicts
    from irscope.layouts.banks import BankConflicts as BankConflicts
    from irscope.layouts.color_map import ColorBy as ColorBy
    from irscope.layouts.grid import Grid as Grid
    from irscope.layouts.grid import GridCell as GridCell
    from irscope.layouts.grid import Window as Window
    from irscope.layouts.kernel_layouts import Conversion as Conversion
    from irscope.layouts.kernel_layouts import Picture as Picture
    from irscope.layouts.tensors import Tensor as Tensor
    from irscope.lint.diagnostic import Diagnostic as Diagnostic
    from irscope.store import CaptureReader as CaptureReader
    from irscope.store import CaptureWriter as CaptureWriter
    from irscope.store.capture_file import CaptureOverview as CaptureOverview
    from irscope.store.merge_captures import MergedCapture as MergedCapture
    from irscope.targets.instructions import InstructionKind as InstructionKind
    from irscope.workspace.capture_comparison import CaptureComparison as CaptureComparison
    from irscope.workspace.charts import Chart as Chart
    from irscope.workspace.charts import Point as Point
    from irscope.workspace.comparison import Comparison as Comparison
    from irscope.workspace.conditions import CheckRule as CheckRule
    from irscope.workspace.diff_rows import Detail as Detail
    from irscope.workspace.diff_rows import OperandNotes as OperandNotes
    from irscope.workspace.diff_rows import RowSide as RowSide
    from irscope.workspace.fact_table import FactTable as FactTable
    from irscope.workspace.finding_table import FindingRow as FindingRow
    from irscope.workspace.gate import GateResult as GateResult
    from irscope.workspace.kernel_scopes import Scope as Scope
    from irscope.workspace.layout_comparison import LayoutComparison as LayoutComparison
    from irscope.workspace.layout_comparison import ValuePair as ValuePair
    from irscope.workspace.linting import LintResult as LintResult
    from irscope.workspace.pass_comparison import PassChange as PassChange
    from irscope.workspace.pass_comparison import PassLine as PassLine
    from irscope.workspace.picking import Choice as Choice
    from irscope.workspace.picking import Pick as Pick
    from irscope.workspace.source_lines import PythonSource as PythonSource
    from irscope.workspace.stage_marks import LineMarks as LineMarks
    from irscope.workspace.table import FactColumn as FactColumn
    from irscope.workspace.table import TableColumn as TableColumn
    from irscope.workspace.table import TableSection as TableSection
    from irscope.workspace.variant_layouts import DrawingOptions as DrawingOptions
    from irscope.workspace.variant_layouts import LayoutDrawing as LayoutDrawing
    from irscope.workspace.variant_layouts import VariantLayouts as VariantLayouts
    from irscope.workspace.verdict import Verdict as Verdict
    from irscope.workspace.why_lines import StageLine as StageLine
    from irscope.workspace.why_lines import TextLine as TextLine
    from irscope.workspace.workspace import Workspace as Workspace

# Module -> the names loaded from it.
_EXPORTS = {
    "irscope.diff.rows": "Change LayoutChange Row StageDiff",
    "irscope.estimating.terms": "Estimate",
    "irscope.facts.fact": "Evidence Fact FactKind FactValue",
    "irscope.facts.registers.live_values": "LiveValue SourceLine SpilledValue",
    "irscope.facts.registers.register_report": "RegisterReport TensorInRegisters",
    "irscope.facts.source.map": "PythonLine SourcePlace",
    "irscope.findings.cache_key_diff": "ChangedInput",
    "irscope.findings.compilations": "Compilations",
    "irscope.findings.finding": "Finding",
    "irscope.findings.passes": "Divergence Divergences",
    "irscope.languages.document": "Layout",
    "irscope.languages.language": "Language",
    "irscope.layouts.banks": "AccessConflicts BankConflicts",
    "irscope.layouts.color_map": "ColorBy",
    "irscope.layouts.grid": "Grid GridCell Window",
    "irscope.layouts.kernel_layouts": "Conversion Picture",
    "irscope.layouts.tensors": "Tensor",
    "irscope.lint.diagnostic": "Diagnostic",
    "irscope.store": "CaptureReader CaptureWriter",
    "irscope.store.merge_captures": "MergedCapture",
    "irscope.store.capture_file": "CaptureOverview",
    "irscope.targets.instructions": "InstructionKind",
    "irscope.workspace.capture_comparison": "CaptureComparison",
    "irscope.workspace.charts": "Chart Point",
    "irscope.workspace.comparison": "Comparison",
    "irscope.workspace.conditions": "CheckRule",
    "irscope.workspace.diff_rows": "Detail OperandNotes RowSide",
    "irscope.workspace.fact_table": "FactTable",
    "irscope.workspace.finding_table": "FindingRow",
    "irscope.workspace.gate": "GateResult",
    "irscope.workspace.kernel_scopes": "Scope",
    "irscope.workspace.layout_comparison": "LayoutComparison ValuePair",
    "irscope.workspace.linting": "LintResult",
    "irscope.workspace.pass_comparison": "PassChange PassLine",
    "irscope.workspace.picking": "Choice Pick",
    "irscope.workspace.source_lines": "PythonSource",
    "irscope.workspace.stage_marks": "LineMarks",
    "irscope.workspace.table": "FactColumn TableColumn TableSection",
    "irscope.workspace.variant_layouts": "DrawingOptions LayoutDrawing VariantLayouts",
    "irscope.workspace.verdict": "Verdict",
    "irscope.workspace.why_lines": "StageLine TextLine",
    "irscope.workspace.workspace": "Workspace",
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'irscope.workspace' has no attribute '{name}'")
    return getattr(import_module(_MODULE_OF[name]), name)
