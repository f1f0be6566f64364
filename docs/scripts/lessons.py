"""Regenerates docs/learn/: the text of each lesson, and a picture of the app with its first answer.

    python docs/scripts/lessons.py

Needs Triton. Compiles every lesson in a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from screenshots import picture

from irscope.cli.learn import compile_lesson
from irscope.learn.lesson import Lesson, lessons
from irscope.learn.render import LessonPages, markdown
from irscope.tui.app import IrscopeApp
from irscope.workspace import Workspace

DOCS = Path(__file__).resolve().parents[1]
SIZE = (150, 40)


def main() -> None:
    """Writes the page and the picture of each lesson, and the index."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lesson", nargs="*", type=int, help="only these (default: all)")
    parser.add_argument("--no-pictures", action="store_true", help="write only the text")
    args = parser.parse_args()
    folder = DOCS / "learn"
    folder.mkdir(exist_ok=True)
    for lesson in lessons():
        if not args.lesson or lesson.number in args.lesson:
            write(lesson, folder, pictures=not args.no_pictures)
    index = [f"{one.number}. [{one.title}]({file_name(one)}.md)" for one in lessons()]
    (folder / "index.md").write_text(
        INDEX.format(triton=version("triton")) + "\n".join(index) + "\n", encoding="utf-8"
    )


INDEX = """# Lessons: why autotune recompiles

Each lesson compiles a kernel on your machine, asks a question, lets you look, and then shows the answer in
the IR that was just compiled. `irscope learn 1` opens the first one in the app; it needs no GPU. These pages
show the lessons as text, with the output of Triton {triton}. A test checks every claim in them; where
versions of Triton differ, the text says so.

"""


def write(lesson: Lesson, folder: Path, pictures: bool) -> None:
    """Compiles a lesson and writes `NN_name.md` and, with `pictures`, `NN_name.svg`."""
    name = file_name(lesson)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{name}.irscope"
        compile_lesson(lesson, path)
        with Workspace(path) as workspace:
            text = markdown(lesson, workspace, folded=True)
            if pictures:
                app = IrscopeApp(workspace, lesson=LessonPages(lesson, workspace))
                svg = asyncio.run(picture(app, SIZE, ["full_stop"]))
                # Do not publish where this machine keeps Triton.
                (folder / f"{name}.svg").write_text(svg.replace(sys.prefix, "/venv"), encoding="utf-8")
    title, about, rest = text.split("\n\n", 2)
    image = f"![The app with the first answer of the lesson]({name}.svg)"
    (folder / f"{name}.md").write_text("\n\n".join([title, about, image, rest]), encoding="utf-8")
    print(folder / f"{name}.md")


def file_name(lesson: Lesson) -> str:
    """The name of the lesson's files, without extension."""
    return f"{lesson.number:02}_{lesson.name}"


if __name__ == "__main__":
    main()
