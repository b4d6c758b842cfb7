import re

import numpy as np
import pandas as pd
import pytest

from alignset.evaluate.proportion import clopper_pearson, wilson
from alignset.review import audit as module
from alignset.review.audit import audit
from alignset.review.join import join
from alignset.review.measured import measure_review, noise_rates_from
from alignset.review.sample import sample
from alignset.review.sheet import Reviews
from alignset.tables.columns import Columns


class Numbers:
    def transform(self, frame):
        return frame[["age"]].to_numpy(float)


class Doubter:
    """Doubts labels of the old: an auditor without a network."""

    classes = np.array(["no", "yes"])
    columns = Columns("obs", ("age",), truth="reviewed", groups=("sex",), id="pid")
    preprocessing = Numbers()

    def label_confidence(self, frame, y):
        assert set(y) <= {"no", "yes"}
        return 1 / (1 + np.exp((frame["age"].to_numpy() - 65) / 10))

    def predict_proba(self, frame):
        p = np.where(frame["obs"] == "yes", 0.8, 0.2)
        return np.stack([1 - p, p], axis=1)


class Turned(Doubter):
    """The same, of classes whose names are in the other order."""

    classes = np.array(["one", "zero"])

    def label_confidence(self, frame, y):
        return 1 / (1 + np.exp((frame["age"].to_numpy() - 65) / 10))


def made_table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "pid": rng.permutation(n) + 1000,
            "sex": rng.choice(["f", "m"], n, p=[0.6, 0.4]),
            "age": rng.integers(20, 90, n),
        }
    )
    table["true"] = np.where(rng.random(n) < 0.3, "yes", "no")
    flip = rng.random(n) < 1 / (1 + np.exp((65 - table["age"]) / 10))
    other = np.where(table["true"] == "yes", "no", "yes")
    table["obs"] = np.where(flip, other, table["true"])
    return table


def reviewed(table, n=150, answered=1.0, **options):
    """The table with a sheet drawn from it, filled in by its true labels."""
    options = {"label": "obs", "group": "sex", "id": "pid", "random_state": 0} | options
    return filled(table, sample(table, n=n, **options), answered)


def filled(table, sheet, answered=1.0):
    true = table.set_index("pid")["true"]
    rows = sheet.frame().rename(columns={"pid": "id"})
    rows["reviewed"] = [
        true[key] if i < answered * len(rows) else None for i, key in enumerate(rows["id"])
    ]
    rows["id"] = rows["id"].astype(str)
    return join(table, Reviews("pid", rows), label="obs").frame()


@pytest.fixture(scope="module")
def table():
    return made_table()


def look(table, **options):
    return audit(Doubter(), table, **{"random_state": 0} | options)


def test_every_row_is_ranked_the_most_doubtful_first(table):
    found = look(reviewed(table))
    rows = found.frame()
    assert len(rows) == len(table)
    assert rows["confidence"].is_monotonic_increasing
    assert rows.columns.tolist() == [
        "pid", "group", "observed", "confidence", "predicted", "reviewed",
    ]  # fmt: skip
    by_id = table.set_index("pid").loc[rows["pid"]]
    assert rows["observed"].tolist() == by_id["obs"].tolist()
    assert rows["group"].tolist() == by_id["sex"].tolist()
    assert rows["predicted"].tolist() == by_id["obs"].tolist()
    ages = by_id["age"].to_numpy()
    assert (np.diff(ages) <= 0).all()


def test_noise_rates_cover_the_truth_and_stand_beside_the_models(table):
    found = look(reviewed(table))
    wrong = (table["obs"] != table["true"]).groupby(table["sex"]).mean()
    for rate in found.rates:
        assert rate.low <= wrong[rate.group] <= rate.high
        assert rate.weighted
    frame = found.rate_frame().set_index("group")
    confidence = Doubter().label_confidence(table, table["obs"])
    expected = (1 - confidence[table["sex"] == "f"]).mean()
    assert frame["model_rate"]["f"] == pytest.approx(expected)
    assert {"told_apart_auroc", "low", "high", "effective_size"} <= set(frame.columns)


