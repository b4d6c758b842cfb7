import inspect
import json

import numpy as np
import pandas as pd
import pytest

from alignset.estimator.resolve import resolve
from alignset.fitting import held_out
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings, deal_rows, score_held_out
from alignset.fitting.plain import PLAIN
from alignset.learners import Blend
from alignset.model.folder import load_model, save_model
from alignset.rows.folds import assign_folds
from alignset.tables.columns import choose_columns
from alignset.tables.targets import read_targets

QUICK = Settings(n_configs=1, max_epochs=3, hidden=4, folds=2, n_boot=50, n_jobs=1)


def table(n=240, reviewed=90, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    true = np.where(x + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    wrong = rng.random(n) < 0.2
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=n)})
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["site"] = rng.choice(["a", "b"], n)
    frame["told"] = np.where(wrong, np.where(true == "yes", "no", "yes"), true)
    frame["reviewed"] = pd.Series(true).where(np.arange(n) < reviewed)
    return frame


def chosen(frame, **options):
    options = {"label": "told", "truth": "reviewed", "groups": ["sex"]} | options
    return choose_columns(frame, **options)


def fit(frame, method="alignment", settings=QUICK, **options):
    return fit_table(frame, chosen(frame, **options), method=method, settings=settings)


def refused(frame, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fit(frame, **options)
    return str(caught.value)


def test_a_table_becomes_a_model_that_is_saved_and_loaded(tmp_path):
    frame, steps = table(), []
    fitted = fit_table(
        frame,
        chosen(frame, groups=["sex", "site"]),
        method="joint",
        settings=QUICK,
        about={"data": {"sha256": "x"}},
        advance=lambda *step: steps.append(step),
    )
    assert fitted.model.groups.tolist() == ["f & a", "f & b", "m & a", "m & b"]
    assert [s[1] for s in steps[:7]] == list(range(7))
    assert [s[1] for s in steps[6:]] == sorted(s[1] for s in steps[6:])
    assert [s[0] for s in steps[:4]] == [
        "part 1 of 2: fitting joint",
        "part 1 of 2: fitting plain linear models",
        "part 1 of 2: fitting plain trees",
        "part 2 of 2: fitting joint",
    ]
    assert steps[-1] == ("done", 7, 7)
    save_model(fitted.model, tmp_path / "m")
    model = load_model(tmp_path / "m")
    np.testing.assert_allclose(model.predict_proba(frame), fitted.model.predict_proba(frame))
    manifest = model.manifest
    assert manifest["data"] == {"sha256": "x"}
    assert manifest["rows"] == {"all": 240, "reviewed": 90}
    assert manifest["search"]["method"] == "joint"
    assert manifest["comparison"]["sentence"] == fitted.comparison.sentence
    assert list(manifest["comparison"]["scores"]) == ["joint", *PLAIN]
    assert "candidates" not in manifest
    rates = manifest["noise_rates"]
    assert sum(r["reviewed"] for r in rates.values()) == 90
    for rate in rates.values():
        assert 0 <= rate["modelled"] <= 1
        assert rate["low"] <= rate["rate"] <= rate["high"]
        assert rate["rate"] == pytest.approx(rate["wrong"] / rate["reviewed"], abs=0.05)
    json.dumps(manifest, allow_nan=False)


def test_a_blend_tells_its_candidates_and_what_they_mean():
    frame = table()
    fitted = fit(frame, method="Recalibrated")
    manifest = fitted.model.manifest
    told = [(row["labels"], row["learner"]) for row in manifest["candidates"]]
    assert told == [("recalibrated", "linear"), ("recalibrated", "trees"), ("blend", "all")]
    for row in manifest["candidates"]:
        assert row["weight"] >= 0
        assert 0 < row["log_loss"] < 2
        assert row["low"] <= row["auroc"] <= row["high"]
    assert manifest["explained"].count(". ") == 1
    assert "recalibrated linear" in manifest["explained"]
    assert manifest["method"] == fitted.comparison.asked == "recalibrated"
    assert list(manifest["comparison"]["scores"]) == ["recalibrated", *PLAIN]
    assert "search" not in manifest
    json.dumps(manifest, allow_nan=False)


def test_the_default_is_what_is_recommended_and_starts_from_the_blend():
    assert inspect.signature(fit_table).parameters["method"].default == "auto"
    assert isinstance(resolve(Settings().estimator("blend").method), Blend)


def test_a_plain_model_asked_for_is_not_its_own_opponent():
    fitted = fit(table(), method="both linear")
    assert fitted.comparison.asked == "both_linear"
    assert list(fitted.comparison.scores) == [
        "both_linear",
        *(n for n in PLAIN if n != "both_linear"),
    ]
    assert "both_linear" not in fitted.comparison.differences


def test_the_same_seed_gives_the_same_model():
    frame = table()
    one, two = fit(frame), fit(frame)
    np.testing.assert_array_equal(one.model.predict_proba(frame), two.model.predict_proba(frame))
    assert one.comparison == two.comparison


def test_nothing_is_scored_by_a_model_that_was_trained_on_it(monkeypatch):
    frame = table()
    frame["person"] = np.arange(240) // 2  # two rows each, the second of some not reviewed
    frame.loc[1:60:4, "reviewed"] = None
    choice = chosen(frame, id="person")
    targets = read_targets(frame, choice.columns)
    trained = []
    original = held_out.fit_preprocessing
    monkeypatch.setattr(
        held_out,
        "fit_preprocessing",
        lambda rows, kinds: (trained.append(set(rows.index)), original(rows, kinds))[1],
    )
    crossed = score_held_out(frame, targets, choice.kinds, "standard", QUICK, lambda what: None)
    fold = deal_rows(targets, QUICK.folds, QUICK.seed)
    assert (fold >= 0).all()
    for part, rows in enumerate(trained):
        held = frame.index[fold == part]
        assert abs(len(held) - 120) < 10
        assert not rows & set(held)
        assert not set(frame.loc[sorted(rows), "person"]) & set(frame.loc[held, "person"])
    assert list(crossed.scores) == ["standard", *PLAIN]
    for score in crossed.scores.values():
        assert np.isfinite(score).all()


def test_rows_nobody_reviewed_are_dealt_evenly_unless_hardly_any_are_left():
    frame = table()
    targets = read_targets(frame, chosen(frame).columns)
    fold = deal_rows(targets, 3, 0)
    reviewed = assign_folds(targets.strata, 3, 0, targets.unit)
    np.testing.assert_array_equal(fold[targets.reviewed], reviewed[targets.reviewed])
    for g in range(2):
        for k in range(2):
            rows = ~targets.reviewed & (targets.group == g) & (targets.labels.y_seen == k)
            counts = np.bincount(fold[rows], minlength=3)
            assert counts.max() - counts.min() <= 1
    few = table(reviewed=236)
    fold = deal_rows(read_targets(few, chosen(few).columns), 3, 0)
    assert (fold[236:] == -1).all()


def test_folds_are_even_in_every_group_and_class():
    frame = table()
    targets = read_targets(frame, chosen(frame).columns)
    fold = assign_folds(targets.strata, 3, 0, targets.unit)
    assert (fold[~targets.reviewed] == -1).all()
    for g in range(2):
        for k in range(2):
            rows = targets.reviewed & (targets.group == g) & (targets.labels.y_true == k)
            counts = np.bincount(fold[rows], minlength=3)
            assert counts.max() - counts.min() <= 1


def test_three_classes_are_compared_too():
    frame = table()
    frame["told"] = frame["told"].where(frame["z"] < 0.8, "maybe")
    frame["reviewed"] = frame["reviewed"].where(frame["z"] < 0.8, "maybe").where(frame.index < 90)
    fitted = fit(frame)
    assert fitted.model.predict_proba(frame).shape == (240, 3)
    assert fitted.comparison is not None


def test_small_groups_are_named_and_left_out_of_the_comparison():
    frame = table()
    frame.loc[0, "sex"] = "x"
    frame.loc[[1, 2, 3], "sex"] = "y"
    fitted = fit(frame)
    assert "group 'x' has one row; nothing can be said about it." in fitted.notes
    assert (
        "group 'y' has fewer than 5 reviewed rows of some class and was left out of the comparison."
    ) in fitted.notes
    assert fitted.comparison.groups_left_out == ("x", "y")
    assert fitted.comparison.n_rows == 86
    assert fitted.model.manifest["noise_rates"]["x"]["reviewed"] == 1


def test_groups_that_all_lack_a_class_are_compared_as_one():
    frame = table()
    frame["sex"] = np.where(frame["reviewed"] == "yes", "f", "m")
    fitted = fit(frame, allow_leak=["sex"])
    assert fitted.comparison.n_rows == 90
    assert fitted.comparison.groups_left_out == ("f", "m")
    assert fitted.notes == (
        "no group has 5 reviewed rows of every class, so models were compared on all rows as one "
        "group, and differences between groups were not judged.",
    )


def test_few_reviews_give_a_model_without_a_comparison():
    fitted = fit(table(reviewed=12))
    assert fitted.comparison is None
    assert fitted.model.manifest["comparison"] is None
    assert fitted.notes[0] == (
        "only 12 rows are reviewed, too few to compare models (at least 20); see `alignset plan`."
    )
    frame = table()
    frame["reviewed"] = frame["reviewed"].mask(frame["reviewed"] == "yes")
    frame.loc[0, "reviewed"] = "yes"
    assert (
        "only 1 reviewed rows have the true label 'yes', too few to compare models (at least 2); "
        "see `alignset plan`."
    ) in fit(frame).notes


def test_what_the_estimator_warns_of_becomes_a_note():
    frame = table()
    frame["reviewed"] = frame["told"].where(frame.index < 40)
    fitted = fit(frame, allow_leak=["told"])
    assert any(n.startswith("every reviewed label was right, so there is no error to learn from")
               for n in fitted.notes)  # fmt: skip
    assert fitted.model.manifest["search"]["method"] == "standard"


def test_reviews_drawn_with_unequal_probabilities_are_weighted():
    frame = table()
    chance = np.where(frame["told"] == "yes", 0.5, 0.1)
    frame["probability"] = np.where(frame["reviewed"].notna(), chance, np.nan)
    fitted = fit(frame, probability="probability", groups=[])
    (rate,) = fitted.model.manifest["noise_rates"].values()
    rows = frame["reviewed"].notna()
    wrong = (frame["told"] != frame["reviewed"])[rows]
    assert rate["rate"] == pytest.approx(np.average(wrong, weights=1 / chance[rows]))
    frame.loc[4, "probability"] = 0
    assert refused(frame, probability="probability") == (
        "column 'probability' holds 0.0 in data row 5; a reviewed row needs a "
        "selection probability in (0, 1]."
    )


def test_labels_that_cannot_be_learned_from_are_refused():
    frame = table()
    assert refused(frame.assign(told="no")) == (
        "column 'told' has one class, 'no', in all 240 rows; a label needs at least two."
    )
    assert refused(frame.assign(told=frame["told"].where(frame.index != 6))) == (
        "column 'told' is missing in 1 of 240 rows, first in data row 7; every row needs an "
        "observed label, so drop those rows, or pass --keep-na told if the words None or NA in it "
        "are labels."
    )
    assert refused(frame.assign(told=np.arange(240) // 2)) == (
        "column 'told' has 120 different values; a label can have at most 20 classes."
    )
    assert refused(frame.assign(told=frame["x"])).startswith("column 'told' holds ")


def test_a_truth_with_unknown_values_is_refused():
    frame = table()
    frame.loc[3, "reviewed"] = "cannot tell"
    assert refused(frame) == (
        "column 'reviewed' holds 'cannot tell' in data row 4, which is not a known label; known "
        "labels are 'no', 'yes', and rows that were not reviewed are left empty."
    )


def test_no_row_reviewed_and_every_row_reviewed_are_refused():
    frame = table()
    assert refused(frame.assign(reviewed=None)) == (
        "no row is reviewed: column 'reviewed' is empty; draw rows to review with `alignset "
        "sample`, and enter what the reviewers find in that column."
    )
    whole = table(reviewed=240)
    assert refused(whole) == (
        "all 240 rows are reviewed, so the observed labels add nothing; pass --method "
        "reviewed, or fit any classifier on the true labels."
    )
    assert refused(whole, method="both").startswith("all 240 rows are reviewed")
    for method in ("reviewed", "alignment_only"):
        assert fit(whole, method=method).comparison.asked == method


def test_groups_that_cannot_be_used_are_refused():
    frame = table()
    frame.loc[6, "sex"] = None
    assert refused(frame) == (
        "column 'sex' is missing in 1 of 240 rows, first in data row 7; give those rows a group "
        "of their own, such as 'unknown', or drop them."
    )
    frame = table()
    frame["age"] = np.arange(240) % 70
    assert refused(frame, groups=["age"]) == (
        "column 'age' holds 70 different numbers, too many to be groups; make ranges of them with "
        "--bin age=15,30,49, or pass --bin age=each if each number names a group, such as a site."
    )


def test_settings_are_checked():
    with pytest.raises(ValueError, match="folds must be at least 2, got 1"):
        Settings(folds=1)
    with pytest.raises(ValueError, match="no method 'alignmnt'; did you mean 'alignment'"):
        fit(table(), method="alignmnt")
    with pytest.raises(ValueError, match=r"threshold must lie in \(0, 1\), got 1"):
        Settings(threshold=1)
    with pytest.raises(ValueError, match="name the column of true labels with --truth"):
        fit(table(), truth=None, ignore=["reviewed"])


def test_a_column_that_is_empty_in_one_part_is_no_trouble():
    frame = table()
    frame["rare"] = np.nan
    frame.loc[200, "rare"] = 1.0
    frame["when"] = pd.Series(pd.NaT, index=frame.index).astype("datetime64[us]")
    frame.loc[3, "when"] = pd.Timestamp("2020-01-01")
    assert {"rare", "when"} <= set(fit(frame).model.columns.features)
