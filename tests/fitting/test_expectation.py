import csv
from pathlib import Path

import pytest

from alignset.fitting.expectation import MEASURED, expect

RULE = Path(__file__).parents[2] / "docs/beyond/rule.csv"


@pytest.mark.parametrize(("name", "stored"), [("joint", "joint"), ("alignment", "proposed")])
def test_the_table_is_the_one_that_was_measured(name, stored):
    with RULE.open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if (r["method"], r["dataset"]) == (stored, "all")]
    told = [(c.low, c.cells, c.ahead, c.gain) for c in MEASURED[name]]
    found = [(float(r["low"]), int(r["n"]), float(r["ahead"]), float(r["gain"])) for r in rows]
    assert told == found


def test_more_noise_means_more_to_expect():
    gains = [expect("joint", wrong, 400).case.gain for wrong in (1, 12, 40, 100)]
    assert gains == sorted(gains)
    assert not expect("joint", 1, 400).clear
    assert expect("joint", 40, 400).clear


def test_few_reviewed_rows_make_nothing_clear():
    """The same share of wrong labels, but the interval reaches down."""
    assert expect("joint", 20, 200).clear
    assert not expect("joint", 1, 10).clear


def test_the_papers_method_asks_for_more():
    assert not expect("alignment", 40, 400).clear


def test_nothing_is_said_of_what_was_not_measured():
    assert expect("glc", 10, 100) is None
    assert expect("joint", 0, 0) is None


def test_the_sentence_tells_counts_and_what_they_led_to():
    told = expect("joint", 30, 200).sentence("Joint alignment")
    assert "30 of 200 reviewed labels are wrong (95 % interval 10.7% to 20.6%)" in told
    assert "ahead of Standard in 100% of 455 measured cases, by +0.113 AUROC" in told
