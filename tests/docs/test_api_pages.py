"""docs/api/ has an entry for each public name, each parameter and attribute a meaning, and examples run."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

import irscope
from tests.docs.examples import Example, examples, outputs
from tests.docs.pages import PAGES, ROOT, fits
from tests.docs.shell import Shell
from tests.docs.test_commands import needs_triton

sys.path.append(str(ROOT / "docs" / "scripts"))

from docstring_parts import DocstringParts, parts
from python_reference import COMMON, entry
from reference_types import fields_of, places, public_members, returned_types

WITH_EXAMPLES = [page for page in PAGES if any(examples(page.read_text(encoding="utf-8")))]


def test_every_public_name_has_an_entry() -> None:
    missing = [name for name in irscope.__all__ if name not in places()]
    assert not missing, f"add a heading and a reference comment to docs/api/: {missing}"


def test_methods_of_a_capture_are_documented() -> None:
    documented = {name.partition(".")[2] for name in places() if name.startswith("Capture.")}
    assert {name for name, _ in public_members(irscope.Capture)} == documented


@pytest.mark.parametrize("name", [name for name in irscope.__all__ if name != "Capture"])
def test_each_parameter_and_attribute_has_a_meaning(name: str) -> None:
    value = getattr(irscope, name)
    if inspect.isclass(value):
        names = [field for field, _ in fields_of(value)]
    else:
        names = [each for each in inspect.signature(value).parameters if each not in COMMON]
    doc = parts(inspect.getdoc(value) or "", names)
    assert not [each for each in names if each not in doc.meanings and f"`{each}`" not in doc.summary]


@pytest.mark.parametrize("name", sorted(name for name in places() if name.startswith("Capture.")))
def test_each_parameter_of_a_method_has_a_meaning(name: str) -> None:
    method = dict(public_members(irscope.Capture))[name.partition(".")[2]]
    assert inspect.getdoc(method)
    if inspect.isfunction(method):
        names = [each for each in inspect.signature(method).parameters if each not in ("self", *COMMON)]
        doc = parts(inspect.getdoc(method) or "", names)
        assert not [each for each in names if each not in doc.meanings and f"`{each}`" not in doc.summary]


def test_returned_types_are_documented() -> None:
    for each in returned_types():
        names = [name for name, _ in fields_of(each)]
        doc = parts(inspect.getdoc(each) or "", names)
        assert doc.summary, each.__name__
        assert not [name for name in names if name not in doc.meanings and f"`{name}`" not in doc.summary]
        assert entry("returned types", "types.md").count(f"## {each.__name__}") == 1


def test_parts_of_a_docstring() -> None:
    text = """Does it.

    `a` and `b` are numbers, `c` is a name; `d` maps one to the other. It is fast: see x.y. Raises
    UserError if `a` is wrong.
    """
    assert parts(text, ["a", "b", "c", "d"]) == DocstringParts(
        "Does it.",
        {"a": "numbers", "b": "numbers", "c": "a name", "d": "maps one to the other"},
        "Raises UserError if `a` is wrong.",
        "It is fast: see x.y.",
    )


def test_examples_of_a_page() -> None:
    text = "```pycon\n>>> for i in (1, 2):\n...     print(i)\n1\n2\n>>> 3\n3\n```\n"
    first, second = examples(text)
    assert (first.source, first.output) == ("for i in (1, 2):\n    print(i)\n", ["1", "2"])
    assert second == Example("3\n", text.index("3\n```"), text.index("```\n", 5), ["3"])


def test_every_heading_of_the_reference_has_an_example() -> None:
    """Except names that the page's other examples show, and those that do nothing visible."""
    spared = {"CaptureBlock", "ColdStartError", "Capture.variants", "Capture.close", "Capture.derive_stages",
              "Capture.store_facts", "facts"}  # fmt: skip
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        for section in re.split(r"^#+ ", page.read_text(encoding="utf-8"), flags=re.M):
            match = re.search(r"<!-- reference: ([\w.]+) -->", section)
            assert not match or match[1] in spared or "```pycon" in section, f"{page.name}: {match[1]}"


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_print_what_the_page_shows(page: Path, run_folder: Path) -> None:
    folder = run_folder / "docs"
    folder.mkdir(exist_ok=True)
    shown = list(examples(page.read_text(encoding="utf-8")))
    for example, printed in zip(shown, outputs(page, Shell(folder)), strict=True):
        again = "run python docs/scripts/refresh_outputs.py"
        assert fits(example.output, printed), f"{again}: {example.source}{printed}"
