"""Why loads and stores stay narrow: which argument is to blame, in which words."""

import pytest

from irscope.analysis.findings import PairContext, findings
from irscope.model import SourceFunction
from tests.analysis.builders import stage_diff, variant
from tests.analysis.reason_data import by_kind, text, use

VERSIONS = ["3.6.0", "3.9.0"]
MASK = "the mask compares with n, which is not known to be divisible by 16"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_mask_is_blamed_on_the_argument_it_compares_with(version):
    found = use(f"masked.cuda-90.triton-{version}")
    assert by_kind(found.pointers) == {"global load": "x_ptr", "global store": "out_ptr"}
    assert by_kind(found.narrow) == {"global load": MASK, "global store": MASK}


def test_nothing_is_said_where_the_width_is_not_the_one_that_the_reason_gives():
    aligned = {"%n: i32": "%n: i32 {tt.divisibility = 16 : i32}"}
    # The PTX is that of the unaligned kernel: 4 bytes, where the TTIR now gives 8.
    found = use("masked.cuda-90.triton-3.9.0", **aligned)
    assert found.narrow == {}
    assert by_kind(found.pointers)["global load"] == "x_ptr"


@pytest.mark.parametrize("version", VERSIONS)
def test_pointer_and_mask_may_both_be_to_blame(version):
    found = by_kind(use(f"rows.cuda-90.triton-{version}").narrow)
    assert found["global load"] == "stride and the mask's N are not known to be divisible by 16"
    assert found["global store"] == found["global load"]


def test_rows_that_the_mask_does_not_narrow_are_not_blamed():
    """M and the rows' mask are constant along a row: of the three arguments it is never named."""
    assert "M" not in by_kind(use("rows.cuda-90.triton-3.9.0").narrow)["global load"].split()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_compilers_own_words_are_quoted_where_the_pointer_is_the_limit(version):
    name = f"strided.cuda-90.triton-{version}"
    assert by_kind(use(name).narrow) == {}, "no argument is to blame: a stride of 16 is no better"
    told = by_kind(use(name, reasons=text(name, "reasons")).narrow)
    assert told == {"global load": "the compiler knew contiguity 1 and divisibility 4 of x_ptr + ..."}
    name = f"rows.cuda-90.triton-{version}"
    told = by_kind(use(name, reasons=text(name, "reasons")).narrow)
    assert told["global load"].endswith("by 16 (the compiler knew divisibility 2 of x_ptr + ...)")


def test_a_mask_that_is_the_limit_is_not_the_pointers_fault():
    name = "masked.cuda-90.triton-3.9.0"
    assert by_kind(use(name, reasons=text(name, "reasons")).narrow)["global load"] == MASK


def test_findings_name_the_pointer_and_say_why_even_where_nothing_changed():
    name = "masked.cuda-90.triton-3.9.0"
    source = SourceFunction(
        "masked", "narrow.py", 5, "@triton.jit\ndef f():\n  o = 1\n  x = tl.load(x_ptr)\n"
    )
    made = [variant(name="masked", id_=number, source=source) for number in (1, 2)]
    diffs = {stage: stage_diff(stage, text(name, stage), text(name, stage)) for stage in ("ttir", "ptx")}
    (load, store, *_) = (
        f for f in findings(PairContext(*made, {}, {}, diffs)) if f.kind.startswith("global")
    )
    assert load.text == (
        f"Global loads of x_ptr (line 8: x = tl.load(x_ptr)) stay 4-byte; both are narrow because {MASK}"
    )
    assert store.text.startswith("Global stores of out_ptr (line 9) stay 4-byte; both")
    lines = text(name, "ptx").split("\n")
    assert load.evidence_a
    assert all("ld.global.b32" in lines[evidence.line] for evidence in load.evidence_a)


def test_a_side_that_is_wide_is_not_called_narrow():
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
