"""The study trains as the estimator does: the same rows, configs and seed give the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from study.grids import RULES, SPEC, load_grid

import alignset.methods as library
from alignset.engine.search import search
from alignset.engine.sizes import count_batches
from alignset.estimator import NoisyLabelClassifier, learn
from alignset.study import expand
from alignset.study.methods import draw_variants
from alignset.study.problems import build_problem
from alignset.study.training import build_trainer, divide_cell, measure, train_cohort

TRAINER = 'trainer = { max_epochs = 3, n_batches = 5, score = "fpr" }'


def cell_of(tmp_path, name, more):
    """A cell trained by the estimator's own rules: five batches, selected by rank."""
    before = RULES.splitlines()[2]
    rules = RULES.replace(before, TRAINER) + f'own = {{ class = "{name}"{more} }}\n'
    spec = SPEC.replace('["standard", "proposed"]', '["own"]')
    return expand(load_grid(tmp_path, spec, rules))[0][0]


def estimator_of(cell, configs, changes):
    """The estimator a user would fit with a cell's settings; its method is the first config."""
    trainer = cell.recipe.trainer
    method = getattr(library, cell.recipe.method.class_)(**configs[0])
    return NoisyLabelClassifier(
        method,
        hidden=trainer.hidden,
        max_epochs=trainer.max_epochs,
        n_configs=len(configs),
        validation_share=cell.recipe.review.validation,
        standardize=False,
        random_state=cell.recipe.seed,
        n_jobs=1,
        **{"folds": None, **changes},
    )


@pytest.mark.parametrize(
    ("name", "more", "changes"),
    [
        ("Alignment", "", {}),
        ("JointAlignment", ", folds = 3", {"folds": 3}),
        ("Alignment", ", ensemble = 2", {"ensemble": 2}),
        ("Alignment", ', review_weights = "cells"', {"review_weights": "cells"}),
        ("GLC", "", {}),
    ],
)
def test_a_study_cell_and_the_estimator_give_the_same_bits(
    tmp_path, monkeypatch, name, more, changes
):
    cell = cell_of(tmp_path, name, more)
    (variant,) = draw_variants(cell.recipe)
    configs = list(variant.configs)
    whole = build_problem(cell.recipe)
    rows = whole.train
    y_true = np.where(rows.reviewed, rows.y_true, np.nan)
    clf = estimator_of(cell, configs, changes)
    monkeypatch.setattr(learn, "configs_of", lambda *_, **__: configs)
    order = np.random.default_rng(0).permutation(len(rows))  # a user's rows come in any order
    clf.fit(
        rows.X[order].astype(float), rows.y_seen[order], y_true=y_true[order],
        groups=rows.group[order],
    )  # fmt: skip
    folds, test = divide_cell(cell.recipe, variant.method)
    assert count_batches(folds)[0] == cell.recipe.trainer.n_batches
    trainer = build_trainer(cell.recipe.trainer, "cpu", 1)
    (found,) = search(trainer, [variant], [folds], ensemble=clf.ensemble)
    assert np.array_equal(found.ensemble.probability(test.X), clf.predict_proba(test.X))
    (record,) = train_cohort([cell], device="cpu", n_jobs=1)
    assert dict(record.metrics) == measure(test, clf.predict_proba(test.X))
