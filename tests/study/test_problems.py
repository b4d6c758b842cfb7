import numpy as np
import pandas as pd
import pytest
from data.nhanes_file import make_file
from msgspec.structs import replace
from study.grids import RULES, load_grid, plain_recipe

from alignset.data import Table, nhanes
from alignset.data import nhanes_columns as columns
from alignset.data.fake_mimic import write_fake_mimic
from alignset.study import datasets, expand
from alignset.study.datasets import absence, content_of
from alignset.study.problems import build_problem, flip
from alignset.study.recipe import DataSpec, NoiseSpec, ReviewSpec


def problems(tmp_path, rules=RULES):
    cells, _ = expand(load_grid(tmp_path, rules=rules))
    chosen = [c for c in cells if c.method == "standard" and c.x == 0.4]
    return [build_problem(cell.recipe) for cell in chosen]


def test_replications_redraw_the_data_by_default(tmp_path):
    one, two = problems(tmp_path)
    assert not np.isin(one.train.X[:, 0], two.train.X[:, 0]).any()


def test_without_redraw_only_the_split_changes(tmp_path):
    one, two = problems(tmp_path, RULES.replace("[tiny]", "[tiny]\nredraw = false"))

    def rows(problem):
        parts = (problem.train, problem.validation, problem.test)
        whole = [(x[0], int(y)) for p in parts for x, y in zip(p.X, p.y_seen, strict=True)]
        return sorted(whole)

    assert rows(one) == rows(two), "the same people with the same wrong labels"
    assert not np.array_equal(one.train.X, two.train.X)


def test_the_released_data_is_the_published_draw(tmp_path):
    rules = RULES.replace('"synthetic", rows = 400', '"synthetic_released", rows = 5000')
    problem, _ = problems(tmp_path, rules.replace("[tiny]", "[tiny]\nredraw = false"))
    parts = (problem.train, problem.validation, problem.test)
    assert sum(p.X.astype(float).sum() for p in parts) == pytest.approx(354.505679, abs=1e-2)


def test_noise_has_its_rate_among_the_rows_that_train():
    rng = np.random.default_rng(0)
    group, test = np.arange(400) % 2, np.arange(400) >= 100
    table = Table(
        rng.normal(size=(400, 3)), rng.integers(0, 2, 400), group,
        "toy", tuple("abc"), ("no", "yes"), ("a", "b"), test=test,
    )  # fmt: skip
    noise = NoiseSpec(kind="by_features", rate=(0.2, 0.4), lowest=False)
    wrong = flip(table, noise, None, seed=0) != table.y
    assert wrong[~test & (group == 0)].mean() == 0.2
    assert wrong[~test & (group == 1)].mean() == 0.4
    assert not wrong[test].any()


def test_mimic_is_known_by_its_content_and_skipped_where_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("ALIGNSET_MIMIC", str(tmp_path / "mimic"))
    assert "Set ALIGNSET_MIMIC" in absence("mimic_arf")
    rules = RULES.replace('"synthetic", rows = 400', '"mimic_arf"')
    cells, skipped = expand(load_grid(tmp_path, rules=rules))
    assert cells == []
    assert list(skipped) == ["toy"]

    write_fake_mimic(tmp_path / "mimic", task="ARF", n_rows=300, random_state=0)
    assert content_of("mimic_arf").startswith("sha256:")
    cells, skipped = expand(load_grid(tmp_path, rules=rules))
    assert skipped == {}
    assert build_problem(cells[0].recipe).n_features == 16278

    recipe = cells[0].recipe
    other = replace(recipe, data=replace(recipe.data, content="sha256:another"))
    with pytest.raises(ValueError, match="put the same files on every machine"):
        build_problem(other)


def test_files_that_are_not_here_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path))
    assert "alignset data get compas" in absence("compas")
    assert absence("synthetic") is None


def test_observed_labels_of_a_data_set_are_taken_as_they_are(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: rng.normal(size=400) for name in columns.NUMERIC}
        | {name: rng.choice(["Yes", "No"], 400) for name in columns.CATEGORICAL}
    )
    frame.loc[:3, columns.NUMERIC[0]] = np.nan
    y, group = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    seen = np.where(rng.random(400) < 0.1, 1 - y, y)
    names = tuple(frame.columns)
    table = Table(frame, y, group, "nhanes", names, ("no", "yes"), ("f", "m"), observed=seen)
    monkeypatch.setattr(datasets, "load_nhanes", lambda task, group: table)
    monkeypatch.setattr(datasets, "content_of", lambda source: "sha256:made-up")
    datasets._loaded.cache_clear()
    recipe = plain_recipe(
        data=DataSpec(source="nhanes", content="sha256:made-up"),
        noise=NoiseSpec(kind="observed"),
        review=ReviewSpec(share=0.2, test=0.2, validation=0.5),
        redraw=False,
        seed=3,
    )
    problem = build_problem(recipe)
    datasets._loaded.cache_clear()
    assert len(problem.test) == 80
    assert problem.train.X.dtype == np.float32
    # scaled by the training rows, and as wide in every part
    np.testing.assert_allclose(problem.train.X[:, 1].mean(), 0.0, atol=1e-6)
    assert problem.train.X.shape[1] == problem.test.X.shape[1] == problem.validation.X.shape[1]
    assert 0.02 < (problem.train.y_seen != problem.truth).mean() < 0.2


def test_a_task_of_nhanes_is_a_data_set_of_its_own(monkeypatch):
    rng = np.random.default_rng(0)
    fat = rng.integers(40, 101, (200, 2))
    names = ("EnergyKcal_DR1TOT", "EnergyKcal_DR2TOT", "TotalFatGm_DR1TOT", "TotalFatGm_DR2TOT")
    people = [
        dict(zip(names, (1800, 1800, *grams), strict=True))
        | {columns.PERSON: i, columns.SEX: ("Male", "Female")[i % 2]}
        for i, grams in enumerate(fat.tolist())
    ]
    monkeypatch.setattr(nhanes, "read", lambda *_, **__: make_file(*people))
    monkeypatch.setattr(datasets, "content_of", lambda source: "sha256:made-up")
    datasets._loaded.cache_clear()
    recipe = plain_recipe(
        data=DataSpec(source="nhanes", task="fat", content="sha256:made-up"),
        noise=NoiseSpec(kind="observed"),
        review=ReviewSpec(share=0.2, test=0.2, validation=0.5),
        redraw=False,
    )
    problem = build_problem(recipe)
    other = replace(recipe, data=replace(recipe.data, task=None))
    assert build_problem(other).n_features > problem.n_features
    datasets._loaded.cache_clear()
    wrong = (fat[:, 0] > 70) != (fat.mean(axis=1) > 70)
    assert len(problem.train) == 160
    assert 0.6 * wrong.sum() < (problem.train.y_seen != problem.truth).sum() <= wrong.sum()
