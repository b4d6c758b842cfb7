import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.fitting import held_out
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.fitting.holdout import Judging
from alignset.model.folder import save_model
from alignset.tables.columns import choose_columns

QUICK = Settings(folds=3, n_boot=50, n_jobs=1)


def table(n=600, reviewed=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "person": rng.integers(0, n // 2, n)})
    true = np.where(frame["x"] + rng.normal(size=n) > 0, "yes", "no")
    frame["sex"], frame["site"] = rng.choice(["f", "m"], n), rng.choice(list("abcde"), n)
    frame["day"] = pd.Series(np.datetime64("2023-01-01") + rng.integers(0, 730, n)).astype(str)
    frame["told"] = np.where(rng.random(n) < 0.2, np.where(true == "yes", "no", "yes"), true)
    frame["reviewed"] = pd.Series(true).where(np.arange(n) < reviewed)
    return frame


def fit(frame, **judging):
    choice = choose_columns(
        frame, label="told", truth="reviewed", groups=["sex"], id="person", ignore=["site"]
    )
    return fit_table(
        frame, choice, method="observed_linear", settings=QUICK, judging=Judging(**judging)
    )


@pytest.fixture
def trained(monkeypatch):
    """Record which rows every model of a comparison was trained on."""
    seen = []

    def record(clf, X, targets, rows=None, **options):
        seen.append(np.ones(len(targets.group), bool) if rows is None else rows)
        return original(clf, X, targets, rows, **options)

    original = held_out.fit_estimator
    monkeypatch.setattr(held_out, "fit_estimator", record)
    return seen


def test_whole_sites_are_held_out_and_none_of_their_people_trained_on(trained):
    frame = table()
    fitted = fit(frame, holdout_by="site")
    assert len(trained) == 3
    sites = [set(frame["site"][rows]) for rows in trained]
    assert all(len(each) < 5 for each in sites)
    for rows, own in zip(trained, sites, strict=True):
        judged = ~frame["site"].isin(own)
        assert not set(frame["person"][rows]) & set(frame["person"][judged])
    assert len(fitted.model.evaluation) == 200  # every review judges once
    assert fitted.model.manifest["held_out"] == "whole values of 'site', 5 in 3 parts"
    assert any("held out together: whole values of 'site'" in note for note in fitted.notes)


@pytest.mark.parametrize("asked", ["2024-07-01", "day=2024-07-01"])
def test_what_came_after_a_day_is_judged_by_models_trained_on_the_rest(trained, asked):
    frame = table()
    fitted = fit(frame, holdout_after=asked)
    (rows,) = trained
    after = frame["day"] > "2024-07-01"
    assert not rows[after].any()
    assert not set(frame["person"][rows]) & set(frame["person"][after])
    kept = fitted.model.evaluation
    assert len(kept) == (after & frame["reviewed"].notna()).sum()
    assert kept.weight.sum() == pytest.approx(after.sum())  # they stand for the later rows
    assert len(kept.unreviewed.group) + len(kept) == after.sum()


def test_models_are_judged_by_other_groups_than_they_were_trained_with():
    fitted = fit(table(), by=("site",))
    assert fitted.model.evaluation.groups == tuple("abcde")
    assert fitted.model.groups.tolist() == ["f", "m"]
    assert set(fitted.model.manifest["noise_rates"]) == {"f", "m"}


def test_rows_without_a_group_to_judge_by_are_one_if_it_has_a_name():
    frame = table()
    frame.loc[frame.index % 10 == 0, "site"] = None
    with pytest.raises(ValueError, match="a group of their own"):
        fit(frame, by=("site",))
    fitted = fit(frame, by=("site",), missing_group="unknown")
    assert set(fitted.model.evaluation.groups) == {*"abcde", "unknown"}
    # a feature keeps its gaps: what predicts a later table does not know the name
    assert fitted.model.preprocessing == fit(frame, by=("sex",)).model.preprocessing


@pytest.mark.parametrize(
    ("judging", "said"),
    [
        ({"holdout_by": "ward"}, "ward"),
        ({"holdout_after": "yesterday"}, "takes a day such as 2024-01-31, got 'yesterday'"),
        ({"holdout_after": "x=2024-01-01"}, "'x' holds no dates"),
        ({"holdout_after": "2030-01-01"}, "no row of column 'day' is after 2030-01-01"),
        ({"holdout_after": "2020-01-01"}, "every row of column 'day' is after 2020-01-01"),
        ({"holdout_after": "2024-01-01", "holdout_by": "site"}, "pass one of"),
    ],
)
def test_a_holdout_that_cannot_be_is_refused(judging, said):
    with pytest.raises(ValueError, match=said):
        fit(table(), **judging)


def test_a_site_without_a_name_or_the_only_one_with_reviews_is_refused():
    frame = table()
    frame.loc[3, "site"] = None
    with pytest.raises(ValueError, match="'site' is empty in 1 rows"):
        fit(frame, holdout_by="site")
    frame = table()
    frame["reviewed"] = frame["reviewed"].where(frame["site"] == "a")
    with pytest.raises(ValueError, match="reviewed rows in 1 of 5 values"):
        fit(frame, holdout_by="site")


def test_thresholds_by_group_are_refused_if_predictions_do_not_know_the_groups(tmp_path, capsys):
    save_model(fit(table(), by=("site",)).model, tmp_path / "m")
    words = ["threshold", str(tmp_path / "m"), "--target", "tpr=0.8"]
    assert main([*words, "--per-group"]) == 1
    assert "--judge-by" in capsys.readouterr().err
    assert main(words) == 0


@pytest.mark.parametrize("name", ["nobody", "", "*"])
def test_a_column_to_judge_by_that_is_not_there_is_named(name):
    with pytest.raises(ValueError, match="the table has no column"):
        fit(table(60, 40), by=(name,))
