"""`irscope learn N --slides`: a lesson as slides; a key press uncovers an answer, after the discussion."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt

from irscope.document.html.markup import Html, element
from irscope.document.html.slides.kernel import source_slides
from irscope.document.html.slides.pair import Slide, command, fragment, paragraph, term_notes
from irscope.document.html.slides.talk import talk_html
from irscope.learn.context import LessonContext, contexts_of
from irscope.learn.exercises import tasks
from irscope.learn.lesson import Lesson, LessonStep
from irscope.learn.render import answer, question, quotes_python
from irscope.model.text import printable
from irscope.workspace import Workspace
from irscope.workspace.variant_registers import compile_time_inputs

# The most characters of a question and an answer that share a slide.
_SHORT = 900


def lesson_slides_html(lesson: Lesson, capture: Workspace) -> str:
    """Return the page. Raises UserError if the capture lacks a variant of the lesson."""
    title = f"{lesson.number}. {lesson.title}"
    return talk_html(title, f"irscope learn {lesson.number}", list(_slides(lesson, capture)))


def _slides(lesson: Lesson, capture: Workspace) -> Iterator[Slide]:
    live = f"irscope learn {lesson.number}"
    notes = [
        paragraph("? lists the keys. Press s for a window with these notes, the next slide and a clock."),
        command(live),
    ]
    yield Slide(f"{lesson.number}. {lesson.title}", [_markdown(lesson.about)], notes, "title lesson")
    shown_sources: set[str] = set()
    for step in lesson.steps:
        a, b = contexts_of(step, capture)
        for name, context in zip("ab", (a, b), strict=True):
            if not quotes_python(step, name):
                yield from _new_kernel(context, shown_sources, live)
            shown_sources.add(context.variant.kernel.source.text)
        yield from _step(step, a, b, live)
    if lesson.more.strip():
        yield Slide("To remember", [_markdown(lesson.more)], [command(live)], "lesson")
    if lesson.exercises:
        yield _exercises(lesson)


def _new_kernel(context: LessonContext, shown: set[str], live: str) -> Iterator[Slide]:
    """Yield the slides of a kernel that no earlier step is about."""
    source = context.variant.kernel.source
    if source.text not in shown:
        inputs = compile_time_inputs([context.variant])
        constants = {
            name
            for compile_input in inputs
            if compile_input.kind == "constexpr"
            for name in compile_input.names
        }
        yield from source_slides(source, constants, (), live)


def _step(step: LessonStep, a: LessonContext, b: LessonContext, live: str) -> Iterator[Slide]:
    """Yield a question and its answer, on one slide if both are short."""
    question_text, answered = question(step, a, b), answer(step, a, b)
    names = dict.fromkeys((f"A: {a.name}", f"B: {b.name}")) if a.variant != b.variant else {a.name: None}
    sides = paragraph(*(element("span", name) for name in names), class_="sides")
    notes = [
        paragraph("Let learners answer first. Then: ", element("code", live), f", stage {step.stage}."),
        *term_notes(step.stage),
    ]
    if len(question_text) + len(answered) <= _SHORT:
        body = [sides, _markdown(question_text), fragment("div", _markdown(answered), class_="answer")]
        yield Slide(step.title, body, notes, "lesson ask")
        return
    yield Slide(step.title, [sides, _markdown(question_text)], notes, "lesson ask")
    yield Slide(f"Answer: {step.title}", [sides, _markdown(answered)], notes, "lesson")


def _exercises(lesson: Lesson) -> Slide:
    """Return the slide with the exercises, and how to check them."""
    items = [
        element("li", element("code", task.file), ": ", element("b", task.title), _markdown(task.text))
        for task in tasks(lesson)
    ]
    check = element("code", f"irscope learn {lesson.number} --exercise")
    body = [
        paragraph(check, " writes these files; after an edit, it says what is missing."),
        element("ul", *items),
    ]
    hints = [_markdown(f"Hint for {task.file}: {task.exercise.hint}") for task in tasks(lesson)]
    return Slide("Exercises", body, hints, "lesson")


def _markdown(text: str) -> Html:
    """Markdown as HTML; HTML within it, such as in quoted lines of a stage, is text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link", "autolink"])
    return Html(parser.render(printable(text)))
