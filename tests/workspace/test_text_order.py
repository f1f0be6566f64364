"""Texts of a table sort with their numbers as numbers."""

from __future__ import annotations

from irscope.model.text import natural_key


def test_versions_and_types_sort_by_their_numbers() -> None:
    versions = ["3.10.0", "3.8.0", "3.9.1", "3.9.0"]
    assert sorted(versions, key=natural_key) == ["3.8.0", "3.9.0", "3.9.1", "3.10.0"]
    assert sorted(["i32:16", "i8", "fp16"], key=natural_key) == ["fp16", "i8", "i32:16"]
    assert sorted(["b", "a" * 3, "1" * 40], key=natural_key) == ["1" * 40, "aaa", "b"]
