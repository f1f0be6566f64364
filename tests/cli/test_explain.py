"""`irscope explain` as a user runs it."""

from __future__ import annotations

import json

from irscope.glossary.glossary import glossary_entries


def test_a_word(irscope):
    done = irscope("explain", "LDG.E.128")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "LDG  (sass)"
    assert any(line.startswith("see: CUDA Binary Utilities") for line in lines)


def test_an_unknown_word_suggests_similar_ones(irscope):
    done = irscope("explain", "convert_layot")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "irscope: no entry for 'convert_layot'; similar words: ttg.convert_layout\n"
    assert "irscope explain lists all entries" in irscope("explain", "q\x1bq").stderr
    assert "\x1b" not in irscope("explain", "q\x1bq").stderr


def test_without_a_word_all_are_listed(irscope):
    assert len(irscope("explain").stdout.splitlines()) == len(glossary_entries())


def test_as_json(irscope):
    document = json.loads(irscope("explain", "num_warps", "--format", "json").stdout)
    assert document["schema"] == "irscope.explain/1"
    assert [entry["word"] for entry in document["entries"]] == ["num_warps"]


def test_it_fits_the_width(irscope):
    lines = irscope("explain", "specialization", "--width", "40").stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith("see: ")) <= 40
