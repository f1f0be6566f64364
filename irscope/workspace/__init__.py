"""The API boundary: an open capture answers every question once, for every view."""

from irscope.workspace.texts import PYTHON, TEXTS, check_stage, encoded, text_stages, variant_texts
from irscope.workspace.workspace import Workspace

__all__ = ["PYTHON", "TEXTS", "Workspace", "check_stage", "encoded", "text_stages", "variant_texts"]
