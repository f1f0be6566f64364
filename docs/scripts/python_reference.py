"""Generates the reference of the public Python API from its signatures and docstrings, as Markdown.

    python docs/scripts/python_reference.py compile    # prints the entry of irscope.compile

The pages in docs/api/ have the headings, the order and the examples. Under a heading, a comment names what
docs/scripts/site_pages.py inserts there on the site:

    <!-- reference: compile -->           a function: signature, parameters, errors
    <!-- reference: Comparison -->        a class: fields and properties as a table, then methods
    <!-- reference: Capture.compare -->   a method; the class's entry then omits its methods
    <!-- reference: returned types -->    the other types that these return, with a heading each
    <!-- reference: facts -->             every fact with its unit
"""

from __future__ import annotations

import inspect
import re
import sys
from enum import Enum
from functools import cached_property

from docstring_parts import parts
from reference_types import (
    DIRECTIVE,
    FACTS,
    RETURNED,
    Function,
    fields_of,
    linked,
    places,
    plain,
    public_members,
    public_object,
    returned_types,
    type_of,
)

from irscope.facts.registry import kinds_for
from irscope.targets import all_backends

# Parameters that have one meaning wherever they occur.
COMMON = {
    "variant": "a variant of the capture",
    "device": "the name of a GPU, or a file that `irscope pick --calibrate` wrote; None: that of the target",
    "stage": 'the name of a stage: "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn", ...',
    "a": "a variant of the capture: A",
    "b": "a variant of the capture: B, which is compared with A",
    "also": "names of stages",
    "index": "0 for A, 1 for B",
    "path": "the file of the capture",
    "force": "replace what exists",
    "folder": "the folder",
    "name": "the name of what is asked for",
}


def with_reference(text: str, page: str) -> str:
    """The text of a page in docs/api/ with each directive followed by what it names."""
    return DIRECTIVE.sub(lambda match: "\n".join(entry(match[1], page)).strip(), text)


def entry(name: str, page: str) -> list[str]:
    """The Markdown for one directive of a page."""
    if name == RETURNED:
        return [
            line
            for each in returned_types()
            for line in (f"## {each.__name__}", "", *class_entry(each, page))
        ]
    if name == FACTS:
        return facts_entry()
    value = public_object(name)
    if inspect.isclass(value):
        return class_entry(value, page, members=not any(each.startswith(f"{name}.") for each in places()))
    if isinstance(value, property | cached_property):
        return property_entry(name.rpartition(".")[2], value, page)
    shown = name.rpartition(".")[2] if "." in name else f"irscope.{name}"
    return function_entry(shown, value, page)


def function_entry(shown: str, function: Function, page: str) -> list[str]:
    """A function: signature, summary, parameters, result, errors."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    doc = parts(inspect.getdoc(function) or "", [each.name for each in parameters])
    rows = [
        f"| `{each.name}` | {_meaning(each.name, doc.meanings)} |"
        for each in parameters
        if each.name in doc.meanings or (each.name in COMMON and f"`{each.name}`" not in doc.summary)
    ]
    table = ["| parameter | meaning |", "| --- | --- |", *rows, ""] if rows else []
    result = linked(signature.return_annotation, page)
    returns = [] if plain(signature.return_annotation) == "None" else [f"**Returns** {result}", ""]
    raises = [f"**Raises** {_raised(doc.raises)}", ""] if doc.raises else []
    rest = [_escaped(doc.rest), ""] if doc.rest else []
    return ["", *signature_of(shown, function), _escaped(doc.summary), "", *rest, *table, *returns, *raises]


def property_entry(name: str, value: property | cached_property[object], page: str) -> list[str]:
    """A property: type and docstring."""
    doc = parts(inspect.getdoc(value) or "", [])
    type_ = linked(type_of(value), page)
    return ["", f"`{name}`: {type_}", "", _escaped(doc.summary), "", _escaped(doc.rest), ""]


def class_entry(owner: type, page: str, *, members: bool = True) -> list[str]:
    """A class: its docstring, fields and properties as a table, and its methods."""
    fields = list(fields_of(owner))
    text = inspect.getdoc(owner) or ""
    doc = parts("" if text.startswith(f"{owner.__name__}(") else text, [name for name, _ in fields])
    found = list(public_members(owner)) if members else []
    properties = [(name, each) for name, each in found if not inspect.isfunction(each)]
    shown = [(name, type_, _meaning(name, doc.meanings)) for name, type_ in fields]
    for name, each in properties:
        about = parts(inspect.getdoc(each) or "", [])
        shown.append((name, type_of(each), _cell(f"{about.summary} {about.rest}")))
    rows = [f"| `{name}`<br>{linked(type_, page)} | {meaning} |" for name, type_, meaning in shown]
    table = ["| attribute | meaning |", "| --- | --- |", *rows, ""] if rows else []
    values = (
        [f"Values: {', '.join(f'`{each.name}`' for each in owner)}", ""] if issubclass(owner, Enum) else []
    )
    raises = [f"**Raises** {_raised(doc.raises)}", ""] if doc.raises else []
    rest = [_escaped(doc.rest), ""] if doc.rest else []
    lines = ["", _escaped(doc.summary), "", *rest, *values, *table, *raises]
    for name, each in found:
        if inspect.isfunction(each):
            lines += [f"### {owner.__name__}.{name}", *function_entry(name, each, page)]
    return lines


def facts_entry() -> list[str]:
    """A table per backend: every fact with unit, better direction and description."""
    lines = []
    for backend in all_backends():
        lines += [
            "",
            f"## Target {backend.name}",
            "",
            "| name | unit | better | meaning |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| `{each.name}` | {each.unit} | {each.better} | {_cell(each.description)} |"
            for each in kinds_for(backend.name)
        ]
    return [*lines, ""]


def signature_of(name: str, function: Function) -> list[str]:
    """A code block with the signature, one parameter per line if it is long."""
    signature = inspect.signature(function)
    shown = []
    for parameter in signature.parameters.values():
        if parameter.name != "self":
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown and not _has_rest(signature):
                shown.append("*")
            shown.append(_parameter(parameter))
    returns = f" -> {plain(signature.return_annotation)}"
    text = f"{name}({', '.join(shown)}){returns}"
    if len(text) > 90:
        text = f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f"){returns}"
    return ["```python", text, "```", ""]


def _has_rest(signature: inspect.Signature) -> bool:
    return any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    shown = f"{stars}{parameter.name}: {plain(parameter.annotation)}"
    return shown if parameter.default is parameter.empty else f"{shown} = {_text(parameter.default)}"


def _text(default: object) -> str:
    return "..." if callable(default) else repr(default)


def _meaning(name: str, meanings: dict[str, str]) -> str:
    return _cell(meanings.get(name) or COMMON.get(name, ""))


def _cell(text: str) -> str:
    return " ".join(_escaped(text).replace("|", "\\|").split())


def _escaped(text: str) -> str:
    """`text` with all Markdown escaped except code."""
    pieces = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.S)
    pieces[::2] = [re.sub(r"([*_<\[#])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def _raised(text: str) -> str:
    text = re.sub(r"(?:^|\s)Raises (?=\w)", lambda match: "; " if match.start() else "", text)
    return re.sub(r"as `content`", "UserError as [Capture.content](capture.md#capturecontent)", text).strip()


if __name__ == "__main__":
    print("\n".join(entry(sys.argv[1], "")))
