"""The interface of a tool, and the parts of JSON schemas that several tools share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from irscope.compiling.pool import Stop
from irscope.mcp.answers import LARGEST, LEAST, ToolAnswer
from irscope.mcp.session import Session

Arguments = Mapping[str, Any]
Schema = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool: `run` gets the session and checked arguments, `execute` also what stops it on cancellation.

    `description` is written for an agent: what it gets, and when to call it. `required` are names of
    `inputs`; `outputs` are the properties of the structured content. `execute` runs the user's code, in a
    worker; what it returns is pickled, and the third argument of `run`, which gets None without it. Both may
    raise UserError, whose line the client gets as an error.
    """

    name: str
    description: str
    inputs: Mapping[str, Schema]
    outputs: Mapping[str, Schema]
    run: Callable[[Session, Arguments, Any], ToolAnswer]
    required: tuple[str, ...] = ()
    paged: bool = False
    execute: Callable[[Session, Arguments, Stop], object] | None = None

    @property
    def executes(self) -> bool:
        """Return True if a call runs code of the user."""
        return self.execute is not None

    @property
    def input_schema(self) -> Schema:
        """Return the schema of the arguments."""
        inputs = {**self.inputs, **(PAGING if self.paged else {}), **LIMIT}
        schema: Schema = {"type": "object", "properties": inputs, "additionalProperties": False}
        return schema | ({"required": list(self.required)} if self.required else {})

    @property
    def output_schema(self) -> Schema:
        """Return the schema of the structured content."""
        outputs = {**self.outputs, **({"next_offset": INTEGER} if self.paged else {})}
        return {"type": "object", "properties": outputs}


def text(description: str = "") -> Schema:
    """Return the schema of a string."""
    return {"type": "string", **({"description": description} if description else {})}


def table(*columns: str) -> dict[str, Schema]:
    """Return the schemas of a table: the names of the columns once, and rows of values."""
    return {"columns": {"const": list(columns)}, "rows": {"type": "array", "items": {"type": "array"}}}


def list_of(**properties: Schema) -> Schema:
    """Return the schema of a list of records."""
    return {"type": "array", "items": {"type": "object", "properties": properties}}


TEXT = text()
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
VARIANT: Schema = {"type": ["integer", "string"], "description": "number or name"}
CAPTURE = text(".irscope file; default: what compile made")
LAUNCH = text('how it is launched: "grid=(cdiv(M, BLOCK_M),), M=4096"')
PAGING: dict[str, Schema] = {"offset": {"type": "integer", "minimum": 0}}
LIMIT: dict[str, Schema] = {"max_tokens": {"type": "integer", "minimum": LEAST, "maximum": LARGEST}}
POINTS = list_of(kind=TEXT, text=TEXT, line=INTEGER, evidence=TEXT)
