"""The capture of the command line's tests."""

from tests.cli.conftest import capture, irscope

__all__ = ["capture", "irscope"]
