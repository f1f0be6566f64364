"""Data for the script of a page: JSON, compressed, in an element that no browser runs or shows."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from irscope.report.html.markup import Html, element


def payload(identity: str, document: dict[str, Any]) -> Html:
    """The element with the id `identity`; its text is base64 of the zlib stream (RFC 1950) of JSON."""
    data = zlib.compress(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), 9)
    # A type that is not JavaScript: the browser keeps the text and runs nothing.
    return element("script", base64.b64encode(data).decode(), type="text/plain", id=identity)
