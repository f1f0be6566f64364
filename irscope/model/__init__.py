"""The words of irscope as frozen dataclasses, with no logic beyond themselves."""

from irscope.model.config import OPTION_NAMES, Config, Dtype, Value, format_value, parse_value
from irscope.model.errors import UserError
from irscope.model.stage import STAGES, Stage, stage_named, stages_for
from irscope.model.status import Status, StatusKind
from irscope.model.target import BACKENDS, TARGETS, Target, parse_target, target_named
from irscope.model.variant import (
    Argument,
    Artifact,
    Benchmark,
    Failure,
    Kernel,
    Launch,
    Pass,
    SourceFunction,
    Toolchain,
    Variant,
)

__all__ = [
    "BACKENDS",
    "OPTION_NAMES",
    "STAGES",
    "TARGETS",
    "Argument",
    "Artifact",
    "Benchmark",
    "Config",
    "Dtype",
    "Failure",
    "Kernel",
    "Launch",
    "Pass",
    "SourceFunction",
    "Stage",
    "Status",
    "StatusKind",
    "Target",
    "Toolchain",
    "UserError",
    "Value",
    "Variant",
    "format_value",
    "parse_target",
    "parse_value",
    "stage_named",
    "stages_for",
    "target_named",
]
