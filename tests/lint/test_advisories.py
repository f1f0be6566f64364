"""Advisories: the data, which versions they match, and what each view says of them."""

from __future__ import annotations

import json
import re
import runpy
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.glossary.glossary import find_entries
from irscope.lint.advisory import advisories, holds, parse_advisory
from irscope.lint.advisory_match import advise_capture
from irscope.lint.compiled import CompiledKernel
from irscope.lint.linter import lint_source
from irscope.lint.rules import RULES
from irscope.workspace.workspace import Workspace
from tests.conftest import Irscope

ROOT = Path(__file__).parents[2]
# Kernels under Triton 3.6.0, 3.7.0, 3.7.1, 3.8.0 and 3.9.0: tests/lint/advisory_kernels.py.
CAPTURE = ROOT / "tests" / "data" / "advisories.irscope"
BY_NAME = {advisory.name: advisory for advisory in advisories()}
ALL = {"3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0"}
BEFORE_3_8 = {"3.6.0", "3.7.0", "3.7.1"}
BEFORE_3_9 = BEFORE_3_8 | {"3.8.0"}
# Kernel -> the advisory about it, the versions that it matches, and those that its pattern alone matches.
EXPECTED = {
    "softmax_axis": ("triton-11406", BEFORE_3_9, ALL),
    "fdiv_ieee": ("triton-10073", BEFORE_3_8, BEFORE_3_8),
    "store_bool": ("triton-9991", BEFORE_3_9, BEFORE_3_9),
    "gdc_loop": ("triton-11905", BEFORE_3_9, BEFORE_3_9),
    "pingpong": ("triton-11696", BEFORE_3_9, BEFORE_3_9),
    "tma_release": ("triton-10415", BEFORE_3_8, BEFORE_3_8),
    "recurrence": ("triton-9871", {"3.6.0"}, ALL),
    "chunk_bwd_kernel_dqkwg": ("fla-640", {"3.6.0", "3.7.0"}, ALL),
    "swap_floats": ("triton-9116", {"3.6.0"}, {"3.6.0"}),
    "histogram_of_bytes": ("triton-10891", BEFORE_3_9, BEFORE_3_9),
    "cumsum_of_ctas": ("triton-11829", ALL, ALL),
    "specialized_pointers": ("triton-9728", ALL, ALL),
    "descriptors_in_loop": ("triton-10649", {"3.7.0", "3.7.1"}, {"3.7.0", "3.7.1"}),
    "packed_remainder": ("triton-11581", {"3.8.0"}, None),
    "block_pointer": ("triton-10831", {"3.9.0"}, {"3.9.0"}),
}


def matches(only=None):
    """Return the versions that each (kernel, advisory) matches; `only` replaces the advisories."""
    found = defaultdict(set)
    with Workspace(CAPTURE) as workspace:
        for variant in workspace.variants:
            compiled = CompiledKernel(
                [variant], workspace.names, {variant.id: {}}, workspace.contents.find, workspace.document
            )
            for advisory in only or advisories():
                for _ in advise_capture(advisory, compiled):
                    found[variant.kernel.name, advisory.name].add(variant.toolchain.versions["triton"])
    return dict(found)


def test_each_advisory_is_complete():
    assert len(BY_NAME) >= 40
    codes = [int(advisory.code.removeprefix("IRS")) for advisory in advisories()]
    assert codes == list(range(501, 501 + len(codes)))
    assert not {advisory.name for advisory in advisories()} & {rule.name for rule in RULES}
    for advisory in advisories():
        assert advisory.effect in ("wrong results", "hang", "crash", "misleading"), advisory.name
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", advisory.source)
        assert re.search(r"\d+", advisory.source.rpartition("/")[2])
        assert advisory.workaround and not advisory.workaround.endswith(".")
        assert advisory.description.endswith(".") and "\n" not in advisory.description
        # The first fixed version is the end of the range.
        assert not advisory.fixed or not advisory.affects(advisory.fixed), advisory.name
        # What could match any kernel is worth nothing.
        is_precise = advisory.calls or advisory.operations or advisory.failure or advisory.kernels != ("*",)
        assert is_precise, advisory.name


def test_patterns_match_the_affected_versions_and_no_fixed_one():
    begin = time.process_time()
    found = matches()
    seconds = time.process_time() - begin
    print(f"75 variants: {seconds:.1f} s")
    assert found == {(kernel, advisory): versions for kernel, (advisory, versions, _) in EXPECTED.items()}
    # A capture of 100 variants is linted in under 5 s, most of which the rules may take.
    assert seconds < 2.5


def test_what_the_stages_show_without_versions():
    timeless = [replace(advisory, affected="", ptxas="") for advisory in advisories()]
    found = matches(timeless)
    for kernel, (advisory, _, alone) in EXPECTED.items():
        if alone is not None:
            assert found[kernel, advisory] == alone, kernel


def test_the_figures():
    visible = [kernel for kernel, (_, versions, _) in EXPECTED.items() if versions != ALL]
    print(f"{len(BY_NAME)} advisories; {len(visible)} tested against an affected and a fixed version")
    assert len(visible) >= 13


