"""Generates the reference of the public Python API out of its signatures and docstrings, as Markdown.

    python docs/python_reference.py    # prints it

docs/site_pages.py puts it at the end of docs/python.md on the site.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property

import irscope


def reference() -> str:
    """The reference as Markdown: functions first, then types, each in the order of `irscope.__all__`."""
    public = {name: getattr(irscope, name) for name in irscope.__all__}
    lines = ["## Functions", ""]
    for name, value in public.items():
        if not inspect.isclass(value):
            lines += [f"### irscope.{name}", "", *signature_of(f"irscope.{name}", value), *text_of(value)]
    lines += ["## Types", ""]
    for name, value in public.items():
        if inspect.isclass(value):
            lines += [f"### {name}", "", *text_of(value), *fields_of(value), *members_of(value)]
    return "\n".join(lines)


def signature_of(name: str, function: Callable[..., object]) -> list[str]:
    """A code block with the signature, one parameter per line if it is long."""
    signature = inspect.signature(function)
    shown = []
    for parameter in signature.parameters.values():
        if parameter.name != "self":
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
                shown.append("*")
            shown.append(parameter_of(parameter))
    returns = f" -> {plain(str(signature.return_annotation))}"
    text = f"{name}({', '.join(shown)}){returns}"
    if len(text) > 90:
        text = f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f"){returns}"
    return ["```python", text, "```", ""]


def parameter_of(parameter: inspect.Parameter) -> str:
    """`name: type = default`."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    shown = f"{stars}{parameter.name}: {plain(str(parameter.annotation))}"
    if parameter.default is parameter.empty:
        return shown
    return f"{shown} = {'...' if callable(parameter.default) else repr(parameter.default)}"


def text_of(value: object) -> list[str]:
    """The docstring as Markdown; a dataclass's generated one is left out."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        text = ""
    return [prose(text), ""] if text else []


def fields_of(owner: type) -> list[str]:
    """A table of a dataclass's fields."""
    if not dataclasses.is_dataclass(owner):
        return []
    rows = [
        f"| `{field.name}` | `{plain(str(field.type))}` |".replace(" | None`", " \\| None`")
        for field in dataclasses.fields(owner)
        if not field.name.startswith("_")
    ]
    return ["| field | type |", "| --- | --- |", *rows, ""]


def members_of(owner: type) -> list[str]:
    """The public properties and methods, inherited ones included, those of the base classes first."""
    lines: list[str] = []
    for name, value in public_members(owner):
        if isinstance(value, property | cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            returns = plain(str(inspect.signature(getter).return_annotation)) if getter else ""
            lines += [f"#### {owner.__name__}.{name}", "", "```python", f"{name}: {returns}", "```", ""]
        else:
            lines += [f"#### {owner.__name__}.{name}", "", *signature_of(name, value)]
        lines += text_of(value)
    return lines


def public_members(owner: type) -> Iterator[tuple[str, Callable[..., object] | property]]:
    """Yields the properties and functions that `owner` and its base classes in irscope define."""
    members: dict[str, object] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("irscope"):
            members |= vars(base)
    for name, value in members.items():
        if not name.startswith("_") and (
            inspect.isfunction(value) or isinstance(value, property | cached_property)
        ):
            yield name, value


def plain(annotation: str) -> str:
    """A signature without quotes around annotations and without the modules of types."""
    return re.sub(r"(?<![\w'\"])(?:\w+\.)+(?=[A-Z])", "", annotation.replace("'", "")).replace(
        "_Self", "Self"
    )


def prose(text: str) -> str:
    """A docstring as Markdown: paragraphs keep their line breaks, indented examples become code."""
    parts = re.split(r"((?:^ {4}.*\n?|^\n(?= {4}))+)", text + "\n", flags=re.M)
    shown = [
        f"\n```python\n{inspect.cleandoc(part)}\n```\n" if i % 2 else part for i, part in enumerate(parts)
    ]
    return "".join(shown).strip()


if __name__ == "__main__":
    print(reference())
