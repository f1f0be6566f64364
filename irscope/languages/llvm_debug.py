"""LLVM's debug metadata: `!DILocation` and its scopes, resolved to locations in the user's Python."""

from __future__ import annotations

import re
from collections.abc import Iterable

from irscope.languages.assembly import MAX_INLINING
from irscope.languages.document import Location

_NODE = re.compile(r"!(\d+) = (?:distinct )?!DI(?:Location|File|Subprogram|LexicalBlock\w*)\((.*)\)")
_REFERENCE = re.compile(r"\b(scope|file|inlinedAt): !(\d+)")
_NUMBER = re.compile(r"\b(line|column): (\d{1,9})\b")
_STRING = re.compile(r'\b(filename|directory): "([^"]*)"')


class DebugLocations:
    """The locations that the metadata of an LLVM IR text defines, each resolved on first use."""

    def __init__(self, lines: Iterable[str]) -> None:
        nodes = (_NODE.match(line) for line in lines if line.startswith("!"))
        self._fields = {node[1]: node[2] for node in nodes if node}
        # A location, and the length of its inlined-at chain.
        self._locations: dict[str, tuple[Location | None, int]] = {}
        self._files: dict[str, str] = {}

    def location(self, number: str) -> Location | None:
        """The location that `!NUMBER` names, with its inlined-at chain; None if it names none.

        Code of line 0 belongs to the call through which it was inlined. A cycle ends after one round.
        """
        pending = []
        at: str | None = number
        while at is not None and at not in self._locations:
            self._locations[at] = None, 0
            pending.append(at)
            at = self._references(at).get("inlinedAt")
        caller, depth = (None, 0) if at is None else self._locations[at]
        for inner in reversed(pending):
            if depth == MAX_INLINING:
                caller, depth = None, 0
            caller, depth = self._resolve(inner, caller), depth + 1
            self._locations[inner] = caller, depth
        return self._locations[number][0]

    def _references(self, number: str) -> dict[str, str]:
        return dict(_REFERENCE.findall(self._fields.get(number, "")))

    def _resolve(self, number: str, caller: Location | None) -> Location | None:
        numbers = {name: int(value) for name, value in _NUMBER.findall(self._fields.get(number, ""))}
        if not numbers.get("line"):
            return caller
        scope = self._references(number).get("scope")
        return Location(self._file(scope), numbers["line"], numbers.get("column", 0), caller)

    def _file(self, scope: str | None) -> str:
        """The file of a scope, or of the nearest enclosing scope that has one; "" if none has."""
        path, walked = "", []
        while scope is not None and scope not in self._files:
            self._files[scope] = ""
            walked.append(scope)
            references = self._references(scope)
            if "file" in references:
                path = self._path(references["file"])
                break
            scope = references.get("scope")
        else:
            path = self._files.get(scope, "") if scope else ""
        self._files.update(dict.fromkeys(walked, path))
        return path

    def _path(self, number: str) -> str:
        strings = dict(_STRING.findall(self._fields.get(number, "")))
        name, directory = strings.get("filename", ""), strings.get("directory", "")
        return f"{directory}/{name}" if directory and not name.startswith("/") else name
