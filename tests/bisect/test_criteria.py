import pytest

from irscope.facts.fact import Fact
from irscope.facts.registry import FACT_NAMED
from irscope.jobs.bisect.attribution import Located, StepRange, contributions, largest_change, locate
from irscope.jobs.bisect.criteria import criterion_of
from irscope.model import UserError


def facts(**values):
    return {name: Fact(FACT_NAMED[name], value) for name, value in values.items()}


def test_more_registers_are_worse_and_a_lower_occupancy_is():
    registers, occupancy = criterion_of("registers", None), criterion_of("occupancy", None)
    few, many = (registers.read(facts(registers=number)) for number in (32, 64))
    assert registers.is_worse(few, many) and not registers.is_worse(many, few)
    high, low = (occupancy.read(facts(occupancy=share)) for share in (1.0, 0.5))
    assert occupancy.is_worse(high, low) and not occupancy.is_worse(low, high)
    assert registers.badness(registers.read(facts(registers=40)), few, many) == 0.25


def test_a_fact_without_an_order_is_worse_if_it_is_another():
    matrix = criterion_of("matrix", None)
    wgmma, mma, none = (matrix.read(facts(matrix=text)) for text in ("2 x wgmma", "4 x mma", "none"))
    assert matrix.is_worse(wgmma, mma)
    assert [matrix.badness(one, wgmma, mma) for one in (wgmma, mma, none)] == [0.0, 1.0, None]


def test_an_expectation_is_worse_where_it_fails():
    check = criterion_of(None, "spills == 0 and registers <= 64")
    good, bad = check.read(facts(n_spills=0, registers=64)), check.read(facts(n_spills=2, registers=64))
    assert check.is_worse(good, bad) and not check.is_worse(bad, bad)
    assert bad.text == "n_spills 2, registers 64: fails"
    assert check.read(facts(n_spills=0)) is None


@pytest.mark.parametrize(
    ("fact", "expectation", "problem"),
    [
        (None, None, "either --fact or --check"),
        ("registers", "spills == 0", "either --fact or --check"),
        ("speed", None, "no fact 'speed'"),
        ("seconds", None, "no fact 'seconds' of the code"),
        (None, "spills", "malformed"),
    ],
)
def test_wrong_criteria_are_one_line(fact, expectation, problem):
    with pytest.raises(UserError, match=problem):
        criterion_of(fact, expectation)


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
