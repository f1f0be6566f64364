"""A layout attribute as TTGIR prints it, with typed access to its fields."""

from __future__ import annotations

import json
import re

from irscope.languages.mlir.parser import layout_fields, layout_kind
from irscope.model.records import frozen_with_dict


class UnknownLayoutError(Exception):
    """A layout that irscope cannot convert or draw; the message names the reason."""


@frozen_with_dict
class Attribute:
    """`#ttg.blocked<{sizePerThread = [1, 4], ...}>`, without aliases; `kind` is `ttg.blocked`."""

    text: str
    kind: str
    fields: dict[str, str]

    def numbers(self, name: str) -> list[int]:
        """Return a list of numbers.

        Raises UnknownLayoutError if the field is missing or not a list of numbers.
        """
        value = self._json(name)
        if isinstance(value, list) and all(type(item) is int for item in value):
            return value
        raise UnknownLayoutError(f"#{self.kind} has no list of numbers {name}")

    def number(self, name: str, default: int | None = None) -> int:
        """Return a number, `default` if the field is missing.

        Raises UnknownLayoutError if it is missing without a default, or not a number.
        """
        if name not in self.fields and default is not None:
            return default
        value = self._json(name)
        if type(value) is int:
            return value
        raise UnknownLayoutError(f"#{self.kind} has no number {name}")

    def flag(self, name: str) -> bool:
        """Check whether a field is `true`; False if it is missing."""
        return self.fields.get(name) == "true"

    def vectors(self, name: str) -> list[tuple[int, ...]]:
        """Return a list of lists of numbers, [] if the field is missing.

        Raises UnknownLayoutError for anything else.
        """
        if name not in self.fields:
            return []
        value = self._json(name)
        if isinstance(value, list) and all(
            isinstance(row, list) and all(type(item) is int for item in row) for row in value
        ):
            return [tuple(row) for row in value]
        raise UnknownLayoutError(f"#{self.kind} has no list of vectors {name}")

    def parent(self) -> Attribute:
        """Return the layout that this one is derived from. Raises UnknownLayoutError if there is none."""
        if "parent" not in self.fields:
            raise UnknownLayoutError(f"#{self.kind} has no parent")
        return parse_attribute(self.fields["parent"])

    def _json(self, name: str) -> object:
        try:
            return json.loads(self.fields.get(name, "null"))
        except (ValueError, RecursionError) as error:
            raise UnknownLayoutError(f"#{self.kind} has no readable {name}") from error


_SPACES = re.compile(r"\s+")


def parse_attribute(text: str) -> Attribute:
    """Parse the attribute that `text` spells. Never fails: the kind of any other text is ""."""
    text = _SPACES.sub(" ", text.strip())
    return Attribute(text, layout_kind(text), layout_fields(text))
