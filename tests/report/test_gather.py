"""One noise rate, wherever it is shown."""

import numpy as np
import pandas as pd
import pytest

from alignset.cli.fit import _report
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.model.folder import load_model, save_model
from alignset.report import gather as gathering
from alignset.report.gather import gather, most_doubtful
from alignset.review.audit import audit
from alignset.review.join import join
from alignset.review.sample import sample
from alignset.review.sheet import Reviews
from alignset.tables.columns import choose_columns
from alignset.tables.files import read_table

QUICK = Settings(n_configs=1, folds=2, hidden=4, max_epochs=3, n_boot=30, n_jobs=1)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Resample little."""
    measure, tipping = gathering.measure, gathering.tipping
    monkeypatch.setattr(gathering, "measure", lambda kept, **o: measure(kept, n_boot=20, **o))
    monkeypatch.setattr(gathering, "tipping", lambda kept, **o: tipping(kept, n_boot=20, **o))


def made(designed, n=500):
    """A table reviewed by a sheet of two strata per group, or just somehow."""
    rng = np.random.default_rng(0)
    x, sex = rng.normal(size=n), rng.choice(["f", "m"], n, p=[0.7, 0.3])
    true = np.where(x + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    wrong = rng.random(n) < np.where(true == "yes", 0.3, 0.05)
    told = np.where(wrong, np.where(true == "yes", "no", "yes"), true)
    frame = pd.DataFrame({"pid": np.arange(n), "x": x, "sex": sex, "told": told})
    if not designed:
        return frame.assign(reviewed=pd.Series(true).where(np.arange(n) % 4 == 0))
    options = {"label": "told", "group": "sex", "id": "pid", "random_state": 0}
    rows = sample(frame, n=150, **options).frame().rename(columns={"pid": "id"})
    rows["reviewed"] = true[rows["id"]]
    rows.loc[::9, "reviewed"] = None  # some have no answer
    rows["id"] = rows["id"].astype(str)
    return join(frame, Reviews("pid", rows), label="told").frame()


@pytest.mark.parametrize("designed", [True, False])
def test_fit_audit_and_page_show_the_same_noise_rate(tmp_path, capsys, designed):
    made(designed).to_csv(tmp_path / "table.csv", index=False)
    frame = read_table(tmp_path / "table.csv")
    choice = choose_columns(frame, label="told", truth="reviewed", groups=["sex"], id="pid")
    fitted = fit_table(frame, choice, method="joint", settings=QUICK)
    save_model(fitted.model, tmp_path / "model")
    model = load_model(tmp_path / "model")
    manifest = model.manifest["noise_rates"]
    audited = {rate.group: rate for rate in audit(model, frame, random_state=0).rates}
    pages = [
        gather(tmp_path / "model", table, top=3, show=()).rates.set_index("group")
        for table in (None, tmp_path / "table.csv")
    ]
    _report(fitted, tmp_path / "model")
    printed = capsys.readouterr().out
    assert set(audited) == {"f", "m"}
    for group, rate in audited.items():
        numbers = rate.rate, rate.low, rate.high
        counts = rate.rows, rate.reviewed, rate.wrong
        assert tuple(manifest[group][k] for k in ("rate", "low", "high")) == numbers
        assert tuple(manifest[group][k] for k in ("rows", "reviewed", "wrong")) == counts
        assert manifest[group]["weighted"] == rate.weighted == designed
        assert f"{rate.rate:.3f} ({rate.low:.3f} to {rate.high:.3f})" in printed
        for page in pages:
            assert tuple(page.loc[group, ["rate", "low", "high"]]) == numbers
            assert tuple(page.loc[group, ["rows", "reviewed", "wrong"]]) == counts


def test_ids_that_repeat_cannot_be_shown():
    ranked = pd.DataFrame({"pid": [1, 1], "observed": ["a", "b"], "confidence": [0.1, 0.2]})
    frame = pd.DataFrame({"pid": [1, 1], "x": [3, 4]})
    with pytest.raises(ValueError, match="ids in column 'pid' repeat"):
        most_doubtful(ranked.assign(reviewed=None), frame, 2, ["x"])
