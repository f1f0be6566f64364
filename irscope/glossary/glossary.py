"""The glossary: words of Triton's stages, facts and tuning, explained. The entries stand in entries/*.md.

A file has `stage:` and `see:` lines that hold for all its entries, then a `## WORD` for each, with `also:`
(other names; `*` stands for anything), its own `stage:` and `see:`, and the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rapidfuzz import fuzz, process

_FILES = ("layouts", "operations", "ptx", "sass", "amdgcn", "facts", "tuning", "passes", "lint")
_FIELD = re.compile(r"(also|stage|see): *(.+)")
# Longer tokens are no words: what an IR can be made to hold is not matched against every pattern.
_LONGEST = 200
# In a line of any stage, the words that may be terms, without quoted paths.
_WORD = re.compile(r"[%$\w#!.@]+")
_QUOTED = re.compile(r'"[^"]*"')
# A line of LLVM IR can have thousands of words; the first ones identify it.
_MAX_LINE = 4000
_MAX_ENTRIES = 12


@dataclass(frozen=True, slots=True)
class Reference:
    """Where to read on: a title, and an address where it is known ("" otherwise)."""

    title: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A word with what it means. `names` are its other names, `*` in them stands for anything."""

    word: str
    names: tuple[str, ...]
    stages: tuple[str, ...]
    text: str
    see: Reference | None

    @property
    def plain_names(self) -> tuple[str, ...]:
        """The word and those of its names that are no patterns."""
        return (self.word, *(name for name in self.names if "*" not in name))


@lru_cache(maxsize=1)
def topics() -> tuple[tuple[str, tuple[GlossaryEntry, ...]], ...]:
    """The title of each topic, and its entries."""
    folder = Path(__file__).with_name("entries")
    texts = [(folder / f"{name}.md").read_text(encoding="utf-8") for name in _FILES]
    return tuple((text.partition("\n")[0].removeprefix("# "), tuple(_parsed(text))) for text in texts)


@lru_cache(maxsize=1)
def entries() -> tuple[GlossaryEntry, ...]:
    """All entries, by topic."""
    return tuple(entry for _, topic in topics() for entry in topic)


def entry_for(token: str) -> GlossaryEntry | None:
    """The entry of a token as it stands in IR text: `ld.global.v4.b32`, `#ttg.blocked`, `LDG.E.128`.

    Where the token itself is no name, the longest pattern that fits it counts, then what is left of it
    without its last parts. None where nothing is known.
    """
    token = token.strip(" \t`'\"<>{}()[],;:=")
    if not token or len(token) > _LONGEST:
        return None
    for spelled in _spellings(token):
        found = _words().get(spelled) or _by_pattern(spelled)
        if found is not None:
            return found
    return None


def entries_in_line(line: str) -> list[tuple[str, GlossaryEntry]]:
    """The words of a line that have an entry, with the entry: the first dozen, each entry once."""
    found: dict[str, tuple[str, GlossaryEntry]] = {}
    text = _QUOTED.sub(lambda quoted: " " if "/" in quoted[0] else quoted[0], line[:_MAX_LINE])
    for word in dict.fromkeys(_WORD.findall(text)):
        # Skip values (%0, $r1) and numbers.
        if word[0] in "%$" or not any(character.isalpha() for character in word):
            continue
        entry = entry_for(word)
        if entry is not None:
            found.setdefault(entry.word, (word, entry))
        if len(found) == _MAX_ENTRIES:
            break
    return list(found.values())


def looked_up(text: str) -> list[GlossaryEntry]:
    """What a person means by `text`: its entry, those with that name in any case, or those that start so."""
    if not (text := text.strip()):
        return []
    if entry := entry_for(text):
        return [entry]
    lower = text.lower()
    names = [(entry, [name.lower() for name in entry.plain_names]) for entry in entries()]
    return [entry for entry, own in names if lower in own] or [
        entry for entry, own in names if any(name.startswith(lower) for name in own)
    ]


def close_to(text: str, most: int = 5) -> list[str]:
    """Words and names that are spelled much like `text`, the closest first."""
    names = {name.lower(): name for entry in entries() for name in entry.plain_names}
    found = process.extract(text.lower(), names.keys(), scorer=fuzz.ratio, limit=most, score_cutoff=60)
    return [names[name] for name, _, _ in found]


def _spellings(token: str) -> Iterator[str]:
    """`token`, then without the number of an alias and without a sign, then without its last parts."""
    yield token
    bare = token
    if token[0] in "#!":
        yield token.rstrip("0123456789")
        bare = token[1:].rstrip("0123456789")
        yield bare
    while "." in bare:
        bare = bare.rpartition(".")[0]
        yield bare


@lru_cache(maxsize=1)
def _words() -> dict[str, GlossaryEntry]:
    """Entries by name; a word comes before a name of another."""
    named = [(name, entry) for entry in entries() for name in entry.plain_names[1:]]
    words = [(entry.word, entry) for entry in entries()]
    return dict([*named, *words])


def _by_pattern(token: str) -> GlossaryEntry | None:
    fitting = [(name, entry) for name, pattern, entry in _patterns() if pattern.fullmatch(token)]
    # A suffix (`*_dpp`) says more of an instruction than how it begins.
    ranked = sorted(fitting, key=lambda pair: (pair[0].startswith("*"), len(pair[0])))
    return ranked[-1][1] if ranked else None


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str], GlossaryEntry], ...]:
    """The names with one `*`, as patterns."""
    return tuple(
        (name, re.compile(re.escape(name).replace(r"\*", ".*")), entry)
        for entry in entries()
        for name in entry.names
        if "*" in name
    )


def _parsed(text: str) -> Iterator[GlossaryEntry]:
    head, *sections = re.split(r"^## +", text, flags=re.M)
    defaults, _ = _fields(head)
    for section in sections:
        word, _, body = section.partition("\n")
        own, lines = _fields(body)
        fields = defaults | own
        title, _, url = fields.get("see", "").partition(" | ")
        yield GlossaryEntry(
            word=word.strip(),
            names=tuple(_split(own.get("also", ""))),
            stages=tuple(_split(fields.get("stage", ""))),
            text=" ".join(lines),
            see=Reference(title.strip(), url.strip()) if title else None,
        )


def _fields(text: str) -> tuple[dict[str, str], list[str]]:
    """The fields of a section, and its other lines."""
    fields, rest = {}, []
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := _FIELD.fullmatch(line):
            fields[match[1]] = match[2]
        else:
            rest.append(line)
    return fields, rest


def _split(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.split(",")))
