"""The types of irscope as frozen dataclasses; this package imports no other."""

from irscope.model.errors import UserError
from irscope.model.object_values import Expression, ListValue, NamedValue, ObjectValue
from irscope.model.stage import COMMON_STAGES, Stage
from irscope.model.status import Status, StatusKind
from irscope.model.target import Target
from irscope.model.tuning_config import (
    OPTION_NAMES,
    Config,
    Dtype,
    Value,
    format_value,
    parse_argument,
    parse_value,
)
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
    Tuning,
    Variant,
)

__all__ = [
    "COMMON_STAGES",
    "OPTION_NAMES",
    "Argument",
    "Artifact",
    "Benchmark",
    "Config",
    "Dtype",
    "Expression",
    "Failure",
    "Kernel",
    "Launch",
    "ListValue",
    "NamedValue",
    "ObjectValue",
    "Pass",
    "SourceFunction",
    "Stage",
    "Status",
    "StatusKind",
    "Target",
    "Toolchain",
    "Tuning",
    "UserError",
    "Value",
    "Variant",
    "format_value",
    "parse_argument",
    "parse_value",
]
