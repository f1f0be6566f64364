"""Makes docs/learn/ anew: each lesson as text, and the app with its first answer as a picture.

    python docs/lessons.py

Needs triton; compiles every lesson into a temporary folder.
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
from irscope.learn.pages import LessonPages
from irscope.learn.render import markdown
from irscope.store import CaptureReader
from irscope.tui.app import IrscopeApp

HERE = Path(__file__).resolve().parent
SIZE = (150, 40)


def main() -> None:
    """Writes a page and a picture for each lesson, and their index."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lesson", nargs="*", type=int, help="only these (default: all)")
    wanted = parser.parse_args().lesson
    folder = HERE / "learn"
    folder.mkdir(exist_ok=True)
    for lesson in lessons():
        if not wanted or lesson.number in wanted:
            write(lesson, folder)
    index = [f"{one.number}. [{one.title}]({file_name(one)}.md)" for one in lessons()]
    (folder / "index.md").write_text(
        INDEX.format(triton=version("triton")) + "\n".join(index) + "\n", encoding="utf-8"
    )


INDEX = """# Lessons: why autotune recompiles

Each lesson compiles a kernel on your machine, asks a question, lets you look, then shows the answer in the IR
that was just made. `irscope learn 1` opens the first in the app; no GPU needed. Here they are as text, with
what Triton {triton} made. Every claim in them is checked by a test; where versions of Triton differ, the text
says so.

"""


def write(lesson: Lesson, folder: Path) -> None:
    """Compiles a lesson and writes `NN_name.md` and `NN_name.svg`."""
    name = file_name(lesson)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{name}.irscope"
        compile_lesson(lesson, path)
        with CaptureReader(path) as capture:
            text = markdown(lesson, capture.variants(), capture.read)
            app = IrscopeApp(capture, lesson=LessonPages(lesson, capture))
            svg = asyncio.run(picture(app, SIZE, ["full_stop"]))
    # Where this machine keeps Triton is nobody's business.
    (folder / f"{name}.svg").write_text(svg.replace(sys.prefix, "/venv"), encoding="utf-8")
    title, about, rest = text.split("\n\n", 2)
    image = f"![The app with the first answer of the lesson]({name}.svg)"
    (folder / f"{name}.md").write_text("\n\n".join([title, about, image, rest]), encoding="utf-8")
    print(folder / f"{name}.md")


def file_name(lesson: Lesson) -> str:
    """What the lesson's files are called."""
    return f"{lesson.number:02}_{lesson.name}"


if __name__ == "__main__":
    main()
