"""A lesson's text, filled in with what this machine's compiler made."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from irscope.learn.context import LessonContext, ReadStage, language_of, pair_of
from irscope.learn.lesson import Excerpt, Lesson, LessonStep
from irscope.model import Variant

_VALUE = re.compile(r"\{\{([ab])\.(\w+)(?::(.+?))?\}\}")
_WIDTH = 140
_PROSE = 110
_CALLED = {
    "python": "The kernel",
    "file": "The file",
    "sass": "SASS",
    "layout": "irscope layout",
    "lint": "irscope lint",
}


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


def question(step: LessonStep, a: LessonContext, b: LessonContext) -> str:
    """The question of a step, as Markdown, with the lines that it shows."""
    return _told(step.question, step.shown, a, b)


def answer(step: LessonStep, a: LessonContext, b: LessonContext) -> str:
    """The answer of a step, as Markdown, with the lines that it quotes."""
    return _told(step.answer, step.excerpts, a, b)


def _told(text: str, excerpts: Sequence[Excerpt], a: LessonContext, b: LessonContext) -> str:
    parts = [_filled(text, a, b).strip()]
    for (of, stage), group in groupby(excerpts, lambda excerpt: (excerpt.of, excerpt.stage)):
        parts.append(_quoted(a if of == "a" else b, stage, list(group), alone=a.variant == b.variant))
    return "\n\n".join(parts) + "\n"


def _filled(text: str, a: LessonContext, b: LessonContext) -> str:
    def value(match: re.Match[str]) -> str:
        seen = a if match[1] == "a" else b
        if match[3]:
            return f"{seen.count(match[2], match[3]):,}"
        return str(seen.facts[match[2]])

    return _VALUE.sub(value, text)


def _quoted(seen: LessonContext, stage: str, excerpts: Sequence[Excerpt], alone: bool) -> str:
    """What is quoted of one stage, in one block; "..." stands where lines are left out."""
    # Dedented, a block reads well anywhere.
    lines = seen.lines(stage)
    if language_of(stage) == "text":
        lines = [part for line in lines for part in _wrapped(line)]
    blocks = [textwrap.dedent("\n".join(_found(excerpt, lines))) for excerpt in excerpts]
    block = "\n...\n".join(blocks).expandtabs(4)
    return f"{_caption(seen, stage, excerpts[0].of, alone)}:\n\n```{_lexer(stage)}\n{block}\n```"


def _caption(seen: LessonContext, stage: str, of: str, alone: bool) -> str:
    called = _CALLED.get(stage, stage)
    if stage in ("python", "file", "lint"):  # the same for every variant
        return called
    return f"{'' if alone else f'{of.upper()}, '}{called} ({seen.name})"


def _found(excerpt: Excerpt, lines: list[str]) -> Iterator[str]:
    """The lines quoted. One that is too long is cut where nobody reads on, before and after the match."""
    for index, line in enumerate(lines):
        if match := re.search(excerpt.find, line):
            first = line if match.start() < _WIDTH // 2 else f"...{line[match.start() :]}"
            for one in (first, *lines[index + 1 : index + excerpt.lines]):
                yield one if len(one) <= _WIDTH else f"{one[: _WIDTH - 3]}..."
            return


def _wrapped(line: str) -> list[str]:
    """A line of prose as several: all of it is to be read."""
    indent = line[: len(line) - len(line.lstrip())] + "    "
    return textwrap.wrap(line, _PROSE, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _lexer(stage: str) -> str:
    """What Pygments and Markdown call the stage's language."""
    language = language_of(stage)
    return {"mlir": "ttir", "sass": "nvsass"}.get(language, language)
