"""The glossary: explains terms of Triton's stages, facts, passes and tuning. The entries are in entries/*.md.

Each file is a topic. Its `stage:` and `see:` lines apply to all its entries. An entry starts with `## WORD`,
followed by optional `also:` (other names; `*` matches anything), `related:` (words of other entries),
`stage:` and `see:` lines, and the text. The entries of the lint rules come from the rules' own documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from rapidfuzz import fuzz, process

from irscope.facts.registry import FACT_KINDS
from irscope.lint.advisory import Advisory, advisories
from irscope.lint.diagnostic import Rule, documented_rules
from irscope.model.records import frozen

_TOPICS = (
    "layouts",
    "operations",
    "ptx",
    "sass",
    "amdgcn",
    "facts",
    "estimates",
    "tuning",
    "passes",
    "views",
    "words",
    "gpu",
)
_FIELD = re.compile(r"(also|stage|see|related): *(.+)")
# Longer tokens are not matched against the patterns: untrusted IR may contain tokens of any length.
_MAX_TOKEN = 200
# In a line of any stage, the words that may be terms, without quoted paths.
_WORD = re.compile(r"[%$\w#!.@]+")
_QUOTED = re.compile(r'"[^"]*"')
# A line of LLVM IR can have thousands of words; the first ones identify it.
_MAX_LINE = 4000
_MAX_ENTRIES = 12
# The stage of entries about irscope's own words, which mean something else in a line of a stage.
_VIEWS = ("views",)
# The number of words of the longest terms of the views.
_MAX_PHRASE = 3
# The letters of a word so short that others begin with it by chance.
_SHORT = 3


@frozen
class Reference:
    """Further reading: a title, and a URL if there is one (else "")."""

    title: str
    url: str = ""


@frozen
class GlossaryEntry:
    """A term and its explanation.

    `names` are its other names; `*` in them matches anything. `related` are words of other entries.
    """

    word: str
    names: tuple[str, ...]
    stages: tuple[str, ...]
    text: str
    see: Reference | None
    related: tuple[str, ...] = ()

    @property
    def plain_names(self) -> tuple[str, ...]:
        """Return the word and its names that are not patterns."""
        return (self.word, *(name for name in self.names if "*" not in name))


@lru_cache(maxsize=1)
def topics() -> tuple[tuple[str, tuple[GlossaryEntry, ...]], ...]:
    """Return the title and the entries of each topic."""
    folder = Path(__file__).with_name("entries")
    texts = [(folder / f"{name}.md").read_text(encoding="utf-8") for name in _TOPICS]
    parsed_topics = [(text.partition("\n")[0].removeprefix("# "), tuple(_parsed(text))) for text in texts]
    return (
        *parsed_topics,
        ("Rules of irscope lint", tuple(map(_rule_entry, documented_rules()))),
        ("Advisories", tuple(map(_advisory_entry, advisories()))),
    )


@lru_cache(maxsize=1)
def glossary_entries() -> tuple[GlossaryEntry, ...]:
    """Return all entries, by topic."""
    return tuple(entry for _, topic in topics() for entry in topic)


def entry_for(token: str) -> GlossaryEntry | None:
    """Return the entry for a token of IR text, or None if nothing matches.

    A token is `ld.global.v4.b32`, `#ttg.blocked` or `LDG.E.128`. Tries the token as a name, then
    the longest pattern that matches it, then the token without its last parts.
    """
    token = token.strip(" \t`'\"<>{}()[],;:=")
    if not token or len(token) > _MAX_TOKEN:
        return None
    for spelled in _spellings(token):
        entry = _words().get(spelled) or _by_pattern(spelled)
        if entry is not None:
            return entry
    return None


def entries_in_line(line: str, of_view: bool = False) -> list[tuple[str, GlossaryEntry]]:
    """Return the words of a line that have an entry, with it: the first dozen, each entry once.

    Words of irscope's views are explained only if the line is one `of_view`: a finding, a heading.
    """
    if of_view:
        return _entries_in_view(line[:_MAX_LINE])
    by_word: dict[str, tuple[str, GlossaryEntry]] = {}
    text = _QUOTED.sub(lambda quoted: " " if "/" in quoted[0] else quoted[0], line[:_MAX_LINE])
    for word in dict.fromkeys(_WORD.findall(text)):
        # Skip values (%0, $r1) and numbers.
        if word[0] in "%$" or not any(character.isalpha() for character in word):
            continue
        entry = entry_for(word)
        if entry is not None and entry.stages != _VIEWS:
            by_word.setdefault(entry.word, (word, entry))
        if len(by_word) == _MAX_ENTRIES:
            break
    return list(by_word.values())


def _entries_in_view(line: str) -> list[tuple[str, GlossaryEntry]]:
    """Return the terms in a line that people read, such as a finding: the longest first at each word."""
    by_word: dict[str, tuple[str, GlossaryEntry]] = {}
    words = _WORD.findall(line)
    index = 0
    while index < len(words) and len(by_word) < _MAX_ENTRIES:
        for length in range(_MAX_PHRASE, 0, -1):
            phrase = " ".join(words[index : index + length])
            if (entry := _entry_of_phrase(phrase)) is not None:
                by_word.setdefault(entry.word, (phrase, entry))
                index += length - 1
                break
        index += 1
    return list(by_word.values())


def _entry_of_phrase(phrase: str) -> GlossaryEntry | None:
    """Return the entry of words as a view prints them, in any case and number."""
    phrase = phrase.strip(".")
    if not any(character.isalpha() for character in phrase) or phrase[0] in "%$":
        return None
    lower = phrase.lower()
    spelled = (
        _words().get(spelling) or _lower_words().get(spelling)
        for spelling in (phrase, lower, *_singular(lower))
    )
    if entry := next(filter(None, spelled), None) or _by_fact(lower):
        return entry
    return None if " " in phrase else entry_for(phrase)


def _singular(lower: str) -> Iterator[str]:
    """Yield the words whose plural a word may be: conflicts -> conflict, launches -> launch."""
    for ending in ("s", "es"):
        if lower.endswith(ending) and len(lower) > len(ending) + _SHORT - 1:
            yield lower.removesuffix(ending)


def find_entries(text: str) -> list[GlossaryEntry]:
    """Return the entries that a user may mean by `text`.

    The first that there are: the word as it is written; in any case; a token of a stage; a title
    of a fact; words that begin with `text`.
    """
    if not (text := text.strip()):
        return []
    if exact := _words().get(text):
        return [exact]
    lower = text.lower()
    names = [(entry, [name.lower() for name in entry.plain_names]) for entry in glossary_entries()]
    if same := [entry for entry, lower_names in names if lower in lower_names]:
        return same
    if entry := entry_for(text) or _by_fact(lower) or _entry_of_phrase(text):
        return [entry]
    return [entry for entry, lower_names in names if any(_begins(name, lower) for name in lower_names)]


def _begins(name: str, prefix: str) -> bool:
    """Check whether `name` begins with `prefix`.

    A short one must be a whole part (`ld` of `ld.global`).
    """
    rest = name.removeprefix(prefix)
    return name.startswith(prefix) and (len(prefix) > _SHORT or not rest[:1].isalnum())


def _by_fact(lower: str) -> GlossaryEntry | None:
    """Return the entry of a fact, by its title in the table or its name in a sentence."""
    for kind in FACT_KINDS:
        if lower in (kind.title.lower(), kind.label.lower(), kind.heading.lower()):
            return entry_for(kind.name)
    return None


def similar_names(text: str) -> list[str]:
    """Return the five words and names spelled most similarly to `text`, the most similar first."""
    names = {name.lower(): name for entry in glossary_entries() for name in entry.plain_names}
    similar = process.extract(text.lower(), names.keys(), scorer=fuzz.ratio, limit=5, score_cutoff=60)
    return [names[name] for name, _, _ in similar]


def _spellings(token: str) -> Iterator[str]:
    """Yield `token`, then without an alias's number and sigil, then without its last dotted parts."""
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
    """Map names to entries. A word takes precedence over another entry's name."""
    named = [(name, entry) for entry in glossary_entries() for name in entry.plain_names[1:]]
    words = [(entry.word, entry) for entry in glossary_entries()]
    return dict([*named, *words])


