"""Which model is recommended, by what, and in which words."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from fitting.kept import kept
from fitting.test_fit import QUICK, chosen, fit, table
from sklearn.metrics import log_loss, recall_score, roc_auc_score

from alignset.fitting.compare import choose, compare, standings
from alignset.fitting.held_out import Settings
from alignset.fitting.judge import Judge, ModelScore
from alignset.fitting.plain import PLAIN
from alignset.fitting.tipping import tipping
from alignset.model.evaluation import Evaluation, keep_evaluation, small_groups
from alignset.tables.targets import read_targets

SETTINGS = Settings(n_boot=200)


def compared(targets, scores, settings=SETTINGS):
    """Compare made-up scores of a table; the first model is the one asked for."""
    small = small_groups(targets)
    kept = keep_evaluation(targets, scores, next(iter(scores)), small)
    return compare(kept, settings=settings, groups_left_out=small)


def made(*odds, n=400, weight=None):
    """An evaluation of models that give the true class these log-odds, a row at a time."""
    rng = np.random.default_rng(0)
    true, group = rng.integers(0, 2, n), np.arange(n) % 2
    scores = {}
    for name, own in zip(["blend", *PLAIN], odds, strict=False):
        p = 1 / (1 + np.exp(-np.asarray(own(rng, n)) * (2 * true - 1)))
        scores[name] = np.stack([1 - p, p], axis=1)
    weight = np.ones(n) if weight is None else weight
    return Evaluation(
        ("no", "yes"), ("f", "m"), group, true, true, weight, scores, "blend", weight.max() > 1
    )


def about(mean, spread=1.0):
    return lambda rng, n: mean + spread * rng.normal(size=n)


def told(found):
    return compare(found, settings=SETTINGS)


def test_a_plain_model_that_is_clearly_better_is_recommended():
    found = told(made(about(0.3), about(1.5), about(0.2)))
    assert found.recommended == "observed_linear"
    assert found.sentence.startswith(
        "Use Linear on observed labels instead (--method observed_linear): on 400 held-out "
        "reviewed rows Blend is behind it in log loss ("
    )
    assert " and in AUROC (0." in found.sentence
    assert ", difference -0." in found.sentence


def test_of_several_better_models_the_one_with_the_best_log_loss_is_recommended():
    found = told(made(about(0.1), about(1.0), about(1.5), about(0.6)))
    assert found.recommended == "reviewed_linear"


def test_a_method_that_wins_is_kept_and_the_best_opponent_is_named():
    found = told(made(about(1.5), about(0.3), about(0.6), about(0.0)))
    assert found.recommended == "blend"
    assert found.sentence.startswith(
        "Keep Blend: on 400 held-out reviewed rows it is ahead of Linear on reviewed labels, the "
        "plain model with the best log loss, in log loss ("
    )
    assert ") and in AUROC (0." in found.sentence
    assert ", difference +0." in found.sentence


def test_where_nothing_is_decided_the_method_is_kept_and_the_sentence_says_level():
    found = told(made(about(0.8), about(0.8), about(-0.5), n=4000))
    assert found.recommended == "blend"
    difference = found.differences["observed_linear"]["log_loss"]
    assert difference.low < 0 < difference.high
    assert "Keep Blend: on 4000 held-out reviewed rows it is level with Linear on" in found.sentence
    assert f", interval {difference.low:+.3f} to {difference.high:+.3f}) and in" in found.sentence


def test_rows_that_cannot_tell_do_not_make_two_models_level():
    found = told(made(about(0.8), about(0.6), n=30))
    wide = found.differences["observed_linear"]
    assert wide["log_loss"].low < -0.05
    assert wide["auroc"].high > 0.05
    assert "level with" not in found.sentence
    assert found.sentence.startswith(
        "Keep Blend: the 30 held-out reviewed rows cannot tell whether it is better than Linear on "
        "observed labels, the plain model with the best log loss, in log loss ("
    )
    assert "More reviewed rows would tell." in found.sentence


def gap(estimate, half, measure="auroc"):
    """Differences of the base from another model in one measure; in the other there is none."""
    none, one = ModelScore(0.0, -0.01, 0.01, 9.0), ModelScore(estimate, 0, 0, 9.0)
    one = replace(one, low=estimate - half, high=estimate + half)
    return {"log_loss": none, "auroc": none} | {measure: one}


@pytest.mark.parametrize(
    ("measure", "estimate", "half", "place", "chosen"),
    [
        ("log_loss", 0.003, 0.002, "slightly behind", "base"),
        ("log_loss", 0.006, 0.002, "behind", "other"),
        ("log_loss", -0.003, 0.002, "slightly ahead of", "base"),
        ("auroc", -0.004, 0.001, "slightly behind", "base"),
        ("auroc", -0.02, 0.01, "behind", "other"),
        ("auroc", -0.02, 0.03, "level with", "base"),
        ("auroc", -0.02, 0.04, "not known against", "base"),
        ("auroc", math.nan, 0.1, "not known against", "base"),
    ],
)
def test_a_trifle_beyond_chance_does_not_change_the_model(measure, estimate, half, place, chosen):
    found = gap(estimate, half, measure)
    assert standings(found)[measure] == place
    assert choose("base", {"other": found}, {"base": 1.0, "other": 0.9}) == chosen


def test_a_model_that_is_slightly_ahead_is_named_with_what_it_is_ahead_by():
    """Probabilities a little closer to the truth in every row: beyond chance, and a trifle."""
    base = made(about(1.5))
    p = base.scores["blend"]
    better = p + 0.003 * (base.true[:, None] == [0, 1]) - 0.003 * (base.true[:, None] != [0, 1])
    scores = {"blend": p, "both_linear": np.clip(better, 0, 1)}
    found = told(replace(base, scores=scores))
    assert found.differences["both_linear"]["log_loss"].low > 0
    assert found.recommended == "blend"
    assert "it is slightly behind Linear on both labels" in found.sentence


def test_the_more_models_are_compared_the_wider_the_intervals_of_differences():
    odds = [about(0.8), *[about(0.75)] * 6]
    every = told(made(*odds))
    assert len(every.differences) == 6
    assert every.level == pytest.approx(1 - 0.05 / 6)
    assert "Intervals are 95 % for all 6 comparisons together." in every.sentence
    two = {name: made(*odds).scores[name] for name in ("blend", "observed_linear")}
    alone = told(replace(made(*odds), scores=two))
    assert alone.level == pytest.approx(0.95)
    assert "together" not in alone.sentence
    for measure, found in every.differences["observed_linear"].items():
        narrow = alone.differences["observed_linear"][measure]
        assert found.estimate == pytest.approx(narrow.estimate)
        widths = [one.high - one.low for one in (found, narrow)]
        assert 1.2 < widths[0] / widths[1] < 1.6, measure


def displaced(n_tables=100, n=150):
    """How often one of six models that are as good as the base is recommended instead."""
    rng, count = np.random.default_rng(7), 0
    for _ in range(n_tables):
        true, shared, scores = rng.integers(0, 2, n), rng.normal(size=n), {}
        for name in ["blend", *PLAIN]:
            odds = 0.8 + shared + rng.normal(size=n)
            p = 1 / (1 + np.exp(-odds * (2 * true - 1)))
            scores[name] = np.stack([1 - p, p], axis=1)
        group, weight = np.zeros(n, dtype=np.int64), np.ones(n)
        kept = Evaluation(
            ("no", "yes"), ("all",), group, true, true, weight, scores, "blend", False
        )
        judge = Judge(kept, 20, 0)
        found = {name: judge.differences(name, ["log_loss", "auroc"]) for name in judge.others}
        count += choose("blend", found, judge.losses) != "blend"
    return count


def test_six_models_that_are_as_good_rarely_displace_the_base(monkeypatch):
    corrected = displaced()
    assert corrected <= 5
    monkeypatch.setattr(Judge, "level", 0.95)
    assert displaced() > 2 * corrected


def test_the_model_named_is_the_best_by_log_loss_of_those_clearly_ahead_and_it_is_said_why():
    """The third model has the best log loss, but wanders so much that nobody can tell."""
    base = made(about(0.6, 0.3), about(0.8, 0.3))
    rng = np.random.default_rng(3)
    sign = 2 * base.true - 1
    odds = np.where(rng.random(400) < 0.1, -3.0, 2.2) + 0.5 * rng.normal(size=400)
    p = 1 / (1 + np.exp(-odds * sign))
    scores = {**base.scores, "observed_trees": np.stack([1 - p, p], axis=1)}
    found = told(replace(base, scores=scores))
    loss = {name: score["log_loss"].estimate for name, score in found.scores.items()}
    assert min(loss, key=loss.get) == "observed_trees"
    assert found.differences["observed_trees"]["log_loss"].low < 0
    assert found.recommended == "observed_linear"
    assert found.sentence.endswith(
        "Trees on observed labels has the best log loss of the plain models, 0.362, but is not "
        "clearly ahead of Blend."
    )


def test_a_difference_in_the_sentence_is_that_of_the_two_numbers_beside_it():
    numbers = re.compile(r"\((\d\.\d{3}) against (\d\.\d{3}), difference ([+-]\d\.\d{3}),")
    frame = table(n=600, reviewed=150)
    for seed in (0, 1):
        settings = replace(QUICK, seed=seed)
        found = fit(frame, method="observed_linear", settings=settings).comparison
        told_ = numbers.findall(found.sentence)
        assert len(told_) == 2
        for own, theirs, apart in told_:
            assert float(own) - float(theirs) == pytest.approx(float(apart), abs=1e-9)
        base = found.scores[found.base]
        for name, differences in found.differences.items():
            for measure in ("log_loss", "auroc", "found"):
                apart = base[measure].estimate - found.scores[name][measure].estimate
                assert differences[measure].estimate == pytest.approx(apart, abs=1e-9)


@pytest.mark.parametrize("asked", ["blend", "observed_linear", "reviewed_linear", "both_linear"])
def test_the_recommendation_does_not_depend_on_which_model_the_folder_holds(asked):
    odds = (about(0.1), about(1.0), about(1.5), about(0.6))
    found = replace(made(*odds), asked=asked)
    told_ = told(found)
    assert (told_.recommended, told_.base, told_.asked) == ("reviewed_linear", "blend", asked)
    start = "Keep Linear on reviewed" if asked == "reviewed_linear" else "Use Linear on reviewed"
    assert told_.sentence.startswith(start)
    assert tipping(found, random_state=0).corrected == told_.recommended


def test_auto_holds_what_is_recommended():
    found = compare(made(about(0.3), about(1.5), about(0.2)), settings=SETTINGS, auto=True)
    assert found.asked == found.recommended == "observed_linear"
    assert found.sentence.startswith(
        "Keep Linear on observed labels: on 400 held-out reviewed rows Blend is behind it in log "
        "loss ("
    )
    assert "instead" not in found.sentence


def test_without_the_blend_the_sentence_says_that_it_was_not_compared():
    full = made(about(0.1), about(1.0), about(1.5))
    plain = {name: score for name, score in full.scores.items() if name != "blend"}
    found = told(replace(full, scores=plain, asked="observed_linear"))
    assert found.base == "observed_linear"
    assert found.sentence.endswith(" The blend was not among them; --method auto compares it, too.")


def test_better_probabilities_alone_are_enough():
    """The same order of rows, but much too sure of it."""
    base = made(about(0.8))
    good = base.scores["blend"]
    sure = good**6 / (good**6 + (1 - good) ** 6)
    found = told(replace(base, scores={"blend": sure, "both_linear": good}))
    assert found.recommended == "both_linear"
    assert "Blend is behind it in log loss" in found.sentence
    assert "level with it in AUROC" in found.sentence


def test_a_model_that_ranks_better_but_has_worse_probabilities_is_named_and_not_used():
    """As with labels that are wrong in one direction: the order stays, the level goes."""
    low = made(about(0.8, 1.5), about(2.0, 1.0), about(-1.0))
    p = low.scores["observed_linear"][:, 1]
    shifted = p / (p + 400 * (1 - p))
    scores = {**low.scores, "observed_linear": np.stack([1 - shifted, shifted], axis=1)}
    found = told(replace(low, scores=scores))
    assert found.differences["observed_linear"]["auroc"].high < 0
    assert found.differences["observed_linear"]["log_loss"].high < 0
    assert found.recommended == "blend"
    assert "ahead of Linear on observed labels" in found.sentence
    assert "behind it in AUROC" in found.sentence


def test_the_weights_of_the_design_can_change_it():
    half = np.arange(400) < 200
    odds = (
        lambda rng, n: np.where(half, 2.0, 0.0) + rng.normal(size=n),
        lambda rng, n: np.where(half, 0.0, 2.0) + rng.normal(size=n),
    )
    first = made(*odds, weight=np.where(half, 30.0, 1.0))
    last = made(*odds, weight=np.where(half, 1.0, 30.0))
    assert told(first).recommended == "blend"
    assert told(last).recommended == "observed_linear"
    unknown = replace(last, by_design=False)  # weights by cell are for the report alone
    assert told(unknown).recommended == "blend"


def test_measures_are_those_of_scikit_learn():
    found = kept(n=300)
    rare = replace(found, true=np.where(np.arange(300) % 3, 0, found.true))
    for weight in (None, rare.weight):
        own = rare if weight is not None else replace(rare, weight=np.ones(300))
        judge = Judge(own, 20, 0, threshold=0.6)
        scores = judge.scores("alignment")
        p = rare.scores["alignment"]
        options = {"sample_weight": weight}
        expected = log_loss(rare.true, np.clip(p, 1e-6, 1 - 1e-6), **options)
        assert scores["log_loss"].estimate == pytest.approx(expected, rel=1e-5)
        assert judge.losses["alignment"] == pytest.approx(expected, rel=1e-5)
        auroc = roc_auc_score(rare.true, p[:, 1], **options)
        assert scores["auroc"].estimate == pytest.approx(auroc)
        caught = recall_score(rare.true, p[:, 1] >= 0.6, **options)
        assert scores["found"].estimate == pytest.approx(caught)
        gap = judge.differences("standard")["log_loss"].estimate
        other = judge.losses["standard"]
        assert gap == pytest.approx(judge.losses["alignment"] - other)


def test_found_is_about_the_rarest_class_and_moves_with_the_threshold():
    found = kept(n=300)
    for rare in (0, 1):
        few = replace(found, true=np.where(np.arange(300) % 3, 1 - rare, rare))
        assert Judge(replace(few, by_design=False, weight=np.ones(300)), 10, 0).sought == rare
    shares = [
        compare(found, settings=Settings(n_boot=20, threshold=t)).scores["alignment"]["found"]
        for t in (0.2, 0.5, 0.8)
    ]
    assert shares[0].estimate > shares[1].estimate > shares[2].estimate


def test_differences_are_paired():
    """The interval of a difference is narrower than that of either score."""
    base = made(about(0.8, 2.0))
    p = base.scores["blend"]
    near = p ** np.array([1.0, 1.02]) * np.exp(0.02 * np.sin(np.arange(400))[:, None] * [1, -1])
    near /= near.sum(1, keepdims=True)
    judge = Judge(replace(base, scores={"blend": p, "both_trees": near}), 200, 0)
    for measure, score in judge.scores("blend").items():
        gap = judge.differences("both_trees")[measure]
        assert gap.high - gap.low < 0.5 * (score.high - score.low), measure


def test_only_one_model_leaves_nothing_to_compare():
    alone = kept()
    alone = replace(alone, scores={"alignment": alone.scores["alignment"]})
    assert told(alone).recommended == "alignment"
    assert "there is no plain model to compare it with" in told(alone).sentence


def one_sided(n=1200, reviewed=200, width=6):
    """Half of the positives are missed; the class is linear in many features."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, width))
    true = X @ np.linspace(1.2, 0.2, width) + rng.logistic(size=n) > 0
    told = true & (rng.random(n) < 0.5)
    frame = table(n=n, reviewed=0, seed=1)[["sex"]]
    frame[[f"x{i}" for i in range(width)]] = X
    names = np.array(["no", "yes"])
    frame["told"], known = names[told.astype(int)], names[true.astype(int)]
    frame["reviewed"] = np.where(np.arange(n) < reviewed, known, None)
    return frame


def test_rows_that_were_held_out_decide_for_a_blend_where_it_is_better():
    settings = replace(QUICK, n_boot=200)
    found = fit(one_sided(), method="recalibrated_linear", settings=settings).comparison
    assert found.recommended == "recalibrated_linear", found.sentence
    loss = {name: score["log_loss"].estimate for name, score in found.scores.items()}
    assert loss["recalibrated_linear"] < min(loss["observed_linear"], loss["both_linear"]) - 0.05
    assert found.differences["observed_linear"]["log_loss"].high < 0
    assert found.sought == "no"  # of which observed labels claim too many
    assert found.differences["observed_linear"]["found"].high < -0.1


def test_rows_that_were_held_out_decide_for_a_plain_model_where_it_is_better():
    """A network trained for three epochs is no match for a logistic regression."""
    found = fit(table(n=600, reviewed=240), method="standard").comparison
    assert found.recommended in PLAIN
    difference = found.differences[found.recommended]
    assert difference["log_loss"].low > 0 or difference["auroc"].high < 0
    assert f"(--method {found.recommended})" in found.sentence
    targets = read_targets(frame := table(n=600, reviewed=240), chosen(frame).columns)
    assert found.n_rows == targets.reviewed.sum()
