"""The types of irscope as frozen dataclasses; this package imports no other."""

from irscope.model.config import (
    OPTION_NAMES,
    Config,
    Dtype,
    Expression,
    ListValue,
    NamedValue,
    ObjectValue,
    Value,
    format_value,
    parse_argument,
    parse_value,
)
from irscope.model.errors import UserError
from irscope.model.stage import COMMON_STAGES, Stage
from irscope.model.status import Status, StatusKind
from irscope.model.variant import (
    Argument,
    Artifact,
    Benchmark,
    Failure,
    Kernel,
    Launch,
    Pass,
    SourceFunction,
    Target,
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
