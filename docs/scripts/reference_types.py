"""Types in the reference of the Python API: how annotations are shown, and which types have an entry."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path

import irscope

API = Path(__file__).resolve().parents[1] / "api"
DIRECTIVE = re.compile(r"^<!-- reference: (.+) -->$", re.M)
RETURNED, FACTS = "returned types", "facts"
Function = Callable[..., object]


def type_of(value: Function | property | cached_property[object]) -> str:
    """The annotation of what a function or property returns."""
    getter = (
        value.fget
        if isinstance(value, property)
        else value.func
        if isinstance(value, cached_property)
        else value
    )
    return inspect.signature(getter).return_annotation if getter else ""


def fields_of(owner: type) -> Iterator[tuple[str, str]]:
    """Yields the name and the type of each public field of a dataclass; nothing for other classes."""
    if dataclasses.is_dataclass(owner):
        for field in dataclasses.fields(owner):
            if not field.name.startswith("_"):
                yield field.name, str(field.type)


def public_members(owner: type) -> Iterator[tuple[str, Function | property]]:
    """Yields the properties and functions that `owner` and its base classes in irscope define."""
    members: dict[str, object] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("irscope"):
            members |= vars(base)
    fields = {name for name, _ in fields_of(owner)}
    for name, value in members.items():
        if (
            name not in fields
            and not name.startswith("_")
            and (inspect.isfunction(value) or isinstance(value, property | cached_property))
        ):
            yield name, value


def plain(annotation: object) -> str:
    """An annotation without quotes and without the modules of types."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r"(?<![\w'\"])(?:\w+\.)+(?=[A-Z])", "", text.replace("'", "")).replace("_Self", "Self")


def linked(annotation: object, page: str) -> str:
    """An annotation in a table cell, with a link for each type that has an entry."""
    pieces = re.split(r"(\b[A-Z]\w+\b)", plain(annotation))
    shown = []
    for piece in pieces:
        place = places().get(piece)
        code = f"`{piece}`"
        if place and piece:
            target, anchor = place
            shown.append(f"[{code}]({'' if target == page else target}#{anchor})")
        elif piece:
            shown.append(code)
    return "".join(shown).replace("``", "")


@cache
def places() -> dict[str, tuple[str, str]]:
    """The page and anchor of each name that has an entry in docs/api/."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(API.glob("*.md")):
        heading = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            elif (match := DIRECTIVE.fullmatch(line)) and match[1] not in (RETURNED, FACTS):
                found[match[1]] = (path.name, anchor_of(heading))
            elif match and match[1] == RETURNED:
                returned = path.name
    return found | {
        each.__name__: (returned, anchor_of(each.__name__)) for each in _returned(frozenset(found))
    }


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as Python-Markdown and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def returned_types() -> list[type]:
    """The types that documented functions and attributes return and that have no entry, by name."""
    return _returned(frozenset(name for name in places() if hasattr(irscope, name.partition(".")[0])))


def _returned(documented: frozenset[str]) -> list[type]:
    """The types that the objects called `documented` return."""
    found: dict[str, type] = {}
    for name in sorted(documented):
        value = public_object(name)
        for owner, annotation in _annotations(
            value, whole=not any(n.startswith(f"{name}.") for n in documented)
        ):
            for word in re.findall(r"\b[A-Z]\w+", "" if "Callable" in str(annotation) else plain(annotation)):
                type_ = _resolved(word, owner)
                if (
                    inspect.isclass(type_)
                    and type_.__module__.startswith("irscope")
                    and word not in documented
                ):
                    found[word] = type_
    return [found[name] for name in sorted(found)]


def _annotations(value: object, *, whole: bool) -> Iterator[tuple[object, str]]:
    """Yields each type that a function returns or an attribute of a class has, with what it is written in."""
    if not inspect.isclass(value):
        yield value, type_of(value)  # type: ignore[arg-type]
        return
    for _, annotation in fields_of(value):
        yield value, annotation
    for _, each in public_members(value) if whole else ():
        if not inspect.isfunction(each):
            yield each, type_of(each)


def _resolved(name: str, owner: object) -> object:
    """The object that a name in an annotation of `owner` refers to, perhaps imported for type checkers."""
    written = owner.fget if isinstance(owner, property) else getattr(owner, "func", owner)
    module = sys.modules[getattr(written, "__module__", "builtins")]
    if hasattr(module, name):
        return getattr(module, name)
    for match in re.finditer(r"from (irscope[\w.]*) import (\([^)]*\)|[^\n]*)", inspect.getsource(module)):
        if re.search(rf"\b{name}\b", match[2]):
            __import__(match[1])
            return getattr(sys.modules[match[1]], name, None)
    return None


def public_object(name: str) -> type | Function | property:
    """The object that a directive names. Raises AttributeError if irscope has none."""
    owner, _, member = name.rpartition(".")
    return dict(public_members(getattr(irscope, owner)))[member] if owner else getattr(irscope, name)
