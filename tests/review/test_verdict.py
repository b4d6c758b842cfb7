import pytest

from alignset.evaluate.noise_rate import NoiseRate
from alignset.review.representative import TwoSampleTest
from alignset.review.verdict import EmptyCell, judge


def rate(group="f", **options):
    made = {
        "rows": 1000, "reviewed": 100, "unresolved": 0, "wrong": 20, "rate": 0.2, "low": 0.14,
        "high": 0.28, "effective_size": 100.0, "weighted": True,
    } | options  # fmt: skip
    return NoiseRate(group=group, **made)


def told(low, group="f", weighted=True):
    return TwoSampleTest(group, 100, 900, low + 0.1, low, low + 0.2, weighted)


def test_green_has_no_reason():
    verdict = judge([rate(), rate("m")], [told(0.45), told(0.4, "m")], [])
    assert (verdict.colour, verdict.reasons) == ("green", ())
    assert verdict.action == "nothing needed; `alignset audit --next` sharpens the rates."


@pytest.mark.parametrize(
    ("rates", "tests", "empty", "colour", "reason", "action"),
    [
        ([rate(reviewed=0, wrong=0, effective_size=0.0)], [], [EmptyCell("f", "no", 9)], "red",
         "no row is reviewed, so nothing is known about the noise",
         "draw a review sheet with `alignset sample`."),
        ([rate(), rate("m", rows=12, reviewed=0, wrong=0, effective_size=0.0)], [], [], "red",
         "group 'm' has 12 rows, none reviewed",
         "review 12 random rows of group 'm'."),
        ([rate()], [told(0.65)], [], "red",
         "even after weighting, reviewed rows of group 'f' can be told from the others (AUROC "
         "0.75, 0.65 to 0.85; 0.5 if they were alike)",
         "review more rows of group 'f' drawn at random by `alignset sample`, and answer all of "
         "them."),
        ([rate()], [told(0.55, weighted=False)], [], "amber",
         "reviewed rows of group 'f' can be told from the others (AUROC 0.65, 0.55 to 0.75; 0.5 "
         "if they were alike)",
         "review more rows of group 'f' drawn at random by `alignset sample`, and answer all of "
         "them."),
        ([rate(unresolved=30)], [], [], "amber",
         "30 of 130 rows drawn in group 'f' have no answer",
         "settle the 30 rows of group 'f' without an answer."),
        ([rate()], [], [EmptyCell("f", "yes", 4)], "amber",
         "group 'f' has 4 rows with observed label 'yes', none reviewed",
         "review 4 random rows of group 'f' with observed label 'yes'."),
        ([rate(effective_size=12.3)], [], [], "amber",
         "the reviewed rows of group 'f' are worth 12 random ones: its noise rate is 0.14 to 0.28",
         "review 10 more random rows of group 'f'."),
        ([rate(rows=10_000)], [], [], "amber",
         "1.0% of the rows are reviewed; the two-stage method was noticeably worse at 3% or less "
         "(Tjandra & Wiens 2023)",
         "review 201 more rows, drawn by `alignset sample`."),
        ([rate(rows=500), rate("m", rows=500, reviewed=15, wrong=2, effective_size=40.0)], [], [],
         "amber", "group 'm' is 50% of the rows but 13% of the reviewed ones",
         "review 43 more random rows of group 'm'."),
        ([rate(wrong=0)], [], [], "amber",
         "all 100 reviewed labels agree with the observed ones, so a model cannot learn where "
         "labels are wrong",
         "review rows that the model doubts: `alignset audit --next 50 --sheet next.csv`."),
    ],
)  # fmt: skip
def test_each_reason_has_its_colour_and_its_action(rates, tests, empty, colour, reason, action):
    verdict = judge(rates, tests, empty)
    assert [found.text for found in verdict.reasons] == [reason]
    assert (verdict.colour, verdict.action) == (colour, action)


def test_red_comes_before_amber_and_gives_the_action():
    verdict = judge([rate(unresolved=30)], [told(0.7)], [])
    assert [reason.colour for reason in verdict.reasons] == ["red", "amber"]
    assert verdict.action == verdict.reasons[0].action


def test_a_test_that_could_not_be_done_says_nothing():
    nan = float("nan")
    assert judge([rate()], [TwoSampleTest("f", 3, 9, nan, nan, nan, True)], []).colour == "green"
