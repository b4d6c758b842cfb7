"""A table whose reviewers err: soft labels in the fit, in its noise rates and its comparison."""

import json

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.model.folder import load_model
from alignset.tables.columns import choose_columns

QUICK = Settings(n_configs=1, max_epochs=2, folds=2, n_boot=50)


def tables(error=0.1, n=400, seed=0):
    """A table after `join`, and its log of answers: a double-reviewed fifth, disputes open."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    true = (x[:, 0] + 0.4 * rng.normal(size=n) > 0).astype(int)
    told = np.where(rng.random(n) < 0.2, 1 - true, true)
    sex = rng.choice(["f", "m"], n)
    names = np.array(["no", "yes"])
    log, found = [], np.full(n, None, dtype=object)
    for i in rng.permutation(n)[:200]:
        twice = rng.random() < 0.3
        said = [true[i] ^ (rng.random() < error) for _ in range(1 + twice)]
        who = rng.permutation(["an", "bo"])
        log += [(f"p{i}", w, names[int(a)], "") for w, a in zip(who, said, strict=False)]
        found[i] = names[int(said[0])] if len(set(map(int, said))) == 1 else None
    frame = pd.DataFrame({
        "pid": [f"p{i}" for i in range(n)], "x": x[:, 0], "z": x[:, 1], "sex": sex,
        "told": names[told], "reviewed": found,
    })  # fmt: skip
    answers = pd.DataFrame(log, columns=["id", "reviewer", "answer", "adjudicated"])
    return frame, answers, true, told


def fit(frame, answers, method="observed_linear"):
    choice = choose_columns(frame, label="told", truth="reviewed", groups=["sex"], id="pid")
    return fit_table(frame, choice, method=method, settings=QUICK, answers=answers)


@pytest.fixture(scope="module")
def made():
    frame, answers, true, told = tables()
    return frame, answers, true, told, fit(frame, None), fit(frame, answers)


def test_answers_are_modelled_and_recorded(made):
    _, answers, _, _, hard, soft = made
    assert any("Dawid and Skene" in note for note in soft.notes)
    facts = soft.model.manifest["reviewers"]
    assert [one["reviewer"] for one in facts["reviewers"]] == ["an", "bo"]
    assert facts["identified"]
    assert hard.model.manifest["reviewers"] is None
    # disputed rows count, too
    assert soft.model.manifest["rows"]["reviewed"] == answers["id"].nunique()
    assert hard.model.manifest["rows"]["reviewed"] < answers["id"].nunique()


def test_intervals_allow_for_the_reviewers(made):
    frame, _, true, told, hard, soft = made
    hard, soft = (one.model.manifest["noise_rates"] for one in (hard, soft))
    width = {g: rate["high"] - rate["low"] for g, rate in soft.items()}
    assert all(width[g] > hard[g]["high"] - hard[g]["low"] for g in width)
    for g, rate in soft.items():
        member = (frame["sex"] == g).to_numpy()
        # one table of many: 19 of 20 intervals hold it, and those that do not miss it by little
        assert rate["low"] - 0.02 <= (true != told)[member].mean() <= rate["high"] + 0.02


def test_the_comparison_judges_by_draws(made):
    *_, hard, found = made
    assert found.model.evaluation.draws.shape[0] == 20
    hard = hard.comparison.scores["observed_linear"]["auroc"]
    soft = found.comparison.scores["observed_linear"]["auroc"]
    assert soft.high - soft.low > 0.9 * (hard.high - hard.low)
    assert abs(soft.estimate - hard.estimate) < 0.1


def test_fit_and_audit_read_the_log(tmp_path, capsys):
    frame, answers, *_ = tables()
    frame.to_csv(tmp_path / "t.csv", index=False)
    answers.to_csv(tmp_path / "t.answers.csv", index=False)
    table, log, folder = (str(tmp_path / name) for name in ("t.csv", "t.answers.csv", "model"))
    columns = ["--label", "told", "--truth", "reviewed", "--group", "sex", "--id", "pid"]
    quick = ["--method", "observed_linear", "--folds", "2"]
    assert main(["fit", table, *columns, *quick, "--answers", log, "--out", folder]) == 0
    assert "Dawid and Skene" in capsys.readouterr().out
    assert load_model(folder).manifest["reviewers"]["identified"]
    assert load_model(folder).evaluation.draws.ndim == 2
    assert main(["audit", folder, table, "--answers", log]) == 0
    out = capsys.readouterr().out
    assert "error rate" in out
    assert "Dawid and Skene" in out
    assert main(["audit", folder, table, "--answers", log, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["reviewer"] for one in told["reviewers"]] == ["an", "bo"]
    hard = main(["audit", folder, table, "--json"])
    assert hard == 0
    before = json.loads(capsys.readouterr().out)["noise_rates"]
    for one, other in zip(before, told["noise_rates"], strict=True):
        assert other["high"] - other["low"] > one["high"] - one["low"]


def test_a_log_of_strangers_is_refused(tmp_path):
    frame, answers, *_ = tables()
    with pytest.raises(ValueError, match="which the table does not have"):
        fit(frame, answers.assign(id="nobody"))
