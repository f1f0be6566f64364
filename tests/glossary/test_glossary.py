"""The glossary explains every token of the committed stages and finds terms as users spell them."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.diff.rows import Change
from irscope.facts.registry import FACT_KINDS
from irscope.glossary.glossary import (
    entries_in_line,
    entry_for,
    find_entries,
    glossary_entries,
    similar_names,
)
from irscope.model import OPTION_NAMES
from irscope.targets import STAGES
from tests.findings.builders import STAGES as FOLDER

# Matches an operation or instruction in a line of each language.
TOKENS = {
    "ttir": r"^\s+(?:%[\w:, %]+ = )?\"?((?:tt|arith|math|scf|cf)\.[a-z_0-9]+)",
    "ttgir": r"^\s+(?:%[\w:, %]+ = )?\"?((?:tt|ttg|ttng|amdg|arith|math|scf|cf)\.[a-z_0-9]+)",
    "ptx": r"^\s+(?:@!?%p\d+ )?([a-z][a-z0-9_.:]+)\s",
    "sass": r"/\*[0-9a-f]+\*/\s+(?:@!?U?P[0-9T]+ )?([A-Z][A-Z0-9.]+)",
    "amdgcn": r"^\s+([a-z]+_[a-z0-9_]+)",
}


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("ld.global.v4.b32", "ld.global"),
        ("#ttg.blocked", "blocked"),
        ("#blocked12", "blocked"),
        ("sizePerThread", "sizePerThread"),
        ("ttg.convert_layout", "ttg.convert_layout"),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "wgmma.mma_async"),
        ("tt.divisibility", "tt.divisibility"),
        ("LDG.E.128", "LDG"),
        ("v_mfma_f32_32x32x8_f16", "v_mfma"),
        ("v_mov_b32_dpp", "ds_bpermute"),
        ("cp.async.bulk.tensor.2d.shared::cluster.global", "cp.async.bulk"),
        ("!ttg.memdesc<", "memdesc"),
        ("math.exp", "arith.addf"),
    ],
)
def test_tokens_of_a_stage(token, word):
    entry = entry_for(token)
    assert entry is not None and entry.word == word


@pytest.mark.parametrize("token", ["", "%mask", "%0", "@kernel", "x" * 500, "zzz", "{", "64x32xf16"])
def test_tokens_without_an_entry(token):
    assert entry_for(token) is None


@pytest.mark.parametrize("stage", TOKENS)
def test_every_instruction_of_the_committed_stages_is_explained(stage):
    found = Counter()
    for path in FOLDER.glob(f"*.{stage}"):
        found.update(re.findall(TOKENS[stage], path.read_text(), re.M))
    assert len(found) > 10
    assert [token for token in found if entry_for(token) is None] == []


def test_every_fact_option_and_stage_is_explained():
    facts = [kind.name for kind in FACT_KINDS if not kind.name.endswith(("_seconds", "_size"))]
    stages = [stage.name for stage in STAGES]
    missing = [name for name in (*facts, *OPTION_NAMES, *stages) if not find_entries(name)]
    assert missing == []


def test_names_are_unique_and_entries_are_complete():
    counts = Counter(name for entry in glossary_entries() for name in (entry.word, *entry.names))
    assert [name for name, number in counts.items() if number > 1] == []
    for entry in glossary_entries():
        assert entry.text.endswith(".") and entry.stages and entry.see is not None, entry.word
        assert all(name.count("*") <= 1 for name in entry.names), entry.word


def test_every_entry_is_found_by_each_of_its_names():
    for entry in glossary_entries():
        for name in entry.plain_names:
            assert entry in find_entries(name), name


def test_case_and_prefixes_are_accepted():
    assert [entry.word for entry in find_entries("ldg")] == ["LDG"]
    assert len(find_entries("tritongpu")) > 5
    assert similar_names("convert_layot")[0] == "ttg.convert_layout"
    assert find_entries("  ") == []


@given(st.text(max_size=100))
def test_any_text_can_be_looked_up(text):
    entry_for(text)
    find_entries(text)
    similar_names(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("IR", "IR"),
        ("SM", "SM"),
        ("grid", "grid"),
        ("block", "CTA"),
        ("rewired", "operand"),
        ("Spill stores", "spill_store_bytes"),
        ("registers per thread", "registers"),
        ("Shared bytes", "shared"),
    ],
)
def test_the_words_of_the_views_have_entries(text, word):
    assert [entry.word for entry in find_entries(text)] == [word]


def test_every_kind_of_change_and_every_title_of_a_fact_has_an_entry():
    changes = [str(change.name).lower() for change in Change if change is not Change.TEXT]
    titles = [text for kind in FACT_KINDS for text in (kind.title, kind.label, kind.heading) if text]
    assert [text for text in (*changes, "other line", *titles) if len(find_entries(text)) != 1] == []


def test_related_words_have_entries():
    words = {entry.word for entry in glossary_entries()}
    names = words | {name for entry in glossary_entries() for name in entry.plain_names}
    assert [word for entry in glossary_entries() for word in entry.related if word not in names] == []


def test_short_prefixes_match_whole_parts_only():
    assert all(entry.word.startswith("ld.") for entry in find_entries("ld"))
    assert find_entries("gri") == []


def test_words_of_the_views_are_not_offered_for_a_line_of_a_stage():
    assert [word for word, _ in entries_in_line("module attributes {type, constant} arith.constant")] == [
        "arith.constant"
    ]
