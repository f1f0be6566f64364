from irscope.model.records import distinct_values, varying_keys


def test_only_differing_values_vary():
    rows = [{"a": 1, "b": 2, "c": "x"}, {"a": 1, "b": 3, "c": "x"}]
    assert varying_keys(rows) == ["b"]
    assert varying_keys(rows[:1]) == varying_keys([]) == []


def test_a_missing_key_is_a_value_and_true_is_not_one():
    assert varying_keys([{"a": 1}, {}, {"b": 2}]) == ["a", "b"]
    assert distinct_values([{"a": 1}, {"a": True}, {}]) == {"a": 3}
