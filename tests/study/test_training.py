import numpy as np
import pytest
from msgspec.structs import replace
from study.grids import RULES, SPEC, load_grid

from alignset.progress import Counter
from alignset.study import expand
from alignset.study.methods import draw_variants
from alignset.study.recipe import Fitting
from alignset.study.records import METRICS
from alignset.study.training import build_trainer, divide_cell, measure, train_cohort


def cells_of(tmp_path, method, spec=SPEC, rules=RULES):
    return [c for c in expand(load_grid(tmp_path, spec, rules))[0] if c.method == method]


def train(cells):
    return train_cohort(cells, device="cpu", n_jobs=1)


def test_every_cell_has_every_metric_and_its_choice(tmp_path):
    records = train(cells_of(tmp_path, "proposed"))
    for record in records:
        assert record.status == "done"
        assert set(record.metrics) == set(METRICS)
        assert all(0 <= value <= 1 for value in record.metrics.values())
        assert set(record.config) == {"lr", "l2", "alpha_1", "alpha_2", "gamma"}
        assert len(record.epochs) == 2


def test_a_cell_does_not_depend_on_its_cohort(tmp_path):
    cells = cells_of(tmp_path, "standard")
    together, alone = train(cells)[3], train(cells[3:])[0]
    assert together.config == alone.config
    for name in METRICS:
        assert together.metrics[name] == pytest.approx(alone.metrics[name], abs=1e-3)


def test_a_cell_that_diverges_is_failed_with_its_reason(tmp_path):
    spec = SPEC.replace("[review]", "[config]\nlr = 1e30\n[review]")
    for record in train(cells_of(tmp_path, "standard", spec)):
        assert (record.status, record.metrics) == ("failed", {})
        assert record.reason.startswith("diverged: ")


def test_the_block_rule_tells_divergence_too(tmp_path):
    spec = SPEC.replace("[review]", "[config]\nlr = 1e30\n[review]")
    rules = RULES.replace(
        '{ rule = "patience", epochs = 2 }', '{ rule = "block_mean", length = 2 }'
    )
    (record, *_) = train(cells_of(tmp_path, "standard", spec, rules))
    assert record.reason == "diverged: none of 2 configs has a finite validation score"


def test_a_network_that_only_never_got_better_is_no_failure(tmp_path):
    spec = SPEC.replace("[review]", "[config]\nlr = 1e-30\nl2 = 0\n[review]")
    assert {r.status for r in train(cells_of(tmp_path, "standard", spec))} == {"done"}


def test_a_cell_that_cannot_be_built_does_not_take_others_along(tmp_path):
    cells = cells_of(tmp_path, "standard")
    recipe = cells[0].recipe
    recipe = replace(recipe, review=replace(recipe.review, share=0.001))
    bad = type(cells[0])(*cells[0].identity, recipe)
    first, second = train([bad, cells[1]])
    assert first.status == "failed"
    assert "it needs at least 2" in first.reason
    assert second.status == "done"


def test_test_rows_without_a_class_are_a_failure_with_its_reason(tmp_path):
    (cell, *_) = cells_of(tmp_path, "standard", rules=RULES.replace("rows = 400", "rows = 30"))
    (record,) = train([cell])
    assert record.status == "failed"
    assert "so the metrics are not defined" in record.reason


def test_whole_numbers_are_searched_by_variants(tmp_path):
    (tmp_path / "spaces.toml").write_text(
        "[tiny.toy]\nall = { lr = [1e-3, 1e-2] }\nparts = { n_parts = { choice = [1, 3] } }\n"
    )
    spec = 'space = "spaces.toml"\n' + SPEC.replace('"proposed"', '"parts"').replace(
        "configs  = 2", "configs = 6"
    )
    cells = cells_of(tmp_path, "parts", spec)
    variants = draw_variants(cells[0].recipe)
    assert [v.shape for v in variants] == [{"n_parts": 1}, {"n_parts": 3}]
    assert [v.method.n_parts for v in variants] == [1, 3]
    assert sum(len(v.configs) for v in variants) == 6
    (record,) = train(cells[:1])
    trainer = build_trainer(cells[0].recipe.trainer, "cpu", 1)
    problems, _ = divide_cell(cells[0].recipe, variants[0].method)
    best = max(float(trainer.fit(v.method, problems, v.configs).score.max()) for v in variants)
    assert record.score == pytest.approx(best, abs=1e-5)
    assert record.config["n_parts"] in (1, 3)


