"""The fixtures of the command line's tests."""

from __future__ import annotations

from tests.cli.conftest import capture, irscope

__all__ = ["capture", "irscope"]
