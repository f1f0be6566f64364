"""Calls of tools: checked arguments, then what the tool executes, then its answer.

The server checks arguments and executes; a worker answers (see answer_worker.py). `call` does all of it here.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from irscope.compiling.pool import Stop, Stopped
from irscope.mcp.answers import MOST_TOKENS, Rendered, ToolAnswer, failed, rendered
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import Tool
from irscope.model import UserError
from irscope.model.errors import error_line
from irscope.model.text import clipped, one_line

_USED = (
    "irscope.findings",
    "irscope.facts.registers.register_report",
    "irscope.estimating.estimate",
    "irscope.estimating.ranking",
    "irscope.glossary.glossary",
    "irscope.workspace.bits",
    "irscope.workspace.comparison",
    "irscope.workspace.linting",
    "irscope.workspace.picking",
    "irscope.workspace.table",
    "irscope.workspace.verdict_points",
    "irscope.workspace.verdict_remedies",
)
_MOST_ERROR = 400
_T = TypeVar("_T")


def preload() -> None:
    """Import what answers need, before the first question: a second of imports."""
    for module in _USED:
        import_module(module)


def call(session: Session, tool: Tool, arguments: Mapping[str, Any], stop: Stop) -> Rendered:
    """Call a tool in this process; every problem is an answer that says it in one line. Raises Stopped."""
    wrong = rejected(tool, arguments)
    if wrong is not None:
        return wrong
    done = executed(session, tool, arguments, stop)
    return done if isinstance(done, Rendered) else answered(session, tool, arguments, done)


def rejected(tool: Tool, arguments: Mapping[str, Any]) -> Rendered | None:
    """Return the answer to arguments that do not fit the tool, or None if they do."""
    wrong = best_match(Draft202012Validator(tool.input_schema).iter_errors(dict(arguments)))
    if wrong is None:
        return None
    where = "".join(f"{part}: " for part in wrong.absolute_path)
    return error_answer(f"{tool.name}: {where}{wrong.message}")


def executed(session: Session, tool: Tool, arguments: Mapping[str, Any], stop: Stop) -> object:
    """Return the outcome of what a tool executes, for `answered`; an answer if it fails. Raises Stopped."""
    execute = tool.execute
    if execute is None:
        return None
    outcome = _attempted(lambda: execute(session, arguments, stop))
    return rendered(outcome, 0, _limit(arguments)) if isinstance(outcome, ToolAnswer) else outcome


def answered(session: Session, tool: Tool, arguments: Mapping[str, Any], done: object) -> Rendered:
    """Return the answer of a tool; `done` is what `executed` returned."""
    outcome = _attempted(lambda: tool.run(session, arguments, done))
    return rendered(outcome, int(arguments.get("offset", 0)), _limit(arguments))


def error_answer(problem: str) -> Rendered:
    """Return an answer that says in one line why there is no result."""
    return rendered(failed(clipped(one_line(problem), _MOST_ERROR)))


def bug_text(error: Exception) -> str:
    """Return the line for a bug; its traceback goes to stderr, which clients keep as the server's log."""
    traceback.print_exc()
    return clipped(one_line(f"a bug in irscope: {error_line(error)}"), _MOST_ERROR)


def _limit(arguments: Mapping[str, Any]) -> int:
    return int(arguments.get("max_tokens", MOST_TOKENS))


def _attempted(work: Callable[[], _T]) -> _T | ToolAnswer:
    """Return the result of `work`, or the answer that says why there is none. Raises Stopped."""
    try:
        return work()
    except Stopped:
        raise
    except UserError as error:
        first, _, rest = str(error).partition("\n")
        return failed(clipped(one_line(first), _MOST_ERROR), message=rest)
    except MemoryError:
        return failed("this needs more memory than an answer may have (--memory)")
    except Exception as error:  # noqa: BLE001 - a bug in irscope must not end the server
        return failed(bug_text(error))
