"""The tool `lint`: common mistakes in a kernel's source, or in what was compiled; runs none of it."""

from __future__ import annotations

from irscope.mcp.answers import Item, ToolAnswer, failed
from irscope.mcp.session import SESSION, Session
from irscope.mcp.tools.tool import CAPTURE, INTEGER, TEXT, Arguments, Tool, list_of, text
from irscope.model import UserError
from irscope.model.text import base_name, one_line, pluralize
from irscope.workspace import Diagnostic
from irscope.workspace.linting import lint


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the problems of a text, a file, or a capture (the session's if none is given)."""
    source, file, capture = (arguments.get(name) for name in ("source", "file", "capture"))
    if sum(subject is not None for subject in (source, file, capture)) > 1:
        raise UserError("give one of source, file and capture")
    if source is not None:
        path = session.source_file(source)
    elif file is not None:
        path = session.roots.file(file)
    else:
        workspace = session.workspace(capture)
        path = session.path if capture in (None, SESSION) else workspace.path
    result = lint([path])
    if result.unread:
        return failed(one_line(f"{base_name(result.unread[0][0])}: {result.unread[0][1]}"))
    head = pluralize(len(result.problems), "problem")
    return ToolAnswer(head, {}, "problems", list(map(_item, result.problems)))


def _item(problem: Diagnostic) -> Item:
    rule, message, fix = problem.rule, one_line(problem.message), one_line(problem.fix)
    line = f"line {problem.line}: {rule.code} {rule.name}: {message}; fix: {fix}"
    return Item(line, {"line": problem.line, "rule": rule.name, "message": message, "fix": fix})


TOOL = Tool(
    "lint",
    "Common mistakes in a kernel's source (not executed), or in what was compiled; each with a fix.",
    {"source": text(), "file": text(), "capture": CAPTURE},
    {"problems": list_of(line=INTEGER, rule=TEXT, message=TEXT, fix=TEXT)},
    run,
    paged=True,
)
