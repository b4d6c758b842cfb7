"""The paper's claims, on made-up results that force each verdict."""

from pathlib import Path

import pandas as pd
import pytest
from report.made_up import DATASETS, cells, ideal, published_of, shift

from alignset.study.claims import Claim, Test
from alignset.study.publication import load_publication
from alignset.study.quantities import Evidence, Line, contrasts
from alignset.study.rules import Greater, Standing

PAPER = load_publication(Path(__file__).parents[2] / "paper" / "chil2023" / "claims.py")
IDEAL = ideal()
CLAIMS = {claim.text: claim for claim in PAPER.claims}
each_claim = pytest.mark.parametrize("text", CLAIMS)


def judge(text, frame, published=None):
    return CLAIMS[text].judge(Evidence(frame, published, theirs=PAPER.published_by))


def find(fragment):
    (text,) = [t for t in CLAIMS if t.startswith(fragment)]
    return text


@each_claim
def test_every_claim_can_hold(text):
    verdict = judge(text, IDEAL)
    assert verdict.state is Standing.HOLDS, verdict.explanation
    assert "Not run" not in verdict.explanation


@each_claim
def test_every_claim_is_undecided_without_results(text):
    verdict = judge(text, None)
    assert verdict.state is Standing.UNDECIDED
    assert verdict.explanation.startswith("Not run: ")
    assert verdict.finding is None


@each_claim
def test_every_claim_is_undecided_on_one_seed(text):
    assert judge(text, IDEAL[IDEAL["seed"] == 0]).state is Standing.UNDECIDED


@each_claim
def test_the_published_number_is_read_by_the_released_metric(text):
    published = published_of(IDEAL, "hm_released")
    finding = judge(text, IDEAL, published).finding
    if "AUROC" in text or "AUEOC" in text:
        assert pd.isna(finding.theirs)
    else:
        assert finding.theirs == pytest.approx(finding.ours.mean, abs=0.02)


@each_claim
def test_every_deviation_a_claim_names_is_explained(text):
    assert set(CLAIMS[text].deviations) <= set(PAPER.deviations)


HIGH, LOW = 0.3, -0.3
FAILING = {
    "Noise rate: Proposed is the most robust": ("noise_rate", "transition", HIGH),
    "Noise rate: below 40 %": ("noise_rate", "standard", -0.1),
    "Noise disparity: Proposed is the most robust": ("noise_disparity", "js", HIGH),
    "Noise disparity: at 80 %": ("noise_disparity", "proposed", HIGH),
    "Alignment size: noticeable": ("alignment_size", "proposed", -0.1, lambda x: x == 0.05),
    "Alignment size: performance": ("alignment_size", "proposed", LOW, lambda x: x > 0.05),
    "Alignment size: below 5 %": ("alignment_size", "csidn", HIGH),
    "Alignment size: at larger": ("alignment_size", "transition", -0.1, lambda x: x >= 0.05),
    "MIMIC-III ARF": ("alignment_size", "fair_gpl", HIGH),
    "Alignment bias: Proposed is robust": ("alignment_bias", "proposed", -0.2, lambda x: x == 0.2),
    "Alignment bias: Proposed stays": ("alignment_bias", "standard", HIGH),
    "Ablation: adding step 2": ("ablation", "plus_ltheta_prime", LOW),
    "Ablation: adding \N{GREEK SMALL LETTER GAMMA}": ("ablation", "plus_gamma_ltheta", LOW),
    "Ablation: adding α₂": ("ablation", "plus_alpha2_lphi", LOW),
    "Ablation: the full method beats L'θ + \N{GREEK SMALL LETTER GAMMA}": (
        *("ablation", "plus_gamma_ltheta", HIGH),
    ),
    "Ablation: the full method beats L'θ + α₂": ("ablation", "plus_alpha2_lphi", HIGH),
    "Ablation: most improvement": ("ablation", "plus_ltheta_prime", 0.15),
    "Sensitivity: the method is most": ("sensitivity_gamma", "proposed", LOW, lambda x: x == 100),
    "Sensitivity: α₂ between": ("sensitivity_alpha_2", "proposed", LOW, lambda x: x == 1),
    "Sensitivity: the method is robust to α₁": (
        *("sensitivity_alpha_1", "proposed", -0.1, lambda x: x == 100),
    ),
    "Sensitivity: the method is robust to \N{GREEK SMALL LETTER GAMMA}": (
        *("sensitivity_gamma", "proposed", -0.1, lambda x: x == 0.01),
    ),
    "Noise rate: Proposed consistently": ("noise_rate", "csidn", HIGH),
    "Noise disparity: Proposed consistently": ("noise_disparity", "csidn", HIGH),
    "Noise rate: Proposed is not more": ("noise_rate", "proposed", 0.05),
    "Noise rate: above 60 %": ("noise_rate", "proposed", LOW, lambda x: x > 0.6),
    "Noise disparity: Proposed is not more": ("noise_disparity", "proposed", 0.05),
    "Noise disparity: above 40 %": ("noise_disparity", "transition", -0.1, lambda x: x > 0.4),
}


