"""What to do with a model: the rules, and that one place says it."""

from dataclasses import replace

import numpy as np
import pytest
from fitting.kept import kept
from fitting.test_fit import QUICK, fit, table

from alignset.estimator import NoisyLabelClassifier
from alignset.evaluate.result import Estimate
from alignset.fitting.advice import ModelEvidence, advise, gather_evidence, read_advice
from alignset.fitting.judge import ModelScore
from alignset.fitting.plain import PLAIN
from alignset.fitting.rivals import Rival, find_rivals
from alignset.review.verdict import Reason
from alignset.tables.files import plain


def about(estimate, half, metric="auroc", group="all"):
    return Estimate(metric, group, estimate, estimate - half, estimate + half, 900, 300, 400.0)


def good(**changes):
    """Evidence for a model that nothing speaks against."""
    told = {
        "n_rows": 300, "positive": "ill", "n_classes": 2, "auroc": about(0.85, 0.03),
        "gap": about(0.01, 0.02, "calibration"), "doubt": ModelScore(0.8, 0.7, 0.9, 300.0),
        "n_wrong": 40, "asked": "blend", "recommended": "blend", "left_out": (),
        "selective": False,
    }  # fmt: skip
    return ModelEvidence(**(told | changes))


def test_a_good_model_is_to_be_used_for_everything():
    found = advise(good())
    assert found.level == "use"
    assert found.conclusion == (
        "Use it to rank rows by their chance of 'ill', to give probabilities and to find wrong "
        "labels, because it is better than chance, its probabilities are less than 5 percentage "
        "points off on average, and no model compared is clearly better."
    )
    assert found.evidence.startswith(
        "On 300 reviewed rows that it was not trained on, worth 400 with the observed labels of "
        "others, it ranks a row that is 'ill' above one that is not in 85 % (95 % interval 82 to "
        "88 %) of pairs"
    )
    assert "held out: rows at random" in found.caveat
    assert "held out: 3 sites" in advise(good(), held_out="3 sites").caveat


@pytest.mark.parametrize(
    ("change", "level", "levels", "said"),
    [
        ({"recommended": "observed_linear"}, "no", "no no care", "Linear on observed labels does"),
        ({"auroc": about(0.55, 0.06)}, "no", "no use use", "cannot be told from chance"),
        ({"gap": about(0.08, 0.02)}, "care", "use no use", "8.0 percentage points too high"),
        ({"gap": about(0.03, 0.02)}, "use", "use use use", "better than chance"),
        ({"gap": about(0.08, 0.09)}, "use", "use use use", "better than chance"),
        ({"n_rows": 60}, "care", "care care care", "only 60 reviewed rows could judge it"),
        ({"left_out": ("f",)}, "care", "care care care", "say anything about 'f'"),
        ({"selective": True}, "care", "care care care", "reviewed more often than others"),
        ({"n_wrong": 4}, "care", "use use care", "only 4 are wrong"),
        ({"n_wrong": 0, "doubt": None}, "care", "use use care", "no reviewed label is wrong"),
        ({"doubt": ModelScore(0.5, 0.4, 0.6, 9.0)}, "care", "use use no", "its doubt does not"),
    ],
)  # fmt: skip
def test_what_speaks_against_a_model_is_weighed_and_named(change, level, levels, said):
    found = advise(good(**change))
    assert (found.level, [p.level for p in found.purposes]) == (level, levels.split())
    assert said in found.conclusion
    heads = {"use": "Use it to", "care": "Use it with care", "no": "Do not use it"}
    assert found.conclusion.startswith(heads[level])
    assert found.conclusion.count(".") == 1 + found.conclusion.count("0.") + said.count("8.0")


@pytest.mark.parametrize(
    ("gap", "said", "told"),
    [
        (about(-0.034, 0.03), "less than 5 percentage points off", "3.4 percentage points too low"),
        (about(0.08, 0.09), "not clearly off", "8.0 percentage points too high, which may be"),
    ],
)
def test_what_is_said_of_the_mean_of_probabilities_agrees_with_the_evidence(gap, said, told):
    found = advise(good(gap=gap))
    assert found.level == "use"
    assert f"its probabilities are {said} on average" in found.conclusion
    assert told in found.evidence
    assert "right on average" not in found.conclusion


