"""Serve irscope to coding agents over the Model Context Protocol: on stdin and stdout, or on a local port.

An agent compiles kernels (text or files), asks for a verdict, compares variants and reads stages; each answer
has at most 1,500 tokens. Compiling EXECUTES the Python that the agent names, in a worker process with limits
on time and memory that guard against mistakes, not against attacks: connect only agents that may run code
here. Paths are read only within --root. Needs `pip install 'irscope[mcp]'`.

example: claude mcp add irscope -- irscope mcp --root .
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.mcp.session import Session

NAME = "mcp"
GROUP = "share"
SUMMARY = "serve irscope to coding agents (Model Context Protocol)"

_SECONDS, _GIGABYTES = 60.0, 8.0
_LOOPBACK = "127.0.0.1"
# Another name of the token's environment variable would be one more thing to look up.
TOKEN_VARIABLE = "IRSCOPE_MCP_TOKEN"  # noqa: S105 - a name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        action="append",
        help="a folder whose files may be named; can be repeated (default: the working folder)",
    )
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        type=Path,
        help="keep the capture and sources here, and continue it (default: a temporary folder)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=_SECONDS,
        help=f"to import a file, per variant, and per answer ({_SECONDS:g})",
    )
    parser.add_argument(
        "--memory",
        metavar="GB",
        type=float,
        default=_GIGABYTES,
        help=f"per worker process, in GiB ({_GIGABYTES:g})",
    )
    parser.add_argument(
        "--http",
        metavar="PORT",
        type=int,
        help=f"serve streamable HTTP on {_LOOPBACK} instead; 0 for a free port",
    )
    parser.add_argument(
        "--no-token", action="store_true", help="with --http: let every program of this machine connect"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the client leaves. Raises UserError if the SDK is missing or an argument is wrong."""
    _check(args)
    try:
        from irscope.mcp.server import make_server
    except ImportError:  # missing, or a version 1, which has other modules
        raise UserError("irscope mcp needs the MCP SDK, 2.3 or later: pip install 'irscope[mcp]'") from None

    with ExitStack() as stack:
        from irscope.mcp.answer_pool import AnswerPool

        session = _session(args, stack)
        session.compiler.warm_up()
        pool = AnswerPool(session)
        stack.callback(pool.close)
        pool.warm_up()
        server = make_server(session, pool)
        if args.http is None:
            from irscope.mcp.transports import serve_stdio

            if sys.stdin.isatty():
                print("irscope mcp: waiting for an MCP client on stdin; Ctrl+C stops it", file=sys.stderr)
            serve_stdio(server)
        else:
            _serve_http(args, server)
    return 0


def _check(args: argparse.Namespace) -> None:
    options.check_timeout(args)
    if not 0 < args.memory <= 1 << 20:
        raise UserError("--memory must be more than 0")
    if args.no_token and args.http is None:
        raise UserError("--no-token applies only to --http")
    if args.http is not None and not 0 <= args.http <= 65535:
        raise UserError("--http must be a port, 0 to 65535")


def _session(args: argparse.Namespace, stack: ExitStack) -> Session:
    from irscope.mcp.session import Roots, Session
    from irscope.mcp.warm_compiler import Compiler, Limits

    roots = Roots.of(args.root or [Path.cwd()])
    if args.workspace is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="irscope-mcp-")))
        _end_on_signals(folder)
    else:
        folder = args.workspace.absolute()
        _end_on_signals(None)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--workspace {args.workspace}: {error.strerror}") from None
    session = Session(folder, roots, Compiler(Limits(args.timeout, int(args.memory * (1 << 30)))))
    stack.callback(session.close)
    return session


def _end_on_signals(temporary: Path | None) -> None:
    """Lets Ctrl+C and SIGTERM, with which clients end a server, remove its temporary folder if it has one.

    They end the process at once: a thread that reads stdin cannot be interrupted. Workers end with it.
    """

    def end(number: int, _: object) -> None:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _serve_http(args: argparse.Namespace, server: object) -> None:
    from irscope.cli.serve import listen
    from irscope.mcp.transports import PATH, serve_http
    from irscope.serve.policy import AccessRules, new_token

    with listen(_LOOPBACK, args.http) as listening:
        url = f"http://{_LOOPBACK}:{listening.getsockname()[1]}{PATH}"
        token = "" if args.no_token else os.environ.get(TOKEN_VARIABLE) or new_token()
        header = (
            f"Authorization: Bearer {token}"
            if token
            else "no token: every program of this machine can connect"
        )
        print(f"{url}\n{header}\nCtrl+C stops the server.", file=sys.stderr, flush=True)
        serve_http(server, listening, AccessRules(_LOOPBACK, url, token).is_valid)  # type: ignore[arg-type]
