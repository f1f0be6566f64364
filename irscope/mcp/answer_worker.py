"""A worker that answers questions about captures, which anybody may have written.

It has limits on memory and time and can be ended, so that a capture whose analysis never ends costs one
answer and not the server. It executes no code of users. `answer_pool.py` starts it and asks.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
from collections.abc import Mapping
from dataclasses import field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from irscope.compiling.processes.run_tool import limit_resource
from irscope.compiling.supervisor import supervise
from irscope.model import UserError
from irscope.model.records import frozen

# The caches of derived stages; a loop that prints must not fill the disk.
_MOST_BYTES_WRITTEN = 1 << 30


@frozen
class Question:
    """A question: the answer of `tool`, the `resource` with this URI, or, without either, all resources.

    `state` is the number of changes of the session's capture so far; `done` is the outcome of what the tool
    executed.
    """

    state: int
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    done: object = None
    resource: str = ""


@frozen
class Reply:
    """The answer to a question, or a `problem` in one line; `log` is for the server's stderr."""

    answer: Any = None
    problem: str = ""
    log: str = ""


def main(pipe: str, lifeline: str, memory: str, folder: str, *roots: str) -> None:
    """Answers questions about the session in `folder` until the parent closes the pipe."""
    supervise(int(lifeline))
    os.set_inheritable(int(pipe), False)
    limit_resource(resource.RLIMIT_DATA, int(memory))
    limit_resource(resource.RLIMIT_FSIZE, _MOST_BYTES_WRITTEN)
    limit_resource(resource.RLIMIT_CORE, 0)
    with contextlib.suppress(EOFError, OSError), Connection(int(pipe)) as connection:
        _serve(connection, Path(folder), tuple(map(Path, roots)))
    os._exit(0)


def _serve(pipe: Connection, folder: Path, roots: tuple[Path, ...]) -> None:
    from irscope.mcp.calls import preload
    from irscope.mcp.session import Roots, Session
    from irscope.mcp.warm_compiler import Compiler, Limits

    preload()
    session = Session(folder, Roots(roots), Compiler(Limits()))
    pipe.send(Reply())
    state = 0
    while (question := pipe.recv()) is not None:
        if question.state != state:
            session.reread()
            state = question.state
        pipe.send(_reply(session, question))
    session.close()  # keeps what was derived
    pipe.send(Reply())


def _reply(session: Any, question: Question) -> Reply:
    from irscope.mcp import resources
    from irscope.mcp.calls import answered, bug_text
    from irscope.mcp.tools import TOOL_NAMED

    log = io.StringIO()
    with contextlib.redirect_stderr(log):
        if question.tool:
            answer = answered(session, TOOL_NAMED[question.tool], question.arguments, question.done)
            return Reply(answer, log=log.getvalue())
        try:
            if question.resource:
                return Reply(resources.read(session, question.resource))
            return Reply(list(resources.listed(session)))
        except UserError as error:
            return Reply(problem=str(error))
        except Exception as error:  # noqa: BLE001 - a bug costs one answer
            return Reply(problem=bug_text(error), log=log.getvalue())