def test_a_random_sheet_is_green_and_a_picked_one_is_red(table):
    assert look(reviewed(table)).verdict.colour == "green"
    picked = table.assign(reviewed=table["true"].where(table["age"] > 60))
    found = look(picked)
    assert found.verdict.colour == "red"
    assert "can be told from the others" in found.verdict.reasons[0].text
    assert all(not rate.weighted for rate in found.rates)


def test_a_sheet_of_which_the_hard_cases_were_skipped_is_noticed(table):
    drawn = reviewed(table, n=300)
    skipped = drawn.assign(reviewed=drawn["reviewed"].where(drawn["age"] < 60))
    texts = " ".join(reason.text for reason in look(skipped).verdict.reasons)
    assert "even after weighting" in texts
    assert "have no answer" in texts


def test_no_reviewed_row_still_ranks(table):
    for nothing in (table, table.assign(reviewed=None)):
        found = look(nothing)
        assert len(found.frame()) == len(table)
        assert found.frame()["reviewed"].isna().all()
        assert np.isnan([rate.rate for rate in found.rates]).all()
        assert found.verdict.colour == "red"
        assert found.verdict.action == "draw a review sheet with `alignset sample`."


def test_all_rows_reviewed_is_certain_and_leaves_nothing_to_propose(table):
    full = table.assign(reviewed=table["true"])
    found = look(full)
    assert all(rate.low == rate.rate == rate.high for rate in found.rates)
    assert found.verdict.colour == "green"
    said = "all 600 rows are reviewed; there is nothing left to draw."
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        look(full, next_rows=5)


def test_empty_cells_are_listed(table):
    hidden = (table["sex"] == "m") & (table["obs"] == "yes")
    found = look(table.assign(reviewed=table["true"].where(~hidden & (table["pid"] % 3 == 0))))
    (cell,) = found.empty
    assert (cell.group, cell.label, cell.rows) == ("m", "yes", hidden.sum())


def test_a_group_of_one_row_is_no_error(table):
    odd = table.copy()
    odd.loc[0, "sex"] = "x"
    found = look(reviewed(odd))
    one = next(rate for rate in found.rates if rate.group == "x")
    assert (one.rows, one.reviewed) == (1, 1)
    assert np.isnan(next(test for test in found.tests if test.group == "x").auroc)


def test_proposals_prefer_doubt_and_leave_nobody_without_a_chance(table):
    before = reviewed(table)
    sheet = look(before, next_rows=60, show=["age"]).next
    rows = sheet.frame()
    assert len(rows) == 60
    assert rows.columns.tolist() == ["pid", "stratum", "wave", "probability", "age", "reviewed"]
    assert (rows["wave"] == 2).all()
    known = before.set_index("pid")["reviewed"].notna()
    assert not known[rows["pid"]].any()
    n_open = (~known).sum()
    assert (rows["probability"] >= 0.25 * 60 / n_open - 1e-12).all()
    doubted = rows["age"].between(55, 75).mean()
    assert doubted > table["age"].between(55, 75).mean() + 0.05


def test_proposals_are_drawn_with_the_probability_they_carry():
    small = made_table(40, seed=2)
    counts = pd.Series(0.0, index=small["pid"])
    chance = pd.Series(np.nan, index=small["pid"])
    rng = np.random.default_rng(0)
    for _ in range(300):
        rows = look(small, next_rows=8, random_state=rng).next.frame()
        counts[rows["pid"]] += 1
        chance[rows["pid"]] = rows["probability"].to_numpy()
    assert chance.notna().all()
    assert chance.sum() == pytest.approx(8)
    z = (counts / 300 - chance) / np.sqrt(chance * (1 - chance) / 300)
    assert abs(z).max() < 4


def test_a_floor_of_one_is_a_random_sample(table):
    rows = look(table, next_rows=30, floor=1.0).next.frame()
    assert rows["probability"].to_numpy() == pytest.approx(30 / len(table))


def test_a_second_wave_sharpens_the_rates(table):
    first = reviewed(table, n=60)
    before = look(first, next_rows=120)
    second = filled(first, before.next)
    after = look(second)
    assert second["wave"].dropna().value_counts().to_dict() == {2: 120, 1: 60}
    wrong = (table["obs"] != table["true"]).groupby(table["sex"]).mean()
    for old, new in zip(before.rates, after.rates, strict=True):
        assert new.high - new.low < old.high - old.low
        assert new.low <= wrong[new.group] <= new.high


