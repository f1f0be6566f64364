"""irscope bits: the classes of the same bits in every format."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_classes_and_what_decides_as_text(irscope: Run, bits_capture: Path):
    done = irscope("bits", bits_capture, "--kernel", "row_sum", "--width", "80")
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["row_sum  cuda:90  N=3000", "4 configs: 4 classes of the same bits"]
    assert any(line.startswith("b                    1  BLOCK=512, num_warps=8") for line in lines)
    assert "b differs from a" in lines and "d differs from a" in lines and "c differs from b" not in lines
    assert any(line.startswith("  line 38 (total += tl.sum(values, axis=0)): A ") for line in lines)
    assert "Same bits are a promise" in done.stdout
    assert max(map(len, lines)) <= 80


def test_all_kernels_and_what_is_unknown(irscope: Run, bits_capture: Path):
    text = irscope("bits", bits_capture).stdout
    assert "3 configs: all compute the same bits" in text and "enable_fp_fusion=False" in text
    assert "unknown: 1 config\n  #10: the length of a loop depends on data\n" in text


def test_a_class_that_is_not_repeatable(irscope: Run, bits_capture: Path):
    text = irscope("bits", bits_capture, "--kernel", "add_all").stdout
    assert "class          configs  repeatable  only these have  variants\n" in text
    assert "b                    1  no          num_warps=8 " in text


def test_json_has_every_difference(irscope: Run, bits_capture: Path):
    done = irscope("bits", bits_capture, "--kernel", "row_sum", "--reference", "#5", "--format", "json")
    (answer,) = json.loads(done.stdout)
    assert answer["schema"] == "irscope.bits/1"
    assert (answer["kernel"], answer["target"], answer["launch"]["arguments"]["N"]) == (
        "row_sum",
        "cuda:90",
        3000,
    )
    assert answer["launch"]["grid"] == [16, 1, 1] and answer["unknown"] == []
    assert (answer["reference"], answer["reference_class"]) == (5, "a")
    assert answer["classes"][0] == {"class": "a", "variants": [5], "repeatable": True}
    assert [(pair["a"], pair["b"]) for pair in answer["differences"]][:3] == [
        ("a", "b"),
        ("a", "c"),
        ("a", "d"),
    ]
    reason = answer["differences"][0]["reasons"][0]
    assert (reason["kind"], reason["stage"], reason["source_line"]) == ("sum", "ttgir", 38)


def test_named_variants_and_their_reference(irscope: Run, bits_capture: Path):
    done = irscope("bits", bits_capture, "#8", "#9", "--reference", "#9")
    assert "a (reference)        1  enable_fp_fusion=False  #9" in done.stdout
    done = irscope("bits", bits_capture, "#4", "--reference", "#5", "--format", "json")
    (answer,) = json.loads(done.stdout)
    assert [item["variants"] for item in answer["classes"]] == [[5], [4]]
    assert irscope("bits", bits_capture, "#4", "--kernel", "row_sum").returncode == 2


def test_a_launch_and_pages(irscope: Run, bits_capture: Path):
    words = ("bits", bits_capture, "--kernel", "row_sum", "--launch", "grid=(16,), N=2048")
    assert irscope(*words).stdout.startswith("row_sum  cuda:90  N=2048\n")
    markdown = irscope(*words, "--format", "markdown").stdout
    assert "| b | 1 | BLOCK=512, num\\_warps=8 | #5 |" in markdown
    assert "<td>BLOCK=512, num_warps=8</td>" in irscope(*words, "--format", "html").stdout
    done = irscope("bits", bits_capture, "--launch", "grid=(16")
    assert done.returncode == 2 and done.stderr.startswith("irscope: --launch: ")


def test_a_name_of_a_launch_that_nothing_uses_is_an_error(irscope: Run, bits_capture: Path):
    """A value under a misspelled name would be left out without a word."""
    typo = ("--launch", "grid=(M,), M=32, N=1100, n_row=4, size=M * n_rows, n_rows=1")
    for words in (
        ("bits", "--kernel", "row_sum"),
        ("bits", "--kernel", "row_sum", "--invariant", "M"),
        ("diff", "#4", "#5"),
        ("why", "#4", "#5"),
        ("verdict", "#4", "--against", "#5"),
    ):
        done = irscope(words[0], bits_capture, *words[1:], *typo)
        assert done.returncode == 2, done.stdout
        assert done.stderr == (
            "irscope: --launch: no parameter or expression uses 'n_row'; did you mean n_rows?\n"
        )
    # The name of a parameter of any kernel of the capture is a use.
    assert not irscope("verdict", bits_capture, "#4", "--launch", "grid=1, N=1100, K=32").stderr


def test_no_launch_of_several_is_left_out(irscope: Run, bits_capture: Path):
    launch = ("--launch", "grid=1, N=2048", "--launch")
    error = "irscope: --launch 2 of 2: give the value of N, for example N=4096\n"
    for words in (("bits", "--kernel", "row_sum"), ("diff", "#4", "#5"), ("pick", "--kernel", "row_sum")):
        done = irscope(words[0], bits_capture, *words[1:], *launch, "grid=1")
        assert (done.returncode, done.stderr) == (2, error)
    # Those that fit one kernel each are all answered.
    done = irscope("bits", bits_capture, *launch, "grid=1, n=2048", "--format", "json")
    sizes = {
        item["kernel"]: item["launch"]["arguments"] for item in json.loads(done.stdout) if item["launch"]
    }
    assert sizes["row_sum"]["N"] == sizes["axpy"]["n"] == 2048


def test_control_codes_of_a_capture_are_shown(irscope: Run, capture: Path, hostile_capture: Path):
    text = irscope("bits", capture).stdout
    assert "#4: it failed to compile: arange's range \u241b[31mbad" in text
    assert "#1 to #3: no launch was recorded" in text
    assert "\x1b" not in irscope("bits", hostile_capture).stdout


def test_whether_rows_depend_on_their_number(irscope: Run, bits_capture: Path):
    launch = "grid=(M,), M=32, N=1100"
    words = ["bits", bits_capture, "--kernel", "row_sum", "--launch", launch, "--invariant"]
    lines = irscope(*words, "M").stdout.splitlines()
    assert lines[2].startswith("batch-invariant: the bits of a row are the same with M=1, M=2, M=16, M=17")
    assert lines[3] == "  if one config serves all sizes, as the key of the autotuner says"
    text = irscope(*words, "N").stdout
    assert "not batch-invariant: the bits of a row depend on N\n" in text and "  and 5 more\n" in text
    (answer,) = json.loads(irscope(*words, "N", "--format", "json").stdout)
    invariance = answer["invariance"]
    assert (invariance["vary"], invariance["answer"], invariance["choice"]) == (["N"], "not invariant", "key")
    assert invariance["differences"][0]["a"]["size"].startswith("N=")
    assert invariance["differences"][0]["reasons"][0]["source_line"] == 35
    done = irscope("bits", bits_capture, "--invariant", "Q")
    assert done.returncode == 2 and "no launch has 'Q'" in done.stderr