OWN = {"log_loss": 0.585, "auroc": 0.664, "aueoc": 0.9, "found": 0.017}


def rival(measure, name="reviewed_trees", **theirs):
    return Rival(measure, name, OWN, {**OWN, **theirs})


@pytest.mark.parametrize(
    ("rivals", "said"),
    [
        (
            [rival("found", found=0.233)],
            "At a probability of 0.5 it finds 0.017 of the rows that are 'ill' and Trees on "
            "reviewed labels 0.233; what is found depends on the threshold, so choose a threshold "
            "with `alignset threshold MODEL --target tpr=0.8`.",
        ),
        (
            [rival("aueoc", aueoc=0.97, log_loss=0.6)],
            "Trees on reviewed labels is clearly more even between groups (AUEOC 0.970 against "
            "0.900; log loss 0.600 against 0.585, AUROC 0.664 against 0.664): fit it with --method "
            "reviewed_trees if that matters more.",
        ),
        (
            [rival("log_loss", log_loss=0.582)],
            "Trees on reviewed labels is slightly ahead (log loss 0.582 against 0.585), by less "
            "than 0.005: no reason to change.",
        ),
        (
            [rival("auroc", auroc=0.68, log_loss=0.7)],
            "Trees on reviewed labels is ahead (AUROC 0.680 against 0.664).",
        ),
    ],
)
def test_what_another_model_does_better_is_a_sentence_of_its_own_and_no_verdict(rivals, said):
    found, plain_ = advise(good(rivals=tuple(rivals))), advise(good())
    assert (found.level, found.purposes) == (plain_.level, plain_.purposes)
    assert found.conclusion.endswith(f". {said}")


def test_a_model_of_many_classes_has_no_threshold_to_choose():
    found = advise(good(rivals=(rival("found", found=0.2),), n_classes=3))
    assert "alignset threshold" not in found.conclusion
    assert "with a lower threshold" in found.conclusion


def test_the_model_to_use_instead_is_not_called_slightly_ahead_as_well():
    found = advise(good(rivals=(rival("log_loss", log_loss=0.5),), recommended="reviewed_trees"))
    assert "is ahead" not in found.conclusion


def test_rivals_are_measured_on_the_held_out_rows():
    """One model ranks as the other, but gives probabilities that hardly ever reach one half."""
    base = kept(n=600)
    good_, rare = base.scores["alignment"][:, 1], np.arange(600) % 3 == 0
    true = np.where(rare, base.true, 0)
    low = 0.49 * good_
    scores = {"alignment": np.stack([1 - low, low], 1), "standard": base.scores["alignment"]}
    made = replace(base, true=true, observed=true, scores=scores)
    options = {"threshold": 0.5, "n_boot": 40, "random_state": 0}
    found = {one.measure: one for one in find_rivals(made, **options)}
    assert found["found"].name == "standard"
    assert found["found"].own["found"] == 0.0
    other = find_rivals(replace(made, asked="standard"), **options)
    assert "found" not in {one.measure for one in other}
    told = gather_evidence(made, "alignment", n_boot=40)
    assert "found" in {one.measure for one in told.rivals}
    decided = gather_evidence(made, "alignment", n_boot=40, decided=True)
    assert "found" not in {one.measure for one in decided.rivals}


def test_a_model_that_is_clearly_more_even_is_found():
    base = kept(n=1200, noise=(0.1, 0.1))
    fair = base.scores["alignment"]
    tilt = np.where(base.group[:, None] == 1, fair ** [3.0, 0.3], fair ** [0.3, 3.0])
    uneven = tilt / tilt.sum(1, keepdims=True)
    made = replace(base, scores={"alignment": uneven, "standard": fair})
    found = {one.measure: one for one in find_rivals(
        made, threshold=0.5, n_boot=40, random_state=0
    )}  # fmt: skip
    assert found["aueoc"].name == "standard"
    alone = replace(made, groups=("all",), group=np.zeros_like(made.group))
    told = find_rivals(alone, threshold=0.5, n_boot=40, random_state=0)
    assert "aueoc" not in {one.measure for one in told}


