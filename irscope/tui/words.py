"""The words of a line that the glossary knows."""

from __future__ import annotations

import re

from irscope.glossary.glossary import GlossaryEntry, entry_for

# A word of any of the stages' languages; values (%0, %r12) and numbers are none.
_WORD = re.compile(r"[%$\w#!.@]+")
# Paths are no words; a quoted operation (`"tt.reduce"`) is.
_QUOTED = re.compile(r'"[^"]*"')
# A line of LLVM IR can have thousands of words, of which the first say what it is.
_LONGEST = 4000
_MOST = 12


def explained(line: str) -> list[tuple[str, GlossaryEntry]]:
    """The words of a line that have an entry, with it, each entry once; the first dozen."""
    found: dict[str, tuple[str, GlossaryEntry]] = {}
    text = _QUOTED.sub(lambda quoted: " " if "/" in quoted[0] else quoted[0], line[:_LONGEST])
    for word in dict.fromkeys(_WORD.findall(text)):
        if word[0] in "%$" or not any(character.isalpha() for character in word):
            continue
        entry = entry_for(word)
        if entry is not None:
            found.setdefault(entry.word, (word, entry))
        if len(found) == _MOST:
            break
    return list(found.values())
