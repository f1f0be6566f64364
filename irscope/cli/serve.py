"""Serve the app to a browser, only on this machine unless --host says otherwise.

Needs `pip install 'irscope[serve]'`. Everyone who can open the address can see the capture.

example: irscope serve matmul.irscope --port 8000
"""

from __future__ import annotations

import argparse
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from irscope.cli import options
from irscope.model import UserError

NAME = "serve"
SUMMARY = "serve the app to a browser, by default only on this machine"

_Handler = Callable[[Any], Awaitable[Any]]

_LOOPBACK = "127.0.0.1"
_PORT = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("--host", default=_LOOPBACK, help=f"the address to listen on; default: {_LOOPBACK}")
    parser.add_argument("--port", type=_port, default=_PORT, help=f"default: {_PORT}; 0 for a free one")
    parser.add_argument(
        "--public-url", metavar="URL", help="the address that browsers use; default: http://HOST:PORT"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until interrupted. Raises UserError if textual-serve is missing or the port cannot be used."""
    try:
        from textual_serve.server import Server
    except ImportError:
        raise UserError("irscope serve needs textual-serve: pip install 'irscope[serve]'") from None
    from irscope.workspace import Workspace

    with Workspace(args.capture):  # raises here, not in the browser, if it cannot be read
        pass
    port = _bindable(args.host, args.port)
    host = f"[{args.host}]" if ":" in args.host else args.host
    url = args.public_url or f"http://{host}:{port}"
    command = [sys.executable, "-m", "irscope", "tui", str(args.capture.absolute())]
    server = Server(shlex.join(command), host=args.host, port=port, title="irscope", public_url=url)
    server.handle_websocket = _same_site(server.handle_websocket, {url, f"http://localhost:{port}"})
    server.serve()
    return 0


def _same_site(handle: _Handler, origins: set[str]) -> _Handler:
    """`handle`, but only for our own page, because any page in a browser can connect to loopback.

    Programs other than browsers send no Origin and are allowed.
    """
    from aiohttp.web import HTTPForbidden

    async def guarded(request: Any) -> Any:
        origin = request.headers.get("Origin")
        if origin is not None and origin not in origins:
            raise HTTPForbidden(text="this page is not served by irscope")
        return await handle(request)

    return guarded


def _bindable(host: str, port: int) -> int:
    """The port to listen on, a free one for 0. Raises UserError if host or port cannot be used."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise UserError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("must be a port, 0 to 65535")
    return int(text)
