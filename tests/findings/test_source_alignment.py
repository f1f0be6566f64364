"""A line is identified by its function and not by its number: the lines of A's source in B's."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.facts.source.alignment import line_map
from irscope.languages.document import Location
from irscope.model import Kernel, SourceFunction

KERNEL = """\
@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = twice(x)
    tl.store(
        out_ptr + offs,
        y,
        mask=mask,
    )
"""
HELPER = "@triton.jit\ndef twice(x):\n    doubled = x * 2\n    return doubled\n"


def kernel(text=KERNEL, line=10, file="/a/k.py", helper=HELPER, helper_name="twice", helper_file="/a/h.py"):
    name = text.split("def ")[1].split("(")[0] if "def " in text else ""
    helpers = (SourceFunction(helper_name, helper_file, 3, helper),)
    return Kernel(1, name, SourceFunction(name, file, line, text), helpers, ())


def moved(a, b, text_of_a, column=0):
    """The text of B's line that the line of A's kernel with `text_of_a` matches; None if it is removed."""
    index = next(i for i, line in enumerate(a.source.text.split("\n")) if text_of_a in line)
    location = line_map(a, b).move(Location(a.source.file, a.source.line + index, column))
    if location.removed:
        return None
    assert location.file == b.source.file
    return b.source.text.split("\n")[location.line - b.source.line].strip()


def test_equal_sources_keep_their_lines():
    lines = line_map(kernel(), kernel())
    assert not lines.moves
    assert lines.move(Location("/a/k.py", 14, 4)) == Location("/a/k.py", 14, 4)
    assert lines.move(Location("/other.py", 14, 4)) == Location("/other.py", 14, 4)


def test_the_path_and_the_first_line_mean_nothing():
    lines = line_map(kernel(), kernel(line=40, file="C:\\b\\copy.py"))
    assert lines.move(Location("/a/k.py", 14, 8)) == Location("C:\\b\\copy.py", 44, 8)
    assert lines.move(Location("/a/h.py", 5)) == Location("/a/h.py", 5)


def test_comments_blank_lines_and_decorators_mean_nothing():
    text = KERNEL.replace("    x = tl.load", "    # x = tl.load(x_ptr + offs)\n\n    x = tl.load")
    text = "@triton.autotune(\n    configs=[triton.Config({'BLOCK': 64})],\n    key=['n'],\n)\n" + text
    b = kernel(text.replace("offs < n", "offs < n  # the end of the array"))
    for line in (
        "mask = offs < n",
        "x = tl.load(x_ptr + offs, mask=mask)",
        "y = twice(x)",
        "tl.store(",
        "y,",
    ):
        assert moved(kernel(), b, line).startswith(line)


def test_names_mean_nothing_and_columns_follow_them():
    text = KERNEL
    for old, new in (
        ("scale_kernel", "renamed"),
        ("x_ptr", "source_pointer"),
        ("mask =", "m ="),
        ("offs", "o"),
    ):
        text = text.replace(old, new)
    b = kernel(text)
    assert moved(kernel(), b, "x = tl.load") == "x = tl.load(source_pointer + o, mask=mask)"
    ours, theirs = (
        "    x = tl.load(x_ptr + offs, mask=mask)",
        "    x = tl.load(source_pointer + o, mask=mask)",
    )
    location = line_map(kernel(), b).move(Location("/a/k.py", 14, ours.index("mask=")))
    assert location.column == theirs.index("mask=")


def test_a_renamed_helper_in_another_file_is_the_same_helper():
    b = kernel(
        helper=HELPER.replace("twice", "double_it"), helper_name="double_it", helper_file="/elsewhere/x.py"
    )
    assert line_map(kernel(), b).move(Location("/a/h.py", 5)) == Location("/elsewhere/x.py", 5)


def test_an_edited_line_is_the_same_line_and_a_new_one_is_not():
    edited = kernel(KERNEL.replace("mask=mask)\n    y", "mask=mask, other=0.0)\n    y"))
    assert moved(kernel(), edited, "x = tl.load") == "x = tl.load(x_ptr + offs, mask=mask, other=0.0)"
    without = kernel(KERNEL.replace("    y = twice(x)\n", "").replace("        y,", "        x,"))
    assert moved(kernel(), without, "y = twice(x)") is None
    assert moved(kernel(), without, "tl.store(") == "tl.store("


def test_the_map_of_the_other_direction_is_the_inverse():
    a, b = (
        kernel(),
        kernel(KERNEL.replace("    y = twice(x)", "    x += 1\n    x += 1\n    y = twice(x) + 1")),
    )
    there, back = line_map(a, b), line_map(b, a)
    for (file, line), match in there.lines.items():
        if match is not None:
            again = back.move(Location(match.file, match.line))
            assert (again.file, again.line) == (file, line)


def test_without_source_a_line_keeps_its_distance_from_the_def():
    a = replace(kernel(), source=SourceFunction("k", "/a/k.py", 7, ""))
    b = replace(kernel(), source=SourceFunction("k", "/b/k.py", 27, ""))
    assert line_map(a, b).move(Location("/a/k.py", 9, 2)) == Location("/b/k.py", 29, 2)
    assert line_map(a, b).move(Location("/a/k.py", 6)) == Location("/a/k.py", 6)


@pytest.mark.parametrize("text", ["", "def", "def f(:\n  '''", "\x00", "def f():\n\tx = (\n", "é = 1\n" * 3])
def test_text_that_is_not_python_has_a_map(text):
    location = Location("/a/k.py", 12)
    for pair in ((kernel(text), kernel()), (kernel(), kernel(text))):
        moved_to = line_map(*pair).move(location)
        assert moved_to.removed or moved_to.file == location.file
    assert line_map(kernel(text), kernel(text)).move(location) == location


@given(st.lists(st.sampled_from(["", "    # note", "    x += 1", "    y = f(x)", "\n"]), max_size=12))
def test_inserted_comments_and_blank_lines_move_every_line_to_its_text(inserted):
    lines = KERNEL.rstrip("\n").split("\n")
    added = [line for line in inserted if not line.strip() or line.strip().startswith("#")]
    b = kernel("\n".join([*lines[:4], *added, *lines[4:]]))
    for line in lines[2:]:
        assert moved(kernel(), b, line) == line.strip()


def test_line_breaks_mean_nothing():
    b = kernel(
        KERNEL.replace(
            "tl.store(\n        out_ptr + offs,\n        y,\n        mask=mask,\n    )",
            "tl.store(out_ptr + offs, y, mask=mask)",
        )
    )
    there, back = line_map(kernel(), b), line_map(b, kernel())
    text = "    tl.store(out_ptr + offs, y, mask=mask)"
    for ours, theirs in (((16, 4), "tl.store"), ((17, 8), "out_ptr"), ((18, 8), "y,"), ((19, 13), "mask,")):
        column = text.rindex("mask") if theirs == "mask," else text.index(theirs)
        assert there.move(Location("/a/k.py", *ours)) == Location("/a/k.py", 16, column)
        assert back.move(Location("/a/k.py", 16, column)) == Location("/a/k.py", *ours)
