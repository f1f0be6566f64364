"""`irscope diff --fail-on` as a user runs it."""

from __future__ import annotations

import json

import pytest

from tests.cli.gated import write


@pytest.fixture
def old(tmp_path):
    return write(tmp_path / "old.irscope")


def gate(irscope, old, new, *conditions):
    words = [word for condition in conditions for word in ("--fail-on", condition)]
    done = irscope("diff", old, new, *words, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)["gate"]
    assert document["failed"] == bool(done.returncode)
    return document


@pytest.mark.parametrize(
    ("condition", "new", "fails"),
    [
        ("spills>0", {}, False),
        ("spills>0", {"stack": 8}, True),
        ("registers>+10%", {"registers": 70}, False),  # 70.4 is a tenth more
        ("registers>+10%", {"registers": 71}, True),
        ("registers > +8", {"registers": 72}, False),
        ("registers>+8", {"registers": 73}, True),
        ("registers>=+8", {"registers": 72}, True),
        ("registers>70", {"registers": 70}, False),
        ("registers>70", {"registers": 71}, True),
        ("shared<-50%", {"shared": 512}, False),
        ("shared<-50%", {"shared": 500}, True),
        ("registers>+10% and shared>+0", {"registers": 80}, False),
        ("registers>+10% and shared>+0", {"registers": 80, "shared": 2048}, True),
        ('limiter == "registers", registers>+0', {"registers": 65}, True),
        ("worse", {}, False),
        ("worse", {"registers": 60, "shared": 512}, False),
        ("worse", {"shared": 1025}, True),
        ("new-failures", {"registers": 255}, False),
        ("new-failures", {"failed": (64,)}, True),
        ("new-failures", {"shared": 300_000}, True),  # cannot be launched
        ("worse", {"failed": (64,)}, True),
        ("registers>+10%", {"failed": (64,)}, True),  # unknown, and it was known
        ("removed", {"blocks": (64,)}, True),
        ("removed", {"blocks": (64, 128, 256)}, False),
        ("added", {"blocks": (64, 128, 256)}, True),
        ("spills>0", {"blocks": (64, 128, 256), "stack": 4}, True),
        ("removed", {"name": "add_rows"}, False),  # renamed
        ("removed, added", {"constants": [("SCALE", 1)]}, False),  # a new parameter
        ("registers>+10%", {"constants": [("SCALE", 1)], "registers": 80}, True),
        ("removed", {"constants": [("SCALE", 1), ("SCALE", 2)]}, True),  # which one is meant is open
    ],
)
def test_conditions(irscope, old, tmp_path, condition, new, fails):
    write(tmp_path / "new.irscope", **new)
    assert gate(irscope, old, tmp_path / "new.irscope", condition)["failed"] is fails


def test_a_limit_counts_what_was_there_before_and_a_change_does_not(irscope, tmp_path):
    old, new = (write(tmp_path / f"{name}.irscope", stack=16) for name in ("old", "new"))
    found = gate(irscope, old, new, "spills>0")
    assert [one["text"] for one in found["violations"]] == ["Spills 4, as in OLD"] * 2
    assert not gate(irscope, old, new, "spills>+0")["failed"]
    worse = write(tmp_path / "worse.irscope", stack=20)
    assert gate(irscope, old, worse, "spills>+0")["violations"][0]["text"] == "Spills 4 -> 5 (+25%)"


def test_a_failure_in_both_captures_is_not_new(irscope, tmp_path):
    old, new = (write(tmp_path / f"{name}.irscope", failed=(64,)) for name in ("old", "new"))
    assert not gate(irscope, old, new, "worse, new-failures, registers>+10%")["failed"]


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        ({"name": "other", "blocks": (32,)}, "no variant of NEW (other) matches one of OLD (add_kernel)"),
        ({"blocks": ()}, "NEW (new.irscope) has no variants"),
    ],
)
def test_an_empty_comparison_fails_and_says_why(irscope, old, tmp_path, new, problem):
    write(tmp_path / "new.irscope", **new)
    done = irscope("diff", "old.irscope", "new.irscope", "--fail-on", "worse", "--format", "github")
    assert done.returncode == 1
    assert f"::error title=irscope diff%3A incomplete::nothing was compared: {problem}" in done.stdout


def test_a_condition_about_facts_that_no_variant_has_fails(irscope, old):
    found = gate(irscope, old, old, "vector_spills>0", "worse")
    assert found["problems"] == [
        "vector_spills>0: cannot be checked: vector_spills is unknown for every matched variant"
    ]


def test_variants_without_a_counterpart_are_named(irscope, old, tmp_path):
    write(tmp_path / "new.irscope", blocks=(64, 256))
    notes = "\n".join(gate(irscope, old, tmp_path / "new.irscope", "worse")["notes"])
    assert "Only in OLD  add_kernel: 1 variant; #2" in notes
    assert "Only in NEW  add_kernel: 1 variant; #2" in notes


def test_captures_without_a_common_target(irscope, old, tmp_path):
    write(tmp_path / "new.irscope", target="cuda:100")
    assert "no target in common" in gate(irscope, old, tmp_path / "new.irscope", "spills>0")["notes"][0]


def test_two_variants_of_a_capture(irscope, tmp_path):
    write(tmp_path / "new.irscope")
    done = irscope("diff", "new.irscope", "#1", "#2", "--stage", "none", "--fail-on", "threads>+0, worse")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("1 variant compared, 2 conditions: none is true\n")
    done = irscope("diff", "new.irscope", "#1", "#2", "--fail-on", "registers<=64", "--format", "json")
    assert done.returncode == 1 and json.loads(done.stdout)["gate"]["compared"] == 1


def test_the_text_lists_each_condition(irscope, old, tmp_path):
    write(tmp_path / "new.irscope", registers=80)
    done = irscope("diff", "old.irscope", "new.irscope", "--fail-on", "spills>0, registers>+10%")
    assert done.returncode == 1
    assert done.stdout.partition("Fail on\n")[2].splitlines() == [
        "  spills>0: not true",
        "  registers>+10%: true for 2",
        "    add_kernel #1 BLOCK=64 cuda:90: Regs 64 -> 80 (+25%)",
        "    add_kernel #2 BLOCK=128 cuda:90: Regs 64 -> 80 (+25%)",
        "2 variants compared, 2 conditions: failed for 2 variants of 1 kernel",
    ]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("compile_seconds>+10%", "'compile_seconds>+10%' is about a time, which depends on the machine"),
        ("ptx_seconds > 1", "is about a time"),
        ("ms>+5%", "is about a time"),
        ("wrose", "no condition 'wrose'; known words: worse, new-failures, changed, bits, removed, added"),
        ("spils>0", "no fact 'spils'"),
        ("registers>+x%", "needs a number"),
        ("registers>", "is malformed"),
        (" , ", "no condition"),
    ],
)
def test_a_wrong_condition_is_one_line(irscope, old, condition, message):
    done = irscope("diff", old, old, "--fail-on", condition)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("form", ["github", "junit", "sarif"])
def test_formats_that_need_conditions_say_so(irscope, old, form):
    done = irscope("diff", old, old, "--format", form)
    assert done.returncode == 2 and "--fail-on" in done.stderr
