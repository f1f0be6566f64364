"""Plug-ins: backends and front ends that installed packages add by an entry point.

Looking up entry points reads the metadata of every installed package, so it happens once and only for a name
that irscope itself does not have. If a plug-in cannot be used, one line on stderr says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from irscope.model import UserError
from irscope.model.errors import error_line, print_note

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BACKENDS_GROUP = "irscope.backends"
FRONTENDS_GROUP = "irscope.frontends"
GROUPS = (BACKENDS_GROUP, FRONTENDS_GROUP)

T = TypeVar("T")

_objects: dict[Plugin, object] = {}


class Plugin(NamedTuple):
    """An entry point: its group, name and value ("module:object"), and the package that has it."""

    group: str
    name: str
    value: str
    package: str
    version: str

    def __str__(self) -> str:
        kind = self.group.removeprefix("irscope.").removesuffix("s")
        return f"{kind} '{self.name}' of {self.package} {self.version}"


def plugins(group: str) -> tuple[Plugin, ...]:
    """Return the installed plug-ins of a group, usable or not; import none of them."""
    return tuple(_plugin(entry) for entry in _entry_points(group))


@cache
def load_plugins(group: str, kind: type[T], check: Callable[[T, tuple[T, ...]], T]) -> tuple[T, ...]:
    """Load the objects of a group, in the order of their names.

    `check` is called with each object and those before it, returns the object to use, and raises
    ValueError if there is none. That, a failing import and an object that is not a `kind` are
    reported on stderr.
    """
    usable: tuple[T, ...] = ()
    for entry in _entry_points(group):
        usable = (*usable, *_loaded(entry, kind, usable, check))
    return usable


def _loaded(
    entry: EntryPoint, kind: type[T], before: tuple[T, ...], check: Callable[[T, tuple[T, ...]], T]
) -> tuple[T, ...]:
    """Load the object of an entry point; return none if it cannot be used."""
    try:
        candidate = entry.load()
        if not isinstance(candidate, kind):
            raise TypeError(f"{entry.value} is not a {kind.__name__}")
        usable = check(candidate, before)
        _objects[_plugin(entry)] = candidate
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the plug-in's own code
        report(f"{_plugin(entry)} is ignored", error)
        return ()
    return (usable,)


def guarded(function: Callable[..., T], instead: Callable[..., T], whose: str) -> Callable[..., T]:
    """Make a plug-in's function never raise: `instead` gets the arguments of a call that did.

    The first exception of each function is reported on stderr; a UserError is passed on.
    """

    @wraps(function)
    def call(*args: Any) -> T:
        try:
            return function(*args)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the plug-in's own code
            report(f"{whose} failed", error)
            return instead(*args)

    return call


def loaded_object(plugin: Plugin) -> object | None:
    """Return the object of a plug-in, or None if its group was not loaded or it cannot be used."""
    return _objects.get(plugin)


class _Reports:
    """The problems so far with their causes, and whether this process prints them."""

    silent = False
    found: ClassVar[dict[str, str]] = {}


def silence() -> None:
    """Print nothing about plug-ins in this process, a worker: it sends `problems` instead."""
    _Reports.silent = True


def report(problem: str, error: BaseException) -> None:
    """Print a problem with a plug-in, once."""
    if problem not in _Reports.found:
        _Reports.found[problem] = error_line(error)
        if not _Reports.silent:
            print_note(f"{problem}: {_Reports.found[problem]}")


def problems() -> list[str]:
    """Return the problems with plug-ins that this process met, in a line each."""
    return [f"{problem}: {cause}" for problem, cause in _Reports.found.items()]


@cache
def _entry_points(group: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    # One package can be found twice, by two folders of sys.path.
    by_name: dict[tuple[str, str], Any] = {
        (entry.name, entry.value): entry for entry in entry_points(group=group)
    }
    return tuple(by_name[key] for key in sorted(by_name))


def _plugin(entry: EntryPoint) -> Plugin:
    package = entry.dist
    name, version = (package.metadata["Name"], package.version) if package else ("unknown", "")
    return Plugin(entry.group, entry.name, entry.value, name, version)