def test_a_group_that_is_ranked_worse_is_named():
    parts = {"f": about(0.6, 0.15, group="f"), "m": about(0.7, 0.05, group="m")}
    found = advise(good(auroc=about(0.85, 0.03).with_groups(parts)))
    assert (found.level, found.level_of("rank"), found.level_of("labels")) == (
        "care",
        "care",
        "use",
    )
    assert "it ranks rows of 'f' clearly worse (AUROC 0.60, 0.45 to 0.75)" in found.conclusion
    assert "ranks rows of 'm' clearly worse" in found.caveat[:1].lower() + found.caveat[1:]
    wide = {"f": about(0.6, 0.3, group="f")}
    found = advise(good(auroc=about(0.85, 0.03).with_groups(wide)))
    assert "within 'f' its order cannot be told from chance" in found.conclusion


def test_a_red_review_asks_for_care_and_an_amber_one_does_not():
    red = Reason("red", "reviewed rows of group 'f' can be told from the others", "review more.")
    found = advise(good(), review=[red])
    assert found.level == "care"
    assert red.text in found.conclusion
    assert advise(good(), review=[replace(red, colour="amber")]).level == "use"


def test_without_a_comparison_it_is_not_to_be_used_yet():
    found = advise(None, why_not="only 5 rows are reviewed, too few.")
    assert found.level == found.level_of("rank") == "no"
    assert found.conclusion.startswith("Do not use it yet")


def test_it_survives_a_folder():
    found = advise(good(n_rows=60))
    assert read_advice(plain(found)) == found


def test_evidence_is_that_of_the_model_in_the_folder():
    found = gather_evidence(kept(), "alignment", ["x"], n_boot=40)
    assert (found.n_rows, found.left_out, found.n_wrong) == (240, ("x",), int(kept().wrong.sum()))
    assert found.auroc.estimate > 0.9
    assert set(found.auroc.by_group) == {"f", "m"}
    other = gather_evidence(replace(kept(), asked="standard"), "alignment", n_boot=40)
    assert abs(other.auroc.estimate - 0.5) < 0.1
    assert advise(other).level == "no"
    said = 1 - kept().scores["alignment"][np.arange(240), kept().observed]
    assert (said[kept().wrong].mean() > said[~kept().wrong].mean()) == (found.doubt.estimate > 0.5)


def test_auto_fits_what_is_recommended_and_says_the_same_everywhere():
    fitted = fit(table(), method="auto", settings=QUICK)
    about_model, found = fitted.model.manifest, fitted.comparison
    assert about_model["asked"] == "auto"
    assert about_model["method"] == found.asked == found.recommended
    assert fitted.model.evaluation.asked == found.recommended
    assert found.base == "blend"
    assert found.sentence.startswith("Keep ")
    assert about_model["comparison"]["sentence"] == found.sentence
    assert about_model["advice"]["conclusion"] == fitted.advice.conclusion


def test_a_blend_is_fitted_once_and_judged_by_what_it_said_of_rows_it_did_not_see(monkeypatch):
    fitted_to, original = [], NoisyLabelClassifier.fit_encoded

    def watched(self, X, *codes, **options):
        fitted_to.append(len(X))
        return original(self, X, *codes, **options)

    monkeypatch.setattr(NoisyLabelClassifier, "fit_encoded", watched)
    fitted = fit(table(), method="blend", settings=QUICK)
    assert fitted_to == [240]
    assert set(fitted.comparison.scores) == {"blend", *PLAIN}
    assert fitted.comparison.n_rows == 90
    assert fitted.comparison.n_others == 150
    assert fitted.model.evaluation.scores["blend"].shape == (90, 2)


def test_auto_fits_a_plain_model_where_that_is_recommended(monkeypatch):
    monkeypatch.setattr("alignset.fitting.compare.choose", lambda *_: "both_linear")
    frame = table()
    chosen, asked = (fit(frame, method=name, settings=QUICK) for name in ("auto", "both_linear"))
    assert chosen.model.manifest["method"] == chosen.model.evaluation.asked == "both_linear"
    assert chosen.comparison.sentence.startswith("Keep Linear on both labels: the 90 held-out")
    assert "does better on the same rows" not in chosen.advice.conclusion + chosen.advice.caveat
    # what was judged is what is kept: plain models are held out without recalibration
    assert chosen.model.recalibration is None
    np.testing.assert_array_equal(
        chosen.model.predict_proba(frame),
        replace(asked.model, recalibration=None).predict_proba(frame),
    )
    assert not any("recalibrated" in note for note in chosen.notes)
