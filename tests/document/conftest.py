"""Variants, facts and diffs made by hand."""

from __future__ import annotations

from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.facts.fact import Fact, FactValue
from irscope.facts.measure import from_json
from irscope.facts.registry import FACT_KINDS
from irscope.languages.language import parse
from irscope.model import Config, Failure, Kernel, SourceFunction, Toolchain, Value, Variant
from irscope.targets import parse_target

KINDS = {kind.name: kind for kind in FACT_KINDS}


def variant(
    id_: int, failure: str = "", kernel: str = "k", target: str = "cuda:90", **config: Value
) -> Variant:
    source = SourceFunction(kernel, "k.py", 1, "def k(): pass\n")
    return Variant(
        id_,
        Kernel(1, kernel, source, (), ()),
        parse_target(target),
        (),
        Config(tuple(config.items())),
        Toolchain(1, {"triton": "3.9.0"}, ""),
        Failure("Error", failure, failure) if failure else None,
    )


def facts(**values: FactValue) -> dict[str, Fact]:
    return from_json(values)


def mlir_diff(left: str, right: str) -> StageDiff:
    return diff_stage("ttgir", parse(left, "mlir"), parse(right, "mlir"))
