"""The policy of the server: access, limits on what a client sends, and the headers of every answer."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

# The terminal's size in cells: 600 columns are a 4K screen with a font 6 pixels wide.
COLUMNS = range(20, 601)
ROWS = range(5, 301)
# A websocket message; the page sends longer pastes in pieces.
MAX_MESSAGE = 64 << 10
# Sustained rate and burst per session. A mouse that moves sends 125 messages per second.
MESSAGES = (500.0, 1000.0)
BYTES = (256.0 * 1024, 1024.0 * 1024)
# Input that the app has not read yet; more is dropped, as a terminal device does.
MAX_PENDING = 256 << 10
# The head of a request. Other servers on this host share their cookies with us, because cookies ignore ports.
MAX_HEAD = 32 << 10
HEAD_SECONDS, RESPONSE_SECONDS = 10.0, 60.0
MAX_CONNECTIONS = 128
MAX_TOKEN = 512

# xterm.js inserts style elements, so only styles may be inline.
_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "irscope",
}


def new_token() -> str:
    """Return a random token of 192 bits, as Jupyter's."""
    return secrets.token_hex(24)


@dataclass(frozen=True)
class AccessRules:
    """The rules of access. `url` is the address that browsers use; `token` is "" if none is needed."""

    host: str
    url: str
    token: str = ""

    def is_valid(self, token: str | None) -> bool:
        """Return True if `token` is ours, compared in constant time."""
        received = (token or "")[:MAX_TOKEN].encode("utf-8", "replace")
        return not self.token or hmac.compare_digest(received, self.token.encode())

    def allows_host(self, header: str | None) -> bool:
        """Return True if a request's Host header names this server.

        A page whose own name was rebound to our address (DNS rebinding) sends that name.
        """
        name = host_name(header or "")
        if name in {host_name(urlsplit(self.url).netloc), self.host.lower(), "localhost", "127.0.0.1", "::1"}:
            return True
        return not is_loopback(self.host) and (_is_address(name) or name == socket.gethostname().lower())

    def allows_origin(self, origin: str | None, host: str | None) -> bool:
        """Return True if a page of `origin` may open a websocket. Programs other than browsers send none."""
        if origin is None:
            return True
        public = urlsplit(self.url)
        our_origins = {f"{public.scheme}://{public.netloc}".lower(), f"{public.scheme}://{host}".lower()}
        return origin.lower() in our_origins


def host_name(header: str) -> str:
    """`example.org` of `Example.org:8000`, `::1` of `[::1]:8000`; "" if it is malformed."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Return True if `host`, a name or an address, is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def bounded(value: object, bounds: range, default: int) -> int:
    """`value`, a number or its digits, moved into `bounds`; `default` if it is anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return min(max(value, bounds.start), bounds.stop - 1)


class Rate:
    """A token bucket: `rate` units per second, `burst` at once."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._then = burst, clock()

    def delay(self, units: float = 1) -> float:
        """Take `units` and return the seconds to wait until they are earned."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._then) * self._rate) - units
        self._then = now
        return max(0.0, -self._left / self._rate)
