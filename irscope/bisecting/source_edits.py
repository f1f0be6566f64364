"""How the source and the settings of a kernel differ between two commits, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.analysis.python_edit_text import describe
from irscope.analysis.python_edits import edits
from irscope.model import SourceFunction, Variant, format_value
from irscope.model.text import base_name

_MOST = 20


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """One edit: the function, the line after it (before it if the statement is gone), and what changed."""

    function: str
    file: str
    line: int
    text: str


def source_edits(good: Variant, bad: Variant) -> list[SourceEdit]:
    """The edits of the kernel, of the functions that it calls, and of its settings."""
    found = [*_settings(good, bad), *_functions(good, bad)]
    return found[:_MOST]


def _functions(good: Variant, bad: Variant) -> Iterator[SourceEdit]:
    before = {function.name: function for function in (*good.kernel.helpers, good.kernel.source)}
    for function in (bad.kernel.source, *bad.kernel.helpers):
        old = before.get(function.name)
        if old is None:
            yield _edit(function, function.line, "new function that the kernel calls")
        elif old.text != function.text:
            yield from _edits(old, function)
    names = {function.name for function in (bad.kernel.source, *bad.kernel.helpers)}
    gone = (function for name, function in before.items() if name not in names)
    yield from (_edit(function, function.line, "no longer called") for function in gone)


def _edits(old: SourceFunction, new: SourceFunction) -> Iterator[SourceEdit]:
    found = edits(old.text, old.line, new.text, new.line)
    for edit in found:
        statement = edit.after or edit.before
        if statement is not None:
            yield _edit(new, statement.line, describe(edit))
    if not found and _header(old) != _header(new):
        yield _edit(new, new.line, "its signature or decorators differ")


def _header(function: SourceFunction) -> str:
    return function.text.partition(":\n")[0]


def _edit(function: SourceFunction, line: int, text: str) -> SourceEdit:
    return SourceEdit(function.name, base_name(function.file), line, text)


def _settings(good: Variant, bad: Variant) -> Iterator[SourceEdit]:
    """Config values, argument types and globals that differ."""
    before, after = _values(good), _values(bad)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, "unset"), after.get(name, "unset")
        if was != now:
            yield _edit(bad.kernel.source, bad.kernel.source.line, f"{name}: {was} -> {now}")


def _values(variant: Variant) -> dict[str, str]:
    values = {argument.name: str(argument) for argument in variant.specialization}
    values |= {name: format_value(value) for name, value in variant.config.values}
    return values | {name: text for name, text in variant.cache_key.items() if name.startswith("global ")}
