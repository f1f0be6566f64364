"""The targets that users name to compile for them."""

from __future__ import annotations

from irscope.model import Target, UserError
from irscope.targets import all_targets, parse_target


def requested_target(text: str) -> Target:
    """Return the target called `text` ("cuda:90").

    Raises UserError, which lists all targets, if Triton does not compile for it.
    """
    try:
        return parse_target(text)
    except ValueError as error:
        raise UserError(str(error)) from error


def target_names() -> list[str]:
    """Return the names of all targets, those of plug-ins included."""
    return list(map(str, all_targets()))
