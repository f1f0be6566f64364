"""The committed stages, and diffs of two texts."""

from __future__ import annotations

from pathlib import Path

from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.languages.language import parse
from irscope.targets import stage_named

FOLDER = Path(__file__).parent.parent / "data" / "stages"
NAMES = sorted(path.name for path in FOLDER.iterdir())


def language_of(name: str) -> str:
    """The language of a committed stage, from its file extension."""
    language = stage_named(name.rpartition(".")[2]).language
    assert language is not None
    return language


def text_of(name: str) -> str:
    return (FOLDER / name).read_text()


def diff_texts(left: str, right: str, language: str) -> StageDiff:
    return diff_stage(language, parse(left, language), parse(right, language))


def diff_files(left: str, right: str) -> StageDiff:
    return diff_texts(text_of(left), text_of(right), language_of(left))