def test_every_claim_is_made_to_fail():
    assert sorted(map(find, FAILING)) == sorted(CLAIMS)


@pytest.mark.parametrize("fragment", FAILING)
def test_every_claim_can_fail(fragment):
    experiment, method, by, *where = FAILING[fragment]
    frame = shift(IDEAL, experiment, method, by, *where, metric=("hm", "auroc", "aueoc"))
    verdict = judge(find(fragment), frame)
    assert verdict.state is Standing.FAILS, verdict.explanation


def test_a_single_rate_where_a_rival_is_better_fails_the_claim():
    text = find("Noise rate: Proposed is the most robust")
    frame = shift(IDEAL, "noise_rate", "transition", 0.1, lambda x: x == 0.7)
    verdict = judge(text, frame)
    assert verdict.state is Standing.FAILS
    assert "Fails: over Transition at 70 %." in verdict.explanation


def test_without_mimic_claims_are_judged_on_the_rest_and_say_so():
    public = IDEAL[IDEAL["dataset"].isin(["synthetic", "adult", "compas"])]
    verdict = judge(find("Alignment size: noticeable"), public)
    assert verdict.state is Standing.HOLDS
    assert "Not run: alignment size on mimic_arf; alignment size on mimic_shock." in (
        verdict.explanation
    )
    assert judge(find("MIMIC-III ARF"), public).state is Standing.UNDECIDED


def test_the_released_protocol_is_judged_by_the_released_metric():
    text = find("Noise rate: Proposed is the most robust")
    frame = shift(IDEAL, "noise_rate", "transition", HIGH, metric=("hm_released",))
    assert judge(text, frame).state is Standing.HOLDS
    released = Evidence(frame, columns=PAPER.measured_by["as-released"])
    assert CLAIMS[text].judge(released).state is Standing.FAILS


def test_a_claim_of_which_one_part_was_not_run_is_undecided():
    ran = Test(contrasts({"it": Line("ablation", "synthetic", "proposed").mean()}), Greater())
    not_run = Test(contrasts({"it": Line("ablation", "adult", "proposed").mean()}), Greater())
    assert Claim("", "", "", (ran, ran)).judge(Evidence(IDEAL)).state is Standing.HOLDS
    verdict = Claim("", "", "", (ran, not_run)).judge(Evidence(IDEAL))
    assert verdict.state is Standing.UNDECIDED
    assert verdict.explanation == "Not run: ablation on adult."
    assert verdict.finding is not None


def test_the_published_values_themselves_bear_out_every_claim_they_cover():
    """So the margins are no stricter than the paper's own words."""
    table = PAPER.read_published(Path(__file__).parents[2] / "paper" / "chil2023" / "published.csv")
    frames = [
        cells(
            {m: line.set_index("x")["mean"].to_dict() for m, line in block.groupby("method")},
            experiment=experiment, dataset=dataset, seeds=3, sd=1e-5,
        )
        for (experiment, dataset), block in table.groupby(["experiment", "dataset"])
    ]  # fmt: skip
    frame = pd.concat(frames)
    covered = [t for t in CLAIMS if "AUROC" not in t and "AUEOC" not in t and "bias" not in t]
    assert len(covered) == 19
    assert {t for t in covered if judge(t, frame).state is not Standing.HOLDS} == set()


def test_the_paper_shows_every_experiment_it_claims_something_about():
    shown = {spec.experiment for spec in PAPER.figures}
    assert shown == set(IDEAL["experiment"])
    assert set(PAPER.datasets) == set(DATASETS)
