"""Renders a lesson as Markdown, filled in with the facts and lines of its capture.

The pages of a lesson in the app: question, answer, question, answer, ..., with lines to look at.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from irscope.learn.context import EXTRAS, LessonContext, contexts_of, language_of
from irscope.learn.exercises import tasks
from irscope.learn.lesson import Excerpt, Lesson, LessonStep, Measurement
from irscope.learn.sample_commands import sample_file
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.workspace import Workspace
from irscope.workspace.variant_texts import PYTHON

_PLACEHOLDER = re.compile(r"\{\{([ab])\.(\w+)(?::(.+?))?\}\}")
_CODE_WIDTH = 140
_PROSE_WIDTH = 110


def markdown(lesson: Lesson, capture: Workspace, folded: bool = False) -> str:
    """Return the whole lesson. `folded` hides answers and kernels behind a click, and links samples.

    Raises UserError if the capture lacks a variant.
    """
    parts = [f"# {lesson.number}. {lesson.title}", lesson.about.strip()]
    shown_kernels: set[str] = set()
    for step in lesson.steps:
        a, b = contexts_of(step, capture)
        parts += [
            f"## {step.title}",
            *_new_kernels(step, (a, b), shown_kernels, folded),
            question(step, a, b).strip(),
        ]
        text = answer(step, a, b).strip()
        parts.append(_fold("Answer", text) if folded else f"**Answer.** {text}")
    parts += [ending(lesson, capture), _titles_of_exercises(lesson) if folded else exercises(lesson)]
    return "\n\n".join(filter(None, parts)).rstrip() + "\n"


def ending(lesson: Lesson, capture: Workspace) -> str:
    """Return the text after the last step. Raises UserError if the capture lacks a variant."""
    a, _ = contexts_of(lesson.steps[0], capture)
    return "\n\n".join(filter(None, (lesson.more.strip(), *_measured(lesson.measured, a))))


def exercises(lesson: Lesson) -> str:
    """Return the exercises of a lesson, and how to check them; the check gives the hints."""
    parts = [
        f"**Exercises.** `irscope learn {lesson.number} --exercise` writes these files; after an edit, it"
    ]
    parts[0] += " says what is still missing."
    parts += [f"`{task.file}`: **{task.title}.** {task.text}" for task in tasks(lesson)]
    return "\n\n".join(parts) if lesson.exercises else ""


def _titles_of_exercises(lesson: Lesson) -> str:
    """Return a line per exercise: its file has the task, and its check the hints."""
    titles = [f"- `{task.file}`: {task.title}" for task in tasks(lesson)]
    command = f"**Exercises.** `irscope learn {lesson.number} --exercise` writes and checks them:"
    return "\n".join([command, "", *titles]) if titles else ""


def quotes_python(step: LessonStep, name: str) -> bool:
    """Return True if a step itself quotes the kernel of A or B."""
    return any(excerpt.of == name and excerpt.stage == PYTHON for excerpt in (*step.shown, *step.excerpts))


def _new_kernels(
    step: LessonStep, contexts: tuple[LessonContext, LessonContext], shown: set[str], folded: bool
) -> Iterator[str]:
    """Yield the source of each kernel of a step that the lesson has not shown yet.

    A kernel that the step itself quotes is left out.
    """
    for name, context in zip("ab", contexts, strict=True):
        source = context.variant.kernel.source
        if source.name in shown:
            continue
        shown.add(source.name)
        if not quotes_python(step, name):
            sample = sample_file(f"samples/{Path(source.file).stem}") if folded else None
            code = f"```python\n{source.text.strip()}\n```"
            if sample:
                yield f"The kernel is `{source.name}` of [{sample.name}](../../samples/{sample.name})."
            else:
                yield _fold(f"The kernel `{source.name}`", code) if folded else f"The kernel:\n\n{code}"


def _fold(title: str, text: str) -> str:
    """Markdown that a page shows when the reader opens it: on GitHub, and with MkDocs' md_in_html."""
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text}\n\n</details>'


def question(step: LessonStep, a: LessonContext, b: LessonContext) -> str:
    """Return the question of a step, with the lines that it shows."""
    return _with_excerpts([step.question], step.shown, a, b)


def answer(step: LessonStep, a: LessonContext, b: LessonContext) -> str:
    """Return the answer of a step, with the lines that it quotes."""
    return _with_excerpts([step.answer, *_measured(step.measured, a)], step.excerpts, a, b)


def _measured(measurements: Sequence[Measurement], context: LessonContext) -> Iterator[str]:
    """Yield each measurement with the version of Triton it was made with.

    If this lesson was compiled with another version, the text names that too.
    """
    version = ".".join(context.variant.toolchain.versions.get("triton", "").split(".")[:2])
    for measurement in measurements:
        with_what = f"Measured with Triton {measurement.triton} on an {measurement.device}"
        caveat = (
            ""
            if version == measurement.triton
            else f", not with Triton {version}, which compiled this lesson"
        )
        yield f"{with_what}{caveat}:\n\n{measurement.text.strip()}"


