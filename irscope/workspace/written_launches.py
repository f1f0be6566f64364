"""Launches that nobody made, stored in a capture, so that its variants can be estimated."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from irscope.store import CaptureWriter
from irscope.workspace.launch_expression import parse_launch
from irscope.workspace.workspace import Workspace


def add_launches(path: Path, text: str, ids: Collection[int] | None = None) -> None:
    """Stores a launch, written as for `irscope pick --launch`, for each variant that has none.

    `ids`: only of these variants. Raises UserError if the text does not fit a variant.
    """
    expression = parse_launch(text)
    with Workspace(path) as capture:
        launches = {
            variant.id: expression.launch_of(variant)
            for variant in capture.variants
            if not variant.launches and variant.failure is None and (ids is None or variant.id in ids)
        }
    with CaptureWriter.resume(path, amends=True) as writer:
        for id_, launch in launches.items():
            writer.set_measured(id_, (launch,), ())
