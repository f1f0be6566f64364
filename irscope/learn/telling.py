"""A lesson's text, filled in with what this machine's compiler made."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from irscope.learn.lesson import Excerpt, Lesson, Step
from irscope.learn.seen import ReadStage, Seen, language_of, pair_of
from irscope.model import Variant

_VALUE = re.compile(r"\{\{([ab])\.(\w+)(?::(.+?))?\}\}")
_WIDTH = 140


def markdown(lesson: Lesson, variants: Sequence[Variant], read: ReadStage) -> str:
    """The whole lesson, told on a capture of it. Raises UserError where that lacks a variant."""
    parts = [f"# {lesson.number}. {lesson.title}", lesson.about.strip()]
    for step in lesson.steps:
        a, b = pair_of(step, variants, read)
        parts += [
            f"## {step.title}",
            question(step, a, b).strip(),
            f"**Answer.** {answer(step, a, b).strip()}",
        ]
    return "\n\n".join([*parts, lesson.more.strip()]).rstrip() + "\n"


def question(step: Step, a: Seen, b: Seen) -> str:
    """The question of a step, as Markdown."""
    return _filled(step.question, a, b)


def answer(step: Step, a: Seen, b: Seen) -> str:
    """The answer of a step, as Markdown, with the lines that it quotes."""
    parts = [_filled(step.answer, a, b).strip()]
    parts += [_quoted(excerpt, a, b) for excerpt in step.excerpts]
    return "\n\n".join(parts) + "\n"


def _filled(text: str, a: Seen, b: Seen) -> str:
    def value(match: re.Match[str]) -> str:
        seen = a if match[1] == "a" else b
        if match[3]:
            return f"{seen.count(match[2], match[3]):,}"
        return str(seen.facts[match[2]])

    return _VALUE.sub(value, text)


def _quoted(excerpt: Excerpt, a: Seen, b: Seen) -> str:
    seen = a if excerpt.of == "a" else b
    lines = list(_found(excerpt, seen.lines(excerpt.stage)))
    # A dedented block reads well anywhere; a long type is cut where nobody reads on.
    cut = [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..." for line in lines]
    block = textwrap.dedent("\n".join(cut).expandtabs(4))
    config = seen.variant.config
    return f"{excerpt.of.upper()}, {excerpt.stage} ({config}):\n\n```{_lexer(excerpt.stage)}\n{block}\n```"


def _found(excerpt: Excerpt, lines: list[str]) -> Iterator[str]:
    for index, line in enumerate(lines):
        if re.search(excerpt.find, line):
            yield from lines[index : index + excerpt.lines]
            return


def _lexer(stage: str) -> str:
    """What Pygments and Markdown call the stage's language."""
    language = language_of(stage)
    return {"mlir": "ttir", "sass": "nvsass"}.get(language, language)
