"""`irscope list` and `irscope show` as a user runs them."""

from __future__ import annotations

import json

from irscope.store import CaptureReader

LISTED = """\
add_kernel  4 variants, 1 failed  add.py:3
  #1  BLOCK=64,num_stages=3   cuda:90  ok
  #2  BLOCK=128,num_stages=3  cuda:90  ok
  #3  BLOCK=128,num_stages=4  cuda:90  ok
  #4  BLOCK=96,num_stages=3   cuda:90  failed: CompilationError: arange's range \u241b[31mbad
"""


def test_list_output(irscope, capture):
    done = irscope("list", capture)
    assert (done.returncode, done.stdout) == (0, LISTED)


def test_listed_names_select_their_variants(irscope, capture):
    for line in LISTED.splitlines()[1:4]:
        number, name = line.split()[:2]
        by_number = irscope("show", capture, number).stdout
        assert by_number and irscope("show", capture, name).stdout == by_number


def test_list_as_json(irscope, capture):
    document = json.loads(irscope("list", capture, "--format", "json").stdout)
    assert document["schema"] == "irscope.list/1"
    (kernel,) = document["kernels"]
    assert [variant["id"] for variant in kernel["variants"]] == [1, 2, 3, 4]
    first, *_, last = kernel["variants"]
    assert first["config"] == {"BLOCK": 64, "num_stages": 3}
    assert first["specialization"] == {"x": "*fp32:16", "BLOCK": "64"}
    assert set(first["stages"]) == {"ttgir", "cubin"}
    assert (last["status"], last["failure"]["kind"]) == ("failed", "CompilationError")


def test_list_selects(irscope, capture):
    assert irscope("list", capture, "--kernel", "add_kernel", "--target", "cuda:90").stdout == LISTED


def test_show_prints_the_stage_unchanged(irscope, capture):
    with CaptureReader(capture) as file:
        content = file.read(file.variants()[0], "ttgir")
    assert irscope("show", capture, "#1").stdout == content.decode()


def test_show_without_locations(irscope, capture):
    text = irscope("show", capture, "#1", "--no-loc").stdout
    assert "loc(" not in text and "#loc" not in text
    assert "%v = tt.load %ptrs : tensor<64x!tt.ptr<f32>, #blocked>\n" in text


def test_show_python_has_the_helpers_too(irscope, capture):
    text = irscope("show", capture, "#1", "--stage", "python").stdout
    assert text.startswith("# add.py:3\n@triton.jit\ndef add_kernel")
    assert "# helpers.py:9\n@triton.jit\ndef twice" in text


def test_show_error_and_log(irscope, capture):
    assert "tl.arange(0, 3)" in irscope("show", capture, "#4", "--stage", "error").stdout
    assert "Used 16 registers" in irscope("show", capture, "#1", "--stage", "log").stdout
    assert "it has: ttgir, cubin, python, log" in irscope("show", capture, "#1", "--stage", "error").stderr


def test_show_writes_a_binary_stage_to_a_pipe_and_a_file(irscope, capture, tmp_path):
    content = b"\x7fELF not really \x00\xff"
    assert irscope("show", capture, "#1", "--stage", "cubin", text=False).stdout == content
    done = irscope("show", capture, "#1", "--stage", "cubin", "-o", "a.cubin")
    assert (done.returncode, (tmp_path / "a.cubin").read_bytes()) == (0, content)
    again = irscope("show", capture, "#1", "--stage", "cubin", "-o", "a.cubin")
    assert again.returncode == 2 and "--force" in again.stderr
    assert irscope("show", capture, "#2", "--stage", "cubin", "-o", "a.cubin", "--force").returncode == 0
