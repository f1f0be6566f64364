"""Whether a variant can run: it compiled and fits its target, or the reason why not."""

from __future__ import annotations

from enum import Enum

from irscope.model.records import frozen_with_dict

_LAUNCHABLE = "yes"
_NOT = "no: "
_NOT_COMPILED = "not compiled"


class StatusKind(Enum):
    """The three outcomes for a variant."""

    OK = "ok"
    FAILED = "failed"
    CANNOT_LAUNCH = "cannot launch"


@frozen_with_dict
class Status:
    """The outcome for a variant; `reason` is one line, "" if it is ok.

    As text and in JSON a status is the fact `launchable`: "yes", or "no: " and the reason.
    """

    kind: StatusKind
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Return True if the variant compiled and can be launched."""
        return self.kind is StatusKind.OK

    @property
    def problem(self) -> str:
        """Return the problem ("cannot launch: 294,912 bytes of shared memory, limit 232,448"), or ""."""
        return "" if self.ok else f"{self.kind.value}: {self.reason}"

    def __str__(self) -> str:
        """Return the status as the table and JSON show it."""
        return _LAUNCHABLE if self.ok else f"{_NOT}{self.reason}"


OK = Status(StatusKind.OK)
NOT_COMPILED = Status(StatusKind.FAILED, _NOT_COMPILED)


def failed(reason: str) -> Status:
    """Return the status of a variant that did not compile."""
    return Status(StatusKind.FAILED, reason)


def cannot_launch(reason: str) -> Status:
    """Return the status of a variant that compiled but exceeds a limit of its target."""
    return Status(StatusKind.CANNOT_LAUNCH, reason)


def parse_status(text: str) -> Status | None:
    """Parse the status that `str` wrote; return None for any other text."""
    if text == _LAUNCHABLE:
        return OK
    if not text.startswith(_NOT):
        return None
    reason = text.removeprefix(_NOT)
    return NOT_COMPILED if reason == _NOT_COMPILED else cannot_launch(reason)
