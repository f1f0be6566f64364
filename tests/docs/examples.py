"""Runs the Python sessions (```pycon) that a docs page shows, in one process per page.

An example is what follows `>>> ` and `... `; the lines after it are what it prints. As in a page's commands,
`<!-- needs: torch -->` directly above a block skips it if this machine does not meet the need.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.shell import NEEDS, Shell

_BLOCK = re.compile(r"(?:^<!-- needs: (?P<needs>.+?) -->\n)?^```pycon\n(?P<text>.*?)^```$", re.M | re.S)
_EXAMPLE = re.compile(r"^>>> .*\n(?:^\.\.\. .*\n)*", re.M)
# Executes the examples of a JSON file one after the other, and prints what each printed, as JSON.
_RUN = """
import contextlib, io, json, sys, traceback
sys.path.insert(0, "")
names, printed = {"__name__": "__main__"}, []
for source in json.load(open(sys.argv[1])):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, "<example>", "single"), names)
        except Exception as error:
            kind = type(error)
            print(f"Traceback (most recent call last):\\n{kind.__module__}.{kind.__qualname__}: {error}")
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


@dataclass(frozen=True)
class Example:
    """An example: its source, where its output begins and ends in the page's text, and that output."""

    source: str
    start: int
    end: int
    output: list[str]


def examples(text: str) -> Iterator[Example]:
    """Yields the examples of a page that run on this machine."""
    for block in _BLOCK.finditer(text):
        if block["needs"] and not NEEDS[block["needs"]]():
            continue
        found = list(_EXAMPLE.finditer(block["text"]))
        offset = block.start("text")
        for match, following in zip(found, [*found[1:], None], strict=True):
            end = following.start() if following else len(block["text"])
            source = "".join(line[4:] + "\n" for line in match[0].splitlines())
            output = block["text"][match.end() : end].splitlines()
            yield Example(source, offset + match.end(), offset + end, output)


def outputs(page: Path, shell: Shell) -> list[list[str]]:
    """The lines that each of a page's examples prints, run in the page's folder."""
    sources = [example.source for example in examples(page.read_text(encoding="utf-8"))]
    folder = shell.prepare(page)
    (folder / "examples.json").write_text(json.dumps(sources), encoding="utf-8")
    (folder / "run_examples.py").write_text(_RUN, encoding="utf-8")
    done = shell.run(f"{shlex.quote(sys.executable)} run_examples.py examples.json", folder)
    assert done.returncode == 0, done.stdout
    return [one.splitlines() for one in json.loads(done.stdout[done.stdout.index("[") :])]
