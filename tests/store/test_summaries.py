"""Columns of many variants, decoded with what they have in common, give what each gives by itself."""

from __future__ import annotations

import json

import pytest

from irscope.facts.fact import FactRow, column_of, columns_of
from irscope.facts.measure import FactColumns, from_json, rows_from_json
from irscope.facts.registry import kinds_for
from irscope.model import Config, ListValue
from irscope.store import encoding
from irscope.store.stored_variant import SharedColumns

CONFIGS = (
    (("BLOCK", 64), ("num_warps", 4)),
    (("BLOCK", 1), ("FLAG", True)),
    (("BLOCK", True), ("FLAG", 1)),
    (("NAME", 'a],["b'), ("num_warps", 4)),
    (("NAME", "a"), ('],["b', 4)),
    (("SHAPE", ListValue((ListValue((1, 2)), ListValue((3, 4))))), ("num_warps", 4)),
    (("ZERO", 0.0), ("ZERO", -0.0), ("NONE", None)),
    (),
)


def test_configs_share_equal_pairs_without_mixing_them_up():
    shared = SharedColumns()
    for _ in range(2):
        found = [shared.config(encoding.config_to_json(Config(values))) for values in CONFIGS]
        assert [repr(config) for config in found] == [repr(Config(values)) for values in CONFIGS]
    first, again = (shared.config('[["BLOCK",64],["num_warps",4]]') for _ in range(2))
    assert first.values[0] is again.values[0]


def test_metadata_and_keys_that_are_kept_are_held_once():
    shared = SharedColumns()
    texts = [
        json.dumps({"hash": digest, "num_ctas": ctas}) for digest, ctas in (("ab1", 1), ("ab2", 1), ("", 2))
    ]
    found = [shared.metadata(text) for text in texts]
    assert [one.values["num_ctas"] for one in found] == [1, 1, 2]
    assert found[0] is found[1]
    assert found[0].launch != found[2].launch
    keys = [json.dumps({"environment X": "1", "source": source}) for source in ("s", "t")]
    assert shared.key_components(keys[0]) is shared.key_components(keys[1])
    assert shared.key_components(keys[0]) == {"environment X": "1"}
    for damaged in ('{"a":"","option debug":1}', "[]"):
        with pytest.raises((ValueError, TypeError)):
            shared.key_components(damaged)


def test_objects_decoded_together_are_those_decoded_alone():
    texts = ['{"a":1}', "{}", '{"b":[1,{"c":"]"}]}']
    assert encoding.objects_from_json(texts) == [encoding.object_from_json(text) for text in texts]
    assert encoding.objects_from_json([]) == []
    for damaged in ("[]", '{"a":1},{}', "", '{"a":' + "9" * 400 + "}"):
        with pytest.raises((ValueError, TypeError)):
            encoding.objects_from_json([*texts, damaged])


def test_rows_of_facts_have_the_values_of_each_and_columns_those_of_rows():
    kinds = kinds_for("cuda")
    columns = FactColumns("cuda", kinds)
    blank = {kind.name: None for kind in kinds}
    rows = [
        {**blank, "registers": 64, "launchable": "yes", "matrix": "none"},
        {**blank, "registers": True, "launchable": "no: too much", "matrix": "none"},
        {**blank, "registers": 1, "launchable": 1, "matrix": "4 x wgmma"},
        {**blank, "registers": [], "launchable": "yes", "matrix": "none"},  # damaged
    ]

    def stored(some):
        return {name: [row[name] for row in some] for name in some[0]}

    found = list(rows_from_json(stored(rows[:3]), columns) or ())
    assert all(isinstance(row, FactRow) for row in found)
    found += rows_from_json(stored(rows[3:]), columns) or ()
    assert [dict(row) for row in found] == [from_json(row, "cuda") for row in rows]
    assert rows_from_json({"registers": [1]}, columns) is None
    names = ("matrix", "unknown", "registers")
    for some in (found[:3], found, []):
        known = [row for row in some if row is not None]
        assert [list(column) for column in columns_of(known, names)] == [column_of(known, n) for n in names]
