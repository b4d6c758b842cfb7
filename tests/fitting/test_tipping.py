from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitting.kept import kept

from alignset.fitting.tipping import _tilted, level_rates, tipping


def test_a_clear_winner_does_not_tip():
    found = tipping(kept(), n_boot=60, random_state=0)
    assert found.corrected == "alignment"
    assert found.groups["tips"].isna().all()
    assert found.groups["direction"].tolist() == ["more", "fewer"] * 2
    more = found.groups[found.groups["direction"] == "more"]
    assert (more["tried"] > more["now"]).all()


def test_a_model_that_is_good_only_where_labels_are_right_tips():
    base = kept(n=400)
    wrong = base.wrong & (base.group == 1)
    good = base.scores["alignment"]
    poor = np.where(wrong[:, None], good[:, ::-1], good)  # upside down where labels are wrong
    wobble = 0.12 * np.sin(np.arange(400))[:, None] * [1, -1]
    plain = np.round(0.5 + 0.35 * (good - 0.5) + wobble, 6)
    scores = {"standard": plain, "alignment": poor}
    changed = replace(base, weight=np.full(400, 20.0), scores=scores)
    found = tipping(changed, n_boot=60, random_state=0)
    rows = found.groups.set_index(["group", "direction"])
    changed = rows["tips"].notna()
    assert changed.loc["m"].any()
    tips = rows[changed].iloc[0]
    assert tips["recommended"] not in ("", found.corrected)


def test_the_tilt_keeps_the_group_and_never_counts_a_reviewed_row_away():
    found = kept()
    for f in (0.1, 10.0):
        tilted = _tilted(found, 1, f)
        here = found.group == 1
        assert tilted[here].sum() == pytest.approx(found.weight[here].sum())
        assert (tilted[~here] == found.weight[~here]).all()
        assert (tilted >= 1).all()
        share = (tilted - 1)[here] @ found.wrong[here] / (tilted - 1)[here].sum()
        now = (found.weight - 1)[here] @ found.wrong[here] / (found.weight - 1)[here].sum()
        assert share / (1 - share) == pytest.approx(f * now / (1 - now))


def test_groups_without_a_wrong_label_are_passed_over():
    found = kept(noise=(0.0, 0.3))
    assert set(tipping(found, n_boot=20, random_state=0).groups["group"]) == {"m"}


def test_one_group_or_no_rate_leaves_nothing_to_level():
    one = pd.DataFrame({"group": ["f"], "rows": [9], "reviewed": [3], "wrong": [1], "rate": [0.3]})
    assert level_rates(one).empty
    none = pd.concat([one, one]).assign(rate=np.nan)
    assert level_rates(none).empty
