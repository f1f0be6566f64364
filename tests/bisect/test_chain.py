from irscope.jobs.bisect.attribution import Located, StepRange, contributions, largest_change, locate

STEPS = ("source -> ttir", "ttir -> ttgir", "ttgir -> llir", "llir -> ptx", "ptx -> cubin")


def test_both_directions_change_in_one_step():
    assert locate([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], STEPS) == Located(StepRange(2, 3, 1.0))


def test_directions_that_disagree_name_no_step():
    found = locate([1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], STEPS)
    assert found.span is None
    assert "source -> ttir" in found.reason
    assert "ptx -> cubin" in found.reason


def test_a_stage_that_is_not_accepted_widens_the_span():
    assert locate([1, 1, None, 0, 0, 0], [0, 0, None, 1, 1, 1], STEPS).span == StepRange(1, 3, 1.0)


def test_the_other_direction_narrows_the_span():
    assert locate([1, 1, None, 0, 0, 0], [0, 0, 0, 1, 1, 1], STEPS).span == StepRange(2, 3, 1.0)


def test_a_change_that_two_steps_share_has_no_span():
    found = locate([1, 1, 0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5, 1, 1], STEPS)
    assert found.span is None
    assert "ttir -> ttgir 50%, llir -> ptx 50%" in found.reason


def test_most_of_a_change_is_enough():
    found = largest_change([1, 0.9, 0.1, 0])
    assert found is not None
    assert (found.first, found.last, round(found.share, 2)) == (1, 2, 0.8)


def test_contributions_name_the_steps_between_known_cuts():
    assert contributions([1, None, 0.25, 0], ("a", "b", "c")) == "a + b 75%, c 25%"
