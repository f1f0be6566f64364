"""The compiler environment in the cache keys of many variants, read without parsing every key.

A key has 60 components of 3 kB in all, as JSON with sorted names. Those of the environment and of options
follow each other, and few variants of a sweep have others:

    {"attributes":...,"constant BLOCK":...,"environment ...":...,"option ...":...,"source":...,"type x":...}
"""

from __future__ import annotations

from irscope.model.environment import ENVIRONMENT, OPTION, environment_components
from irscope.store import encoding

_ENVIRONMENT, _OPTION = f',"{ENVIRONMENT}', f',"{OPTION}'
_FIRST = tuple(f'{{"{name}' for name in (ENVIRONMENT, OPTION))
_END = ',"source":'
# Parts that are remembered.
_MOST = 1000


class KeyEnvironments:
    """Reads the components of cache keys that `model.environment.environment_of` needs."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}
        self._equal: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def read(self, text: str) -> dict[str, str]:
        """These components of a cache key in JSON; equal ones are one object.

        Raises ValueError or TypeError for other texts, though not for damage in the rest of a key.
        """
        part = _part(text) if isinstance(text, str) else None
        if part is None:
            return self._components(text)
        found = self._known.get(part)
        if found is None:
            found = self._components(f"{{{part}}}")
            if len(self._known) < _MOST:
                self._known[part] = found
        return found

    def _components(self, text: str) -> dict[str, str]:
        found = environment_components(encoding.strings_from_json(text))
        return self._equal.setdefault(tuple(found.items()), found)


def _part(text: str) -> str | None:
    """The part of a key that has these components; None if they are not next to each other.

    A quote within a JSON string is escaped, so what looks like the start of a name is one.
    """
    environment, option = text.find(_ENVIRONMENT), text.find(_OPTION)
    start = min(environment, option) if environment >= 0 and option >= 0 else max(environment, option)
    end = text.rfind(_END)
    if start < 0 or end < 0 or text.startswith(_FIRST):
        return None
    is_split = text.find(_ENVIRONMENT, end) >= 0 or text.find(_OPTION, end) >= 0
    return None if is_split else text[start + 1 : end]
