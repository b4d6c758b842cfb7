"""A network as a candidate: which configs it tries, and who chooses among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reviewed_rows import Data, make_data
from scipy.stats import uniform

from alignset import NoisyLabelClassifier
from alignset.engine import Trainer
from alignset.engine.search import try_configs, variants_of
from alignset.estimator import learn
from alignset.labels import UNREVIEWED
from alignset.learners import Blend
from alignset.learners.network import CONFIGS, NetworkSearch
from alignset.methods import JointAlignment, Parts
from alignset.methods.registry import METHODS
from alignset.progress import silent
from alignset.rows import Part, Problem

FOLDS = 3


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data(300)


def part_of(data: Data) -> Part:
    y_true = np.nan_to_num(data.y_true, nan=UNREVIEWED).astype(np.int64)
    return Part(data.X.astype(np.float32), data.y, y_true, data.groups)


def deal(rows: Part) -> Any:
    return np.where(rows.reviewed, np.cumsum(rows.reviewed) % FOLDS, -1)


def searching(configs: list[dict[str, float]]) -> NetworkSearch:
    return NetworkSearch(
        JointAlignment(), configs, lambda method, problems: Trainer(hidden=4, max_epochs=8)
    )


def cross_fit(rows: Part, configs: list[dict[str, float]]) -> Any:
    return searching(configs).cross_fit(rows, deal(rows), 2, 2, 0, silent)


@pytest.mark.parametrize("fold", range(FOLDS))
def test_the_labels_of_a_fold_change_nothing_that_is_said_of_it(data: Data, fold: int) -> None:
    rows = part_of(data)
    own = deal(rows) == fold
    other = replace(rows, y_true=np.where(own, 1 - rows.y_true, rows.y_true))
    one, two = (cross_fit(each, [{"lr": 0.01}])[0] for each in (rows, other))
    assert (one[own] == two[own]).all()
    assert (one[~own & (deal(rows) >= 0)] != two[~own & (deal(rows) >= 0)]).any()


def test_a_fold_is_judged_by_the_config_that_the_others_choose(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, asked = part_of(data), []
    configs = [{"lr": 1e-7}, {"lr": 0.02}]
    alone = cross_fit(rows, configs[1:])

    def best(trained: Any, problems: Any) -> int:
        asked.append(list(problems))
        return int(trained.score_over(problems).argmax())

    monkeypatch.setattr("alignset.engine.search.Tried.best", best)
    odds, model = cross_fit(rows, configs)
    # problems 0 to 2 are stopped by the next fold, 3 to 5 by the one after it, and the last three
    # are for the model
    assert asked == [[0, 1, 3, 5], [1, 2, 3, 4], [0, 2, 4, 5], [6, 7, 8]]
    assert model.method.lr == 0.02
    np.testing.assert_allclose(odds, alone[0], atol=1e-5)


def test_a_blend_tries_the_shortlist_unless_settings_were_chosen(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []

    def spy(method: Any, configs: Any, trainer: Any) -> NetworkSearch:
        tried.append(list(configs))
        return NetworkSearch(method, configs, trainer)

    monkeypatch.setattr(learn, "NetworkSearch", spy)

    def configs(prior: float = 1.0, **settings: Any) -> Any:
        network = JointAlignment(prior=prior)
        blend = Blend(strategies=("observed",), learners=("linear",), network=network, folds=3)
        clf = NoisyLabelClassifier(blend, max_epochs=1, hidden=2, random_state=0, **settings)
        clf.fit(**data.fit_args)
        return tried.pop()

    short = list(JointAlignment.shortlist)
    assert configs() == short
    assert configs(n_configs=2) == short[:2]
    assert configs(prior=2.0, n_configs=3)[0]["prior"] == 2.0
    chosen = configs(space={"lr": uniform(0.01, 0.02)}, n_configs=3)
    assert [set(each) for each in chosen[1:]] == [{"lr"}, {"lr"}]


def test_more_configs_are_tried_on_one_fold_first(data: Data) -> None:
    seen: list[tuple[int, int]] = []

    class Counting(Trainer):
        def train(self, method: Any, problems: Any, configs: Any, progress: Any = None) -> Any:
            seen.append((len(problems), len(configs)))
            return super().train(method, problems, configs, progress)

    rows = part_of(data)
    many = [{"lr": 0.001 * (i + 1)} for i in range(CONFIGS + 2)]
    search = NetworkSearch(JointAlignment(), many, lambda *_: Counting(hidden=2, max_epochs=1))
    search.cross_fit(rows, deal(rows), 2, 2, 0, silent)
    assert seen == [(1, CONFIGS), (3 * FOLDS, 4)]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_accepts_its_shortlist(name: str) -> None:
    method = METHODS[name]()
    for config in method.shortlist:
        assert set(config) <= set(method.hyperparameters())
        replace(method, **config)


def test_configs_of_several_shapes_are_found_again(data: Data) -> None:
    rows = part_of(data)
    fold = deal(rows)
    problem = Problem(rows.take(fold != 0), rows.take(fold == 0), None, 2, 2, 0)
    drawn = [{"lr": 0.1, "n_parts": 3}, {"lr": 0.2, "n_parts": 2}, {"lr": 0.3, "n_parts": 3}]
    variants = variants_of(Parts(), drawn)
    trained = try_configs(Trainer(hidden=2, max_epochs=1), variants, [problem, problem])
    methods: list[Any] = [trained.method(c) for c in range(3)]
    assert [(m.n_parts, m.lr) for m in methods] == [(2, 0.2), (3, 0.1), (3, 0.3)]
    both = trained.ensemble([0, 1], [2, 0])
    assert [len(part) for part in both.folds] == [2, 2]
    assert [part.configs[0]["lr"] for part in both.parts] == [0.3, 0.2]
    x = rows.X[:5]
    alone = [trained.ensemble([0, 1], [c]).probability(x) for c in (2, 0)]
    np.testing.assert_allclose(both.probability(x), np.mean(alone, axis=0), rtol=1e-6)
