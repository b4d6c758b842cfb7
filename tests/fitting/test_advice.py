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
        "labels, because it is better than chance, right on average, and no model compared is "
        "clearly better."
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
    assert chosen.comparison.sentence.startswith("Keep Linear on both labels: on 90 held-out")
    assert "does better on the same rows" not in chosen.advice.conclusion + chosen.advice.caveat
    # what was judged is what is kept: plain models are held out without recalibration
    assert chosen.model.recalibration is None
    np.testing.assert_array_equal(
        chosen.model.predict_proba(frame),
        replace(asked.model, recalibration=None).predict_proba(frame),
    )
    assert not any("recalibrated" in note for note in chosen.notes)