@pytest.mark.slow
def test_two_waves_of_an_audit_cover_the_truth(table):
    wrong = (table["obs"] != table["true"]).groupby(table["sex"]).mean()
    covered = []
    for seed in range(60):
        first = reviewed(table, n=60, random_state=seed)
        second = filled(first, look(first, next_rows=60, random_state=seed).next)
        rates = look(second, random_state=seed).rates
        covered += [rate.low <= wrong[rate.group] <= rate.high for rate in rates]
    assert np.mean(covered) >= 0.93


def test_a_model_that_contradicts_the_reviews_is_noted(table):
    assert look(reviewed(table)).notes == ()

    class Cynic(Doubter):
        def label_confidence(self, frame, y):
            return np.full(len(frame), 0.05)

    (note,) = audit(Cynic(), reviewed(table), random_state=0).notes
    assert note == (
        "the model's own noise rate is outside the interval (0.95 in group 'f', 0.95 in group "
        "'m'): its confidence ranks rows, but is not a probability"
    )
    unknown = look(table.assign(reviewed=table["true"].where(table["pid"] % 4 == 0))).notes
    assert unknown[0].startswith("selection probabilities are unknown")


def test_columns_can_be_named_anew(table):
    renamed = table.rename(columns={"obs": "told", "pid": "person"}).assign(obs=table["obs"])
    found = look(renamed, label="told", group=[], id="person", truth="true")
    assert [rate.group for rate in found.rates] == ["all"]
    assert found.frame().columns[0] == "person"
    assert found.rates[0].reviewed == len(table)


