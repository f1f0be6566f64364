"""Reasons for narrow loads and stores: the limiting argument and the wording."""

import pytest

from irscope.findings.finding import PairContext
from irscope.findings.registry import findings
from irscope.model import SourceFunction
from tests.findings.builders import stage_diff, variant
from tests.findings.reason_data import by_kind, text, use

VERSIONS = ["3.6.0", "3.9.0"]
MASK = "the mask compares with n, which is not known to be divisible by 16"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_limiting_mask_names_the_argument_it_compares_with(version):
    found = use(f"masked.cuda-90.triton-{version}")
    assert by_kind(found.pointers) == {"global load": "x_ptr", "global store": "out_ptr"}
    assert by_kind(found.narrow) == {"global load": MASK, "global store": MASK}


def test_a_reason_for_another_width_is_not_reported():
    aligned = {"%n: i32": "%n: i32 {tt.divisibility = 16 : i32}"}
    # The PTX belongs to the unaligned kernel (4 bytes), while the TTIR now gives 8.
    found = use("masked.cuda-90.triton-3.9.0", **aligned)
    assert found.narrow == {}
    assert by_kind(found.pointers)["global load"] == "x_ptr"


@pytest.mark.parametrize("version", VERSIONS)
def test_pointer_and_mask_can_both_limit_the_width(version):
    found = by_kind(use(f"rows.cuda-90.triton-{version}").narrow)
    assert found["global load"] == "stride and the mask's N are not known to be divisible by 16"
    assert found["global store"] == found["global load"]


def test_a_mask_over_rows_is_not_the_limit():
    """M and the rows' mask are constant along a row: of the three arguments it is never named."""
    assert "M" not in by_kind(use("rows.cuda-90.triton-3.9.0").narrow)["global load"].split()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_compilers_log_is_quoted_if_the_pointer_is_the_limit(version):
    name = f"strided.cuda-90.triton-{version}"
    assert by_kind(use(name).narrow) == {}, "no argument is to blame: a stride of 16 is no better"
    reasons_by_kind = by_kind(use(name, reasons=text(name, "reasons")).narrow)
    assert reasons_by_kind == {
        "global load": "the compiler knew contiguity 1 and divisibility 4 of x_ptr + ..."
    }
    name = f"rows.cuda-90.triton-{version}"
    reasons_by_kind = by_kind(use(name, reasons=text(name, "reasons")).narrow)
    assert reasons_by_kind["global load"].endswith("by 16 (the compiler knew divisibility 2 of x_ptr + ...)")


def test_a_limiting_mask_does_not_blame_the_pointer():
    name = "masked.cuda-90.triton-3.9.0"
    assert by_kind(use(name, reasons=text(name, "reasons")).narrow)["global load"] == MASK


def test_findings_name_the_pointer_and_the_reason_even_if_the_width_is_equal():
    name = "masked.cuda-90.triton-3.9.0"
    source = SourceFunction(
        "masked", "narrow.py", 5, "@triton.jit\ndef f():\n  o = 1\n  x = tl.load(x_ptr)\n"
    )
    made = [variant(name="masked", id_=number, source=source) for number in (1, 2)]
    other = {"ttir": text(name, "ttir"), "ptx": text(name, "ptx").replace("ret;", "bar.sync 0;\n\tret;")}
    diffs = {stage: stage_diff(stage, text(name, stage), other[stage]) for stage in ("ttir", "ptx")}
    (load, store, *_) = (
        f for f in findings(PairContext(*made, {}, {}, diffs)) if f.kind.startswith("global")
    )
    assert load.text == (
        f"Global loads of x_ptr (line 8: x = tl.load(x_ptr)) stay 4-byte; both are narrow because {MASK}; "
        "1 other access too"
    )
    assert store.covered and store.text.startswith("Global stores of out_ptr (line 9) stay 4-byte; both")
    lines = text(name, "ptx").split("\n")
    assert load.evidence_a
    assert all("ld.global.b32" in lines[evidence.line] for evidence in load.evidence_a)


def test_only_the_narrow_side_is_called_narrow():
    name = "masked.cuda-90.triton-3.9.0"
    wide_ttir = text(name, "ttir").replace("%n: i32", "%n: i32 {tt.divisibility = 16 : i32}")
    wide_ptx = text(name, "ptx").replace("ld.global.b32", "ld.global.v2.b32")
    diffs = {
        "ttir": stage_diff("ttir", text(name, "ttir"), wide_ttir),
        "ptx": stage_diff("ptx", text(name, "ptx"), wide_ptx),
    }
    listed = findings(PairContext(variant(name="masked"), variant(name="masked", id_=2), {}, {}, diffs))
    load = next(finding.text for finding in listed if finding.kind == "global load")
    assert ": 2 x 4-byte -> 2 x 8-byte" in load
    assert load.endswith(f"; A is narrow because {MASK}")
