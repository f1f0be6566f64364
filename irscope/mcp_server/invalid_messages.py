r"""Answers messages on stdin that the SDK drops because they are not valid: their sender would wait forever.

A lone surrogate, `"\ud800"`, is valid JSON for most encoders and no valid text: it becomes U+FFFD.
"""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from irscope.model.text import clipped, one_line

# An escaped backslash, a pair of surrogates, or a lone one, which is the group.
_ESCAPE = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_MOST_MESSAGE = 200


async def pass_on(
    incoming: ObjectReceiveStream[SessionMessage | Exception],
    valid: ObjectSendStream[SessionMessage | Exception],
    answers: ObjectSendStream[SessionMessage],
) -> None:
    """Pass valid messages on, repaired if need be, and answer the others with an error."""
    async with valid, answers:
        async for item in incoming:
            message = _repaired(item) if isinstance(item, ValidationError) else item
            if isinstance(message, types.JSONRPCError):
                await answers.send(SessionMessage(message))
            else:
                await valid.send(message)


def _repaired(error: ValidationError) -> SessionMessage | types.JSONRPCError:
    """Return the message of a line without its lone surrogates, or an error for its sender."""
    line = next((each["input"] for each in error.errors() if each["type"] == "json_invalid"), None)
    if not isinstance(line, str):
        return _error(types.INVALID_REQUEST, error)
    repaired = _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], line)
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(repaired, by_name=False))
    except ValidationError as second:
        is_json = all(each["type"] != "json_invalid" for each in second.errors())
        return _error(types.INVALID_REQUEST if is_json else types.PARSE_ERROR, second)


def _error(code: int, error: ValidationError) -> types.JSONRPCError:
    problem = error.errors()[0]["msg"]
    inputs: list[Any] = [each["input"] for each in error.errors()]
    ids = [given["id"] for given in inputs if isinstance(given, dict) and type(given.get("id")) in (int, str)]
    text = clipped(one_line(f"not a valid message: {problem}"), _MOST_MESSAGE)
    return types.JSONRPCError(
        jsonrpc="2.0", id=ids[0] if ids else None, error=types.ErrorData(code=code, message=text)
    )