def test_the_same_seed_gives_the_same_audit(table):
    first, second = (look(reviewed(table), next_rows=20) for _ in range(2))
    assert first.tests == second.tests
    pd.testing.assert_frame_equal(first.next.frame(), second.next.frame())
    pd.testing.assert_frame_equal(first.frame(), second.frame())


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (
            {},
            {"truth": "trueth"},
            "the table has no column 'trueth'; did you mean 'true'? it has pid, sex, "
            "age, true, obs.",
        ),
        ({}, {"label": "told"}, "the table has no column 'told'; it has pid, sex, age, true, obs."),
        (
            {},
            {"group": ["race"]},
            "the table has no column 'race'; it has pid, sex, age, true, obs.",
        ),
        (
            {"reviewed": "maybe"},
            {},
            "column 'reviewed' holds 'maybe' in data row 1, which is not a known label; known "
            "labels are 'no', 'yes', and rows that were not reviewed are left empty.",
        ),
        (
            {"obs": "no"},
            {},
            "column 'obs' has one class, 'no', in all 600 rows; a label needs at least two.",
        ),
        ({}, {"next_rows": 601}, "next must be from 1 to 600 (the open rows), got 601."),
        (
            {},
            {"next_rows": 5, "floor": 25},
            "floor must lie in (0, 1], got 25; write 0.25 for 25 %.",
        ),
        (
            {},
            {"next_rows": 5, "show": ["bmi"]},
            "the table has no column 'bmi'; it has pid, sex, age, true, obs.",
        ),
        (
            {"probability": 20.0},
            {},
            "column 'probability' must hold selection probabilities in (0, 1], and be "
            "empty in rows that were not on a sheet; rename it if it is something else.",
        ),
    ],
)
def test_bad_input_is_refused(table, change, options, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        look(table.assign(**change), **options)


def scored(table, n=250):
    """A reviewed table with two scores of the probability of a true yes."""
    rng, yes = np.random.default_rng(5), (table["true"] == "yes").to_numpy()
    good = 1 / (1 + np.exp(1.0 - 2.4 * yes - rng.normal(size=len(table))))
    table = table.assign(risk=good, noise=rng.random(len(table)))
    return reviewed(table, n=n)


@pytest.fixture(scope="module")
def clean():
    """Many rows, of whose labels few are wrong."""
    table = made_table(3000, seed=3)
    keep = np.random.default_rng(0).random(3000) < 0.8
    return scored(table.assign(obs=table["obs"].where(~keep, table["true"])))


def test_prevalence_and_its_difference_are_told_without_a_score(table):
    found = look(reviewed(table)).measured
    assert [one.metric for one in found.estimates] == ["wrong", "prevalence of 'yes'"]
    assert list(found.estimates[1].by_group) == ["f", "m"]
    assert [one.metric for one in found.between_groups] == [
        "wrong, m minus f", "prevalence of 'yes', m minus f",
    ]  # fmt: skip
    assert found.between_scores == ()


def test_prevalence_is_that_of_the_rarest_class_whatever_it_is_called(clean):
    """The same table, with the classes' names in the other order of the alphabet."""
    turned = {"no": "zero", "yes": "one"}
    other = clean.assign(**{name: clean[name].map(turned) for name in ("obs", "reviewed")})
    both = [
        audit(model, rows, random_state=0).measured
        for model, rows in ((Doubter(), clean), (Turned(), other))
    ]
    found, same = (one.estimates[1] for one in both)
    assert (found.metric, same.metric) == ("prevalence of 'yes'", "prevalence of 'one'")
    for name in ("estimate", "low", "high"):
        assert getattr(same, name) == pytest.approx(getattr(found, name), abs=2e-3)
    assert found.estimate < 0.5
    assert found.low <= (clean["true"] == "yes").mean() <= found.high
    gaps = [one.between_groups[1] for one in both]
    assert gaps[1].estimate == pytest.approx(gaps[0].estimate, abs=2e-3)
    assert gaps[1].low < gaps[1].estimate < gaps[1].high


def test_a_score_is_judged_and_observed_labels_make_it_more_precise(clean):
    found = look(clean, score="risk", threshold=0.5).measured
    by_name = {one.metric: one for one in found.estimates}
    assert list(by_name) == ["wrong", "prevalence of 'yes'", "auroc", "tpr", "fpr", "ppv", "npv"]
    yes = clean["true"] == "yes"
    tpr = by_name["tpr"]
    assert tpr.low <= (clean["risk"][yes] >= 0.5).mean() <= tpr.high
    alone = tpr.reviewed_only
    assert tpr.high - tpr.low < 0.8 * (alone[2] - alone[1])
    assert tpr.reviewed == 250
    assert tpr.worth > 1.5 * 250
    frame = found.frame()
    assert frame["measure"].tolist().count("tpr") == 3
    assert "tpr, m minus f" in set(frame["measure"])


def test_two_scores_are_compared_on_the_same_rows(clean):
    found = look(clean, score="noise", score_b="risk").measured
    (paired,) = found.between_scores
    assert paired.metric == "auroc, second score minus first"
    assert paired.low > 0.1
    assert paired in found.clear


def test_the_models_own_score_is_judged_only_for_rows_new_to_it(clean):
    found = look(clean, new_rows=True, threshold=0.5).measured
    tpr = next(one for one in found.estimates if one.metric == "tpr")
    told = clean["obs"] == "yes"  # the doubter flags what was observed
    assert tpr.low <= told[clean["true"] == "yes"].mean() <= tpr.high
    said = "threshold needs a score to judge: a column, or the model's own for rows that it was"
    with pytest.raises(ValueError, match=f"^{said}"):
        look(clean, threshold=0.5)
    with pytest.raises(ValueError, match=r"^score is a column, new_rows asks for the model's own"):
        look(clean, score="risk", new_rows=True)


def test_reviewed_rows_alone_can_be_asked_for(clean):
    alone = look(clean, rule=clopper_pearson).rates
    ours = look(clean).rates
    assert all(rate.worth == rate.reviewed for rate in alone)
    for a, b in zip(alone, ours, strict=True):
        assert (a.rows, a.reviewed, a.wrong) == (b.rows, b.reviewed, b.wrong)
        assert b.high - b.low < a.high - a.low


def test_a_rate_does_not_depend_on_the_seed(clean):
    assert look(clean, random_state=1).rates == look(clean, random_state=2).rates


def test_noise_rates_cover_the_truth_in_nineteen_of_twenty_reviews():
    inside = []
    for seed in range(60):
        table = made_table(seed=20 + seed)
        rows = _seen_rows(reviewed(table, n=150, random_state=seed))
        wrong = (table["obs"] != table["true"]).groupby(table["sex"]).mean()
        inside += [rate.low <= wrong[rate.group] <= rate.high for rate in rows]
    assert 0.9 <= np.mean(inside) <= 0.99


def _seen_rows(table):
    seen = module._see(Doubter(), table, Doubter.columns)
    rows = seen.aim_rows(())
    found = measure_review(rows, seen.design)
    assert found.recovered
    return noise_rates_from(found.estimates[0], rows, seen.design)


@pytest.mark.parametrize("person", [None, "whose"])
def test_intervals_count_people_who_have_several_rows(person):
    table = made_table(n=150).drop(columns="pid")
    table["reviewed"] = np.where(np.arange(150) % 3 == 0, table["true"], None)
    three = table.loc[np.repeat(table.index, 3)].reset_index(drop=True)
    whose = np.repeat(np.arange(150), 3)
    if person is None:  # the id that the model knows turns out to be of people
        model, three = Doubter(), three.assign(pid=whose)
    else:
        model = Doubter()
        model.columns = Columns("obs", ("age",), "reviewed", ("sex",), id="pid", person=person)
        three = three.assign(pid=np.arange(450), whose=whose)
    rows = [audit(Doubter(), table.assign(pid=np.arange(150)), random_state=0)]
    rows += [audit(model, three, random_state=0)]
    rows += [audit(Doubter(), three.assign(pid=np.arange(450)), random_state=0)]
    once, thrice, alone = (found.rates[0].high - found.rates[0].low for found in rows)
    assert thrice == pytest.approx(once, rel=0.15)
    assert alone < 0.75 * once
    ranked = rows[1].ranked
    assert ranked.columns[0] == ("row" if person is None else "pid")
    whom = ranked["pid" if person is None else "whose"].to_numpy()
    assert (whom == ranked.iloc[:, 0].to_numpy() // 3).all()


def test_rows_of_nobody_are_each_of_a_person_of_their_own():
    table = made_table(n=60)
    table["reviewed"] = table["true"].where(table.index % 3 == 0)
    table["pid"] = np.where(np.arange(60) < 2, None, np.arange(60) // 2)
    said = "column 'pid' is empty in 2 rows; each was taken as of a person of its own"
    assert audit(Doubter(), table, random_state=0).notes[0] == said


@pytest.mark.parametrize("rule", [wilson, clopper_pearson])
def test_an_interval_that_is_asked_for_counts_people_too(rule):
    table = made_table(n=200).assign(pid=np.arange(200))
    table["reviewed"] = np.where(np.arange(200) % 2 == 0, table["true"], None)
    four = table.loc[np.repeat(table.index, 4)].reset_index(drop=True)
    once, often = (audit(Doubter(), t, rule=rule, random_state=0).rates for t in (table, four))
    for one, more in zip(once, often, strict=True):
        assert more.high - more.low == pytest.approx(one.high - one.low, rel=0.1)


def test_a_fair_review_of_people_is_told_apart_no_more_often_than_one_of_rows():
    found = []
    for seed in range(20):
        table = made_table(n=900, seed=seed)
        rng = np.random.default_rng(seed)
        table["pid"] = np.arange(900) // 6
        table["age"] = table["age"].to_numpy()[table["pid"]]  # alike in all rows of a person
        looked = np.isin(table["pid"], rng.permutation(150)[:60])
        table["reviewed"] = np.where(looked, table["true"], None)
        found += [test.low > 0.5 for test in audit(Doubter(), table, random_state=seed).tests]
    assert np.mean(found) < 0.08


def test_picked_labels_give_no_rate_and_a_red_verdict():
    table = made_table(n=600)
    wrong = np.flatnonzero(table["obs"] != table["true"])[:40]
    table["reviewed"] = table["true"].where(table.index.isin(wrong))
    found = audit(Doubter(), table, random_state=0)
    assert found.verdict.colour == "red"
    assert found.verdict.reasons[0].text.startswith("40 of 40 reviewed labels are wrong")
    assert all(np.isnan(rate.rate) and (rate.low, rate.high) == (0, 1) for rate in found.rates)
    assert not len(found.measured.frame())
    chance = np.where(table["reviewed"].notna(), 0.05, np.nan)
    drawn = audit(Doubter(), table.assign(probability=chance), random_state=0)
    assert drawn.rates[0].rate > 0.9
