"""A slice of `python -m tests.truth --noop`: edits that mean nothing change nothing."""

import pytest

from tests.exhaustive import EXHAUSTIVE
from tests.truth.corpus import TARGETS, cases
from tests.truth.noop_edits import EDITS, Totals, check

NAMES = ("memory.called_helper_kernel", "matmuls.matmul_kernel", "norms.welford_layer_norm_kernel")


@pytest.fixture(autouse=True)
def _keep_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))


def assert_nothing_is_false(found: dict[str, Totals], capsys):
    printed = capsys.readouterr().out
    assert sum(total.changes + total.findings + total.elsewhere for total in found.values()) == 0, printed


def test_renaming_and_moving_a_kernel_changes_nothing(tmp_path, capsys):
    (case,) = cases("swiglu_kernel")
    found = check(case, ["cuda:90"], tmp_path / "work", ["all of these", "copied file, warm cache"])
    assert_nothing_is_false(found, capsys)
    assert found["all of these"].stages.keys() >= {"source", "ttir", "ttgir", "llir", "ptx"}
    assert found["copied file, warm cache"].cached == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES if EXHAUSTIVE else NAMES[:1])
def test_no_edit_without_a_meaning_changes_anything(name, tmp_path, capsys):
    (case,) = cases(name)
    found = check(case, TARGETS if EXHAUSTIVE else ("cuda:90",), tmp_path / "work")
    assert_nothing_is_false(found, capsys)
    assert found.keys() == EDITS.keys()