@lru_cache(maxsize=1)
def _lower_words() -> dict[str, GlossaryEntry]:
    """Map names in lower case to entries; the first of several."""
    by_name: dict[str, GlossaryEntry] = {}
    for name, entry in _words().items():
        by_name.setdefault(name.lower(), entry)
    return by_name


def _by_pattern(token: str) -> GlossaryEntry | None:
    matching = [(name, entry) for name, pattern, entry in _patterns() if pattern.fullmatch(token)]
    # A suffix (`*_dpp`) is more specific than a prefix.
    ranked = sorted(matching, key=lambda pair: (pair[0].startswith("*"), len(pair[0])))
    return ranked[-1][1] if ranked else None


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str], GlossaryEntry], ...]:
    """Compile the names that contain a `*`."""
    return tuple(
        (name, re.compile(re.escape(name).replace(r"\*", ".*")), entry)
        for entry in glossary_entries()
        for name in entry.names
        if "*" in name
    )


def _rule_entry(rule: Rule) -> GlossaryEntry:
    see = Reference("irscope, docs/lint.md")
    return GlossaryEntry(rule.name, (rule.code,), ("python",), rule.explanation, see)


def _advisory_entry(advisory: Advisory) -> GlossaryEntry:
    see = Reference(advisory.name, advisory.source)
    return GlossaryEntry(advisory.name, (advisory.code,), ("python",), advisory.explanation, see)


def _parsed(text: str) -> Iterator[GlossaryEntry]:
    head, *sections = re.split(r"^## +", text, flags=re.M)
    defaults, _ = _fields(head)
    for section in sections:
        word, _, body = section.partition("\n")
        section_fields, lines = _fields(body)
        fields = defaults | section_fields
        title, _, url = fields.get("see", "").partition(" | ")
        yield GlossaryEntry(
            word=word.strip(),
            names=tuple(_split(section_fields.get("also", ""))),
            stages=tuple(_split(fields.get("stage", ""))),
            text=" ".join(lines),
            see=Reference(title.strip(), url.strip()) if title else None,
            related=tuple(_split(section_fields.get("related", ""))),
        )


def _fields(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the fields of a section, and its remaining lines."""
    fields, rest = {}, []
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := _FIELD.fullmatch(line):
            fields[match[1]] = match[2]
        else:
            rest.append(line)
    return fields, rest


def _split(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.split(",")))
