from dataclasses import replace

import numpy as np
import pytest
from model.test_estimating import everyone

from alignset.evaluate import ThresholdChoice, estimate
from alignset.model.decisions import PRICES, at_threshold, decision_curve
from alignset.model.estimating import HeldOutRows


def test_without_a_choice_the_more_probable_class_is_described():
    kept, truth = everyone()
    rows = HeldOutRows(kept)
    found = at_threshold(kept, None)
    assert found.threshold == 0.5
    own = rows.estimate("tpr", "m", groups=True, threshold=0.5)
    assert found.rates["tpr"].estimate == pytest.approx(own.estimate)
    assert found.rates["tpr"].by_group["f"].low == pytest.approx(own.by_group["f"].low)
    flagged = rows.score("m")[:, 1] >= 0.5
    assert found.rates["tpr"].low < flagged[truth == 1].mean() < found.rates["tpr"].high
    assert found.rates["tpr"].worth > 250


def test_thresholds_of_groups_are_those_of_their_rows():
    kept, _ = everyone()
    rows = HeldOutRows(kept)
    found = at_threshold(kept, ThresholdChoice("tpr", 0.9, 0.4, {"f": 0.2, "m": 0.7}))
    score = rows.score("m")[:, 1]
    share = (score >= np.where(rows.names == "f", 0.2, 0.7)).mean()
    assert found.rates["flagged"].estimate == pytest.approx(share, abs=0.01)
    assert at_threshold(kept, found) is found  # rates of another table stay


def test_the_decision_curve_is_net_benefit_at_each_threshold():
    kept, truth = everyone()
    curve = decision_curve(kept)
    assert set(curve["line"]) == {"model", "flag everybody", "flag nobody"}
    at = {line: part.set_index("threshold") for line, part in curve.groupby("line")}
    rows = HeldOutRows(kept)
    own = estimate(
        "net_benefit", rows.score("m")[:, 1], rows.observed, rows.true, groups=rows.names,
        threshold=0.3, random_state=0,
    )  # fmt: skip
    row = at["model"].loc[0.3]
    assert (row["benefit"], row["low"]) == pytest.approx((own.estimate, own.low))
    assert (at["flag nobody"][["benefit", "low", "high"]] == 0).all().all()
    share, price = truth.mean(), 0.3 / 0.7
    everybody = at["flag everybody"].loc[0.3]
    assert everybody["low"] < share - (1 - share) * price < everybody["high"]
    score, flagged = rows.score("m")[:, 1], {}
    inside = 0
    for t in PRICES:
        flagged = score >= t
        known = (flagged & (truth == 1)).mean() - (flagged & (truth == 0)).mean() * t / (1 - t)
        row = at["model"].loc[t]
        inside += row["low"] - 1e-9 <= known <= row["high"] + 1e-9
    assert inside > 0.8 * len(PRICES)


def test_an_older_folder_has_reviewed_rows_only():
    kept, _ = everyone()
    alone = at_threshold(replace(kept, unreviewed=None), None)
    assert alone.rates["tpr"].worth == pytest.approx(200, rel=0.01)
    both = at_threshold(kept, None)
    width = [found.rates["tpr"].high - found.rates["tpr"].low for found in (alone, both)]
    assert width[1] < 0.9 * width[0]