def test_clean_labels_have_no_noise_left_and_validate_on_reviewed_rows(tmp_path):
    rules = RULES.replace(
        'standard = { class = "Standard" }',
        'standard = { class = "Standard", fully_reviewed = true }',
    )
    cell = cells_of(tmp_path, "standard", rules=rules)[0]
    (problem,), _ = divide_cell(cell.recipe, draw_variants(cell.recipe)[0].method)
    noisy, _ = divide_cell(
        cells_of(tmp_path, "standard")[0].recipe, draw_variants(cell.recipe)[0].method
    )
    assert problem.train.reviewed.all()
    assert np.array_equal(problem.train.y_seen, problem.train.y_true)
    assert len(problem.validation) == len(noisy[0].validation)
    assert not noisy[0].train.reviewed.all()


def test_progress_counts_every_replica(tmp_path):
    seen = []
    cells = cells_of(tmp_path, "standard")
    counter = Counter(lambda what, done, total: seen.append(done), "training", 0)
    train_cohort(cells, device="cpu", n_jobs=1, counter=counter)
    assert seen[-1] == sum(cell.replicas for cell in cells)
    assert np.all(np.diff(seen) >= 0)


FITTING = (
    RULES
    + """
folds = { class = "Alignment", folds = 3 }
ensemble = { class = "Alignment", ensemble = 2 }
one = { class = "Alignment" }
weighed = { class = "Alignment", review_weights = "cells" }
"""
)


def fitted(tmp_path, method, configs=3):
    spec = SPEC.replace('["standard", "proposed"]', f'["{method}"]')
    return cells_of(
        tmp_path, method, spec.replace("configs  = 2", f"configs  = {configs}"), FITTING
    )


def test_folds_train_as_many_models_and_average_them(tmp_path):
    cells = fitted(tmp_path, "folds")
    assert {cell.replicas for cell in cells} == {9}
    record = train(cells[:1])[0]
    variant = draw_variants(cells[0].recipe)[0]
    folds, test = divide_cell(cells[0].recipe, variant.method)
    trainer = build_trainer(cells[0].recipe.trainer, "cpu", 1)
    fits = trainer.fit(variant.method, folds, variant.configs)
    best = fits.ranking().mean(0).argmax()
    prob = np.mean([fits.probability(test.X, f)[best] for f in range(3)], axis=0)
    assert record.config == variant.configs[best]
    assert record.score == pytest.approx(fits.ranking().mean(0).max())
    expected = measure(test, prob)
    assert record.metrics["auroc"] == pytest.approx(expected["auroc"], abs=1e-6)
    assert record.metrics["brier"] == pytest.approx(expected["brier"], abs=1e-6)


def test_an_ensemble_averages_the_best_configs(tmp_path):
    cells = fitted(tmp_path, "ensemble")
    record = train(cells[:1])[0]
    variant = draw_variants(cells[0].recipe)[0]
    problems, test = divide_cell(cells[0].recipe, variant.method)
    fits = build_trainer(cells[0].recipe.trainer, "cpu", 1).fit(
        variant.method, problems, variant.configs
    )
    order = (-fits.ranking()[0]).argsort(kind="stable")[:2]
    expected = measure(test, fits.probability(test.X)[order].mean(0))
    assert record.metrics["brier"] == pytest.approx(expected["brier"], abs=1e-6)
    assert record.config == variant.configs[order[0]]


def test_review_weights_reach_the_problem_and_the_key(tmp_path):
    plain, weighed = fitted(tmp_path, "one")[0], fitted(tmp_path, "weighed")[0]
    assert plain.recipe.fitting == Fitting()
    assert plain.key != weighed.key
    method = draw_variants(plain.recipe)[0].method
    (one,), _ = divide_cell(plain.recipe, method)
    (other,), _ = divide_cell(weighed.recipe, method)
    assert np.ptp(one.train.weight) == 0
    assert other.train.weight[other.train.reviewed].std() > 0
    assert train([weighed])[0].status == "done"


@pytest.mark.parametrize(
    ("setting", "accepted"),
    [
        ("folds = 1", "whole number of at least 2"),
        ("ensemble = 0", "whole number of at least 2"),
        ('review_weights = "all"', "one of cells, classifier"),
    ],
)
def test_impossible_fittings_are_refused(tmp_path, setting, accepted):
    rules = RULES + f'\nodd = {{ class = "Alignment", {setting} }}\n'
    with pytest.raises(ValueError, match=accepted):
        load_grid(tmp_path, SPEC, rules)


def test_clean_labels_take_no_folds(tmp_path):
    rules = RULES + '\nodd = { class = "Standard", fully_reviewed = true, folds = 2 }\n'
    with pytest.raises(ValueError, match="clean labels take no folds"):
        load_grid(tmp_path, SPEC, rules)