def _with_excerpts(
    texts: Sequence[str], excerpts: Sequence[Excerpt], a: LessonContext, b: LessonContext
) -> str:
    parts = [_filled(text, a, b).strip() for text in texts]
    single = a.variant == b.variant
    for (of, stage), group in groupby(excerpts, lambda excerpt: (excerpt.of, excerpt.stage)):
        parts.append(_code_block(a if of == "a" else b, stage, list(group), single))
    return "\n\n".join(parts) + "\n"


def _filled(text: str, a: LessonContext, b: LessonContext) -> str:
    def value(match: re.Match[str]) -> str:
        context = a if match[1] == "a" else b
        if match[3]:
            return f"{context.count(match[2], match[3]):,}"
        return str(context.facts[match[2]])

    return _PLACEHOLDER.sub(value, text)


def _code_block(context: LessonContext, stage: str, excerpts: Sequence[Excerpt], single: bool) -> str:
    """Return the excerpts of one stage in one block; "..." marks omitted lines."""
    lines = context.lines(stage)
    if language_of(stage) == "text":
        lines = [part for line in lines for part in _wrapped(line)]
    blocks = [textwrap.dedent("\n".join(_quoted(excerpt, lines))) for excerpt in excerpts]
    block = "\n...\n".join(blocks).expandtabs(4)
    return f"{_caption(context, stage, excerpts[0].of, single)}:\n\n```{_lexer(stage)}\n{block}\n```"


def _caption(context: LessonContext, stage: str, of: str, single: bool) -> str:
    """Return the line above a block.

    `single`: A and B are the same variant, so it need not be named.
    """
    extra = EXTRAS.get(stage)
    if extra and extra.shared:
        return extra.caption
    title = extra.caption if extra else "SASS" if stage == "sass" else stage
    return f"{'' if single else f'{of.upper()}, '}{title} ({context.name})"


def _quoted(excerpt: Excerpt, lines: list[str]) -> Iterator[str]:
    """Yield the lines of an excerpt.

    Long lines are cut, also before the match if it is far to the right.
    """
    for index, line in enumerate(lines):
        if match := re.search(excerpt.find, line):
            first = line if match.start() < _CODE_WIDTH // 2 else f"...{line[match.start() :]}"
            for quoted_line in (first, *lines[index + 1 : index + excerpt.lines]):
                yield (
                    quoted_line if len(quoted_line) <= _CODE_WIDTH else f"{quoted_line[: _CODE_WIDTH - 3]}..."
                )
            return


def _wrapped(line: str) -> list[str]:
    """Wrap a line of prose with its indentation."""
    indent = line[: len(line) - len(line.lstrip())] + "    "
    return textwrap.wrap(line, _PROSE_WIDTH, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _lexer(stage: str) -> str:
    """Return the name of the stage's language in Pygments and Markdown."""
    language = language_of(stage)
    return {"mlir": "ttir", "sass": "nvsass"}.get(language, language)


@frozen
class LessonPage:
    """A page: Markdown, two variants, and the stage and line (from 0) to show, of B if `right`.

    `line` is None if the page is not about a line.
    """

    heading: str
    text: str
    a: Variant
    b: Variant
    stage: str
    line: int | None
    right: bool


class LessonPages:
    """The pages of a lesson; one is open."""

    def __init__(self, lesson: Lesson, workspace: Workspace) -> None:
        self._lesson = lesson
        self._workspace = workspace
        self._open = -1

    def turn(self, direction: int) -> LessonPage | None:
        """Open the next (1) or previous (-1) page; None if there is none.

        Takes as long as measuring two variants. Raises UserError if the capture lacks a variant of the lesson
        or is damaged.
        """
        number = self._open + direction
        if not 0 <= number < 2 * len(self._lesson.steps):
            return None
        page = self._page(number)
        self._open = number
        return page

    def _page(self, number: int) -> LessonPage:
        index, answered = divmod(number, 2)
        step = self._lesson.steps[index]
        a, b = contexts_of(step, self._workspace)
        parts = [self._lesson.about] if number == 0 else []
        parts += [f"**{step.title}**", answer(step, a, b) if answered else question(step, a, b)]
        if answered and step is self._lesson.steps[-1]:
            parts += [ending(self._lesson, self._workspace), exercises(self._lesson)]
        line, right = self._place(step, a.variant, b.variant)
        return LessonPage(
            heading=f"Lesson {self._lesson.number}, {'answer' if answered else 'question'} {index + 1} "
            f"of {len(self._lesson.steps)}",
            text="\n\n".join(part.strip() for part in parts if part),
            a=a.variant,
            b=b.variant,
            stage=step.stage,
            line=line,
            right=right,
        )

    def _place(self, step: LessonStep, a: Variant, b: Variant) -> tuple[int | None, bool]:
        """Find the first line in A, or else in B, that matches the step's pattern.

        Return its number, or None, and whether it is B's.
        """
        if not step.find or step.stage == PYTHON:
            return None, False
        for variant, right in ((a, False), (b, True)):
            if self._workspace.contents.key(variant, step.stage):
                for number, line in enumerate(self._workspace.text(variant, step.stage).split("\n")):
                    if re.search(step.find, line):
                        return number, right and a is not b
        return None, False
