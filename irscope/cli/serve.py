"""Serve the app to a browser, only on this machine unless --host says otherwise.

Needs `pip install 'irscope[serve]'`. The printed address has a token; who has it can see the capture, and
nothing else on this machine.

example: irscope serve matmul.irscope --port 8000
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from irscope.cli import options
from irscope.model import UserError
from irscope.model.errors import print_note

NAME = "serve"
GROUP = "share"
SUMMARY = "serve the app to a browser, by default only on this machine"

_LOOPBACK = "127.0.0.1"
_PORT = 8000
_SESSIONS = 8
_IDLE_MINUTES = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument("--host", default=_LOOPBACK, help=f"the address to listen on; default: {_LOOPBACK}")
    parser.add_argument("--port", type=_port, default=_PORT, help=f"default: {_PORT}; 0 for a free one")
    parser.add_argument(
        "--public-url",
        metavar="URL",
        type=_url,
        help="the address that browsers use; default: http://HOST:PORT",
    )
    parser.add_argument(
        "--sessions", metavar="N", type=_count, default=_SESSIONS, help=f"pages at once; default: {_SESSIONS}"
    )
    parser.add_argument(
        "--idle",
        metavar="MINUTES",
        type=_minutes,
        default=_IDLE_MINUTES,
        help=f"end a session after MINUTES without input; default: {_IDLE_MINUTES:g}; 0 for never",
    )
    parser.add_argument(
        "--no-token", action="store_true", help="let everyone who can reach the address connect"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted. Raises UserError if aiohttp is missing or the port cannot be used."""
    try:
        import asyncio

        from irscope.serve import policy
        from irscope.serve.web_server import Options
        from irscope.serve.web_server import run as run_server
    except ImportError:
        raise UserError("irscope serve needs aiohttp: pip install 'irscope[serve]'") from None
    from irscope.workspace import Workspace

    with Workspace(args.capture):  # raises here, not in the browser, if it cannot be read
        pass
    with listen(args.host, args.port) as listening:
        url = args.public_url or _url_of(args.host, listening)
        access = policy.AccessRules(args.host, url, "" if args.no_token else policy.new_token())
        if args.no_token and not policy.is_loopback(args.host):
            print_note(f"without a token, everyone who can reach {url} can see the capture")
        command = app_command(args.capture)
        served = Options(args.capture.absolute(), command, access, args.sessions, args.idle * 60)
        opened = f"{url.rstrip('/')}/" + (f"?token={access.token}" if access.token else "")
        with tempfile.TemporaryDirectory(prefix="irscope-serve-") as folder:
            os.environ["TMPDIR"] = folder  # the only folder where sessions may write, other than the cache
            greeting = f"{opened}\nCtrl+C stops the server."
            asyncio.run(run_server(served, listening, lambda: print(greeting, flush=True)))
    return 0


def app_command(capture: Path) -> list[str]:
    """Return the command of the app of one page.

    It names a file, so that Python looks for modules next to irscope and not in the current folder.
    """
    return [sys.executable, str(Path(__file__).with_name("served_app.py")), str(capture.absolute())]


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens, on a free port for 0.

    Raises UserError if host or port cannot be used.
    """
    listening = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"cannot listen on {host}, port {port}: {reason or error}") from None
    return listening


def _url_of(host: str, listening: socket.socket) -> str:
    """Return the address that a browser on this machine uses."""
    name = {"0.0.0.0": _LOOPBACK, "::": "::1", "": _LOOPBACK}.get(host, host)  # noqa: S104 - compared only
    return f"http://{f'[{name}]' if ':' in name else name}:{listening.getsockname()[1]}"


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return text
    except ValueError:
        pass
    raise argparse.ArgumentTypeError("must be an address such as https://example.org/irscope/")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("must be a port, 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= 1000:
        raise argparse.ArgumentTypeError("must be 1 to 1000")
    return int(text)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes <= 525_600:
        raise argparse.ArgumentTypeError("must be a number of minutes, 0 or more")
    return minutes