def test_versions():
    advisory = BY_NAME["fla-640"]
    affected = [
        version for version in ("3.3.1", "3.4.0", "3.7.0+git5", "3.7.1", "") if advisory.affects(version)
    ]
    assert affected == ["3.4.0", "3.7.0+git5"]
    assert holds(3, ">= 2") and not holds(None, ">= 2") and not holds(1, ">= 2") and holds(4, (4, 8))
    fla = BY_NAME["fla-1262"]
    assert fla.affects_ptxas("Build cuda_12.8.r12.8/compiler.35583870_0")
    assert not fla.affects_ptxas("Build cuda_13.4.r13.4/compiler.38657139_0") and not fla.affects_ptxas("")


def test_a_malformed_file_is_refused():
    with pytest.raises(TypeError):
        parse_advisory("x", 'title = "t"\ncolor = "red"')
    with pytest.raises(KeyError):
        parse_advisory("x", "")


SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (64,), (0,)){comment}
    tl.store(x_ptr, tl.sum(tl.load(p)))
"""
NAMES = frozenset(BY_NAME)


def test_source_is_compared_with_the_installed_triton(monkeypatch):
    text = SOURCE.format(comment="")
    for version, names in (("3.9.0", ["triton-10831"]), ("3.8.0", []), ("", [])):
        monkeypatch.setattr("irscope.lint.linter.installed_triton", lambda version=version: version)
        found = lint_source(text, "k.py", NAMES)
        assert [one.rule.name for one in found] == names
        assert all(one.line == 7 and "the installed Triton 3.9.0" in one.message for one in found)
    monkeypatch.setattr("irscope.lint.linter.installed_triton", lambda: "3.9.0")
    for name in ("triton-10831", "IRS540"):
        assert not lint_source(SOURCE.format(comment=f"  # irscope: ignore[{name}]"), "k.py", NAMES)


def test_calls_of_files_are_never_ambiguous():
    # Without stages and targets, a call has to identify an affected kernel by itself.
    by_source = [one for one in advisories() if one.calls and not one.operations and not one.config]
    assert [one.name for one in by_source] == ["triton-11406", "triton-10831"]


def test_lint_prints_one_line_per_match(irscope: Irscope):
    done = irscope("lint", "--advisories", CAPTURE)
    assert done.returncode == 1, done.stderr
    (head, fix, *_) = [line for line in done.stdout.splitlines() if "fdiv_ieee" in line or "div_rn" in line]
    assert "IRS502 triton-10073: wrong results: tl.fdiv ignores ieee_rounding=True" in head
    assert "with Triton 3.6.0 for cuda:90 (affected: Triton <3.8 on cuda:*, fixed in 3.8.0)" in head
    assert fix.strip() == "call tl.div_rn; see https://github.com/triton-lang/triton/issues/10073"
    assert irscope("lint", CAPTURE, "--select", "IRS502").stdout.count("IRS502") == 3
    assert "IRS502" not in irscope("lint", CAPTURE, "--advisories", "--ignore", "triton-10073").stdout


def test_every_format_has_them(irscope: Irscope):
    document = json.loads(irscope("lint", "--advisories", CAPTURE, "--format", "json").stdout)
    problem = next(one for one in document["problems"] if one["rule"] == "triton-11696")
    assert problem["advisory"] == {
        "effect": "wrong results",
        "affected": ">=3.3, <3.9",
        "fixed": "3.9.0",
        "targets": ["hip:gfx942"],
        "workaround": "set TRITON_HIP_USE_BLOCK_PINGPONG=0, or use num_warps=4",
        "source": "https://github.com/triton-lang/triton/issues/11696",
    }
    run = json.loads(irscope("lint", "--advisories", CAPTURE, "--format", "sarif").stdout)["runs"][0]
    assert {"IRS505", "IRS101"} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert "IRS505" in {result["ruleId"] for result in run["results"]}
    for form in ("github", "junit", "markdown"):
        assert "triton-11696" in irscope("lint", "--advisories", CAPTURE, "--format", form).stdout, form


def test_check_and_verdict(irscope: Irscope):
    done = irscope("check", CAPTURE, "--kernel", "fdiv_ieee", "--expect", "advisories == 0")
    assert done.returncode == 1
    assert "advisories is 1: tl.fdiv ignores ieee_rounding=True" in done.stdout
    assert "3 of 5 variants failed" in done.stdout
    done = irscope("check", CAPTURE, "--kernel", "fdiv_ieee", "--expect", "advisories <= 1 and regs < 64")
    assert done.returncode == 0, done.stdout
    with Workspace(CAPTURE) as workspace:
        variant = next(v for v in workspace.variants if v.kernel.name == "fdiv_ieee")
    text = irscope("verdict", CAPTURE, f"#{variant.id}").stdout
    assert "tl.fdiv ignores ieee_rounding=True" in text and "try: call tl.div_rn" in text


def test_explain_and_the_page():
    for advisory in advisories():
        for word in (advisory.name, advisory.code):
            (entry,) = find_entries(word)
            assert entry.word == advisory.name and entry.see is not None
            assert entry.see.url == advisory.source
    generator = runpy.run_path(str(ROOT / "docs" / "scripts" / "advisories.py"))
    text = generator["PAGE"].read_text(encoding="utf-8")
    assert text == generator["advisories_page"](), "run docs/scripts/advisories.py"
