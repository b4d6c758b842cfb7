import numpy as np
import pytest
from experiment.grids import RULES, SPEC, load_grid

from alignset.experiment import expand
from alignset.experiment.methods import draw_variants
from alignset.experiment.problems import build_problem
from alignset.experiment.records import METRICS
from alignset.experiment.training import build_trainer, train_cohort


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
    recipe = dict(cells[0].recipe)
    recipe["review"] = {**recipe["review"], "share": 0.001}
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
    trainer = build_trainer(cells[0].recipe["trainer"], "cpu", 1)
    problem = build_problem(cells[0].recipe)
    best = max(float(trainer.fit(v.method, [problem], v.configs).score.max()) for v in variants)
    assert record.score == pytest.approx(best, abs=1e-5)
    assert record.config["n_parts"] in (1, 3)


def test_progress_counts_every_replica(tmp_path):
    seen = []
    cells = cells_of(tmp_path, "standard")
    train_cohort(cells, device="cpu", n_jobs=1, advance=seen.append)
    assert sum(seen) == sum(cell.replicas for cell in cells)
    assert np.all(np.array(seen) >= 0)
