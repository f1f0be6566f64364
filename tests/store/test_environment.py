"""The compiler environment is part of a variant's identity: in a resumed capture, in a merge, in its name."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from irscope.model.variant import environment_of
from irscope.store import CaptureReader, CaptureWriter, encoding, find_variant, variant_names
from irscope.store.merge_captures import MergedCapture
from irscope.store.new_variant import kernel_digest
from tests.store.test_capture import new, write

UNOPTIMIZED = {"environment DISABLE_LLVM_OPT": "true", "option debug": "False", "option num_warps": "4"}


@pytest.mark.parametrize(
    ("cache_key", "environment"),
    [
        ({}, {}),
        ({"environment DISABLE_LLVM_OPT": "true", "source": "ab"}, {"DISABLE_LLVM_OPT": "1"}),
        ({"environment DISABLE_LLVM_OPT": "false"}, {"DISABLE_LLVM_OPT": "0"}),
        ({"environment TRITON_F32_DEFAULT": "ieee"}, {"TRITON_F32_DEFAULT": "ieee"}),
        ({"option debug": "True", "option sanitize_overflow": "True"}, {"debug": "True"}),
        ({"option debug": "False", "option sanitize_overflow": "True"}, {}),
        ({"option ptx_options": "-O1", "option instrumentation_mode": ""}, {"PTXAS_OPTIONS": "-O1"}),
        ({"option ptx_options": "None"}, {}),
    ],
)  # fmt: skip
def test_the_environment_is_what_is_set_in_tritons_key(cache_key, environment):
    assert environment_of(cache_key, ()) == environment


def test_an_option_that_the_config_sets_is_not_part_of_the_environment():
    assert environment_of({"option debug": "True"}, ("debug",)) == {}


def test_a_resumed_capture_keeps_both_variants(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, new(64))
    with CaptureWriter.resume(path) as writer:
        plain = writer.identity(1, "3.9.0", new(64, cache_key={"option debug": "False", "source": "a"}))
        unoptimized = writer.identity(1, "3.9.0", new(64, cache_key=UNOPTIMIZED))
        assert plain in writer.finished()
        assert unoptimized not in writer.finished()
        writer.add_variant(1, 1, "3.9.0", new(64, cache_key=UNOPTIMIZED))
        assert {plain, unoptimized} == writer.finished()


def test_variants_of_different_environments_have_names(tmp_path: Path):
    path = tmp_path / "a.irscope"
    write(path, new(64), new(64, cache_key=UNOPTIMIZED), new(128))
    with CaptureReader(path) as capture:
        variants = capture.variants()
    assert variant_names(variants) == {1: "BLOCK=64", 2: "BLOCK=64,DISABLE_LLVM_OPT=1", 3: "BLOCK=128"}
    assert find_variant(variants, "DISABLE_LLVM_OPT=1").id == 2
    assert find_variant(variants, "BLOCK=64").id == 1
    assert variants[1].settings == {"BLOCK": 64, "num_warps": 4, "DISABLE_LLVM_OPT": 1}


def test_merging_keeps_variants_of_both_environments(tmp_path: Path):
    a, b, out = (tmp_path / f"{name}.irscope" for name in "abo")
    write(a, new(64), new(128))
    write(b, new(64, cache_key=UNOPTIMIZED), new(128))
    assert MergedCapture.write([a, b], out).variants == 3
    with CaptureReader(out) as capture:
        assert [variant.environment for variant in capture.variants()] == [{}, {}, {"DISABLE_LLVM_OPT": "1"}]


def test_a_capture_without_environments_in_its_identities_is_resumed(tmp_path: Path):
    path = tmp_path / "old.irscope"
    variant = new(64, cache_key=UNOPTIMIZED)
    write(path, variant)
    with CaptureReader(path) as capture:
        digest = kernel_digest(capture.kernels[1])
    parts = (
        digest, encoding.specialization_to_json(variant.specialization),
        encoding.config_to_json(variant.config), "cuda:90", "3.9.0",
    )  # fmt: skip
    with sqlite3.connect(path) as db:
        before = encoding.digest("\0".join(parts).encode())
        db.execute("UPDATE variant SET identity = ?", (before,))
        db.execute("PRAGMA user_version = 2")
    db.close()
    with CaptureWriter.resume(path) as writer:
        assert writer.identity(1, "3.9.0", variant) in writer.finished()
        assert writer.identity(1, "3.9.0", new(64)) not in writer.finished()
        assert writer.add_variant(1, 1, "3.9.0", new(64)) == 2


def test_a_damaged_row_does_not_prevent_resuming(tmp_path: Path):
    path = tmp_path / "damaged.irscope"
    write(path, new(64, cache_key=UNOPTIMIZED), new(128))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE variant SET cache_key = '[', identity = 'x' WHERE id = 1")
    db.close()
    with CaptureWriter.resume(path) as writer:
        assert "x" in writer.finished()
