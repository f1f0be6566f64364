"""Text of a capture made fit for a terminal: it is untrusted, so nothing in it may act on the screen."""

from __future__ import annotations

import re

TAB_WIDTH = 4

# Control characters (C0, DEL, C1), what reorders or hides text (bidi marks and overrides, zero-width
# characters, line and paragraph separators) and halves of surrogate pairs, which cannot be encoded.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_DELETE_PICTURE = "\u2421"
_OTHER_PICTURE = "\ufffd"


def printable(text: str) -> str:
    """`text` as one line to draw: tabs expanded, everything that is no plain character as a picture.

    Escape becomes the one-cell picture of escape, so a control code shows as text and does nothing.
    """
    if "\t" in text:
        text = text.expandtabs(TAB_WIDTH)
    if text.isprintable():
        return text
    return _UNSAFE.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return _DELETE_PICTURE if code == 0x7F else _OTHER_PICTURE
