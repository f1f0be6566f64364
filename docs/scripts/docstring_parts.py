r"""Splits a docstring into a summary, the meaning of each name, the errors raised, and the rest.

irscope's docstrings are prose: "`jobs` are processes (None: one per core), `timeout` is in seconds." The
reference shows each of these as the row of a table:

    parts("Does it.\n\n`jobs` are processes. Raises UserError if it fails.", ["jobs"])
    # DocstringParts("Does it.", {"jobs": "processes"}, "Raises UserError if it fails.", "")
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

# A full stop that ends a sentence: not that of "a.b", nor one within parentheses.
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`\"])")
# A name and its meaning in an indented list.
_ITEM = re.compile(r"(?:^\w[^\n]*:\n)?^  (\w+): ", re.M)
_CODE = re.compile(r"(?:^ {4}.*\n?|^\n(?= {4}))+", re.M)


@dataclass(frozen=True)
class DocstringParts:
    """`meanings` by name; `raises` are the sentences about errors; `rest` and `summary` are Markdown."""

    summary: str
    meanings: dict[str, str]
    raises: str
    rest: str


def parts(text: str, names: Collection[str]) -> DocstringParts:
    """The parts of a docstring that describes `names`, parameters or fields."""
    summary, _, body = inspect.cleandoc(text).partition("\n\n")
    meanings: dict[str, str] = {}
    raises: list[str] = []
    paragraphs: list[str] = []
    for paragraph in re.split(r"\n\n", body):
        if _CODE.fullmatch(paragraph):
            paragraphs.append(f"```python\n{inspect.cleandoc(paragraph)}\n```")
            continue
        rest = []
        for sentence in _SENTENCE.split(" ".join(_ITEM.sub(r"`\1` is ", paragraph).split())):
            if re.match(r"(Raises|It never raises)\b", sentence):
                raises.append(sentence)
            elif found := list(_clauses(sentence, names)):
                for subjects, meaning in found:
                    for name in subjects:
                        meanings[name] = f"{meanings[name]} {meaning}" if name in meanings else meaning
            else:
                rest.append(sentence)
        paragraphs.append(" ".join(rest))
    summary, raised = _without_raises(" ".join(summary.split()))
    return DocstringParts(
        summary, meanings, " ".join([*raised, *raises]), "\n\n".join(filter(None, paragraphs))
    )


def _without_raises(summary: str) -> tuple[str, list[str]]:
    sentences = _SENTENCE.split(summary)
    raised = [sentence for sentence in sentences if sentence.startswith("Raises ")]
    return " ".join(sentence for sentence in sentences if sentence not in raised), raised


def _clauses(sentence: str, names: Collection[str]) -> Iterator[tuple[list[str], str]]:
    """Yields the names that each clause of a sentence is about, and the clause without them."""
    name = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    if not name or not re.search(rf"`(?:{name})`", sentence):
        return
    subject = rf"`(?:{name})`(?:(?:, | and |, and )`(?:{name})`)*"
    if not re.match(subject, sentence):
        yield re.findall(rf"`({name})`", sentence), sentence
        return
    for clause in _joined(re.split(rf"(?:; |, and |, )(?={subject}[ :])", sentence), subject):
        _, subjects, meaning = re.split(rf"^({subject})", clause, maxsplit=1)
        meaning = re.sub(r"^(?: (?:is|are)(?= )|:)\s*", "", meaning).strip(" .;")
        yield re.findall(rf"`({name})`", subjects), meaning


def _joined(clauses: list[str], subject: str) -> list[str]:
    """The clauses, with one that is only a subject ("`ms`, `p20` and `p80` are ...") joined to the next."""
    joined: list[str] = []
    for clause in clauses:
        if joined and re.fullmatch(subject, joined[-1]):
            joined[-1] += f", {clause}"
        else:
            joined.append(clause)
    return joined
