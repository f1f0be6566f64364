"""The fixtures of the command line's tests, for those of irscope lint."""

from __future__ import annotations

from tests.cli.conftest import capture, irscope

__all__ = ["capture", "irscope"]
