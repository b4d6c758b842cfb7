import re
import shutil
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from alignset import NoisyLabelClassifier, load_model
from alignset.cli import main
from alignset.fitting.fit import fit_table
from alignset.fitting.held_out import Settings
from alignset.model.folder import save_model
from alignset.tables.columns import choose_columns

SECRET = "Zanzibar"
NASTY = "<b>m</b> & co"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 300
    x, sex = rng.normal(size=n), rng.choice(["f", NASTY], n)
    true = np.where(x + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    wrong = rng.random(n) < np.where(sex == "f", 0.1, 0.3)
    told = np.where(wrong, np.where(true == "yes", "no", "yes"), true)
    frame = pd.DataFrame({"pid": np.arange(n) + 5000, "x": x, "sex": sex, "told": told})
    frame["town"] = rng.choice([SECRET, "Oslo"], n)
    frame["reviewed"] = pd.Series(true).where(np.arange(n) % 3 == 0)
    frame["probability"] = np.where(np.arange(n) % 3 == 0, 1 / 3, np.nan)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory, frame):
    choice = choose_columns(
        frame, label="told", truth="reviewed", groups=["sex"], id="pid", probability="probability"
    )
    settings = Settings(n_configs=1, folds=2, hidden=4, max_epochs=3, n_boot=30, n_jobs=1)
    path = tmp_path_factory.mktemp("models") / "model"
    save_model(fit_table(frame, choice, method="joint", settings=settings).model, path)
    return path


@pytest.fixture
def table(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Resample little."""
    from alignset.report import gather as gathering

    measure, tipping = gathering.measure, gathering.tipping
    monkeypatch.setattr(gathering, "measure", lambda kept, **o: measure(kept, n_boot=20, **o))
    monkeypatch.setattr(gathering, "tipping", lambda kept, **o: tipping(kept, n_boot=20, **o))


def run(capsys, *argv):
    code = main(["report", *map(str, argv)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def doubtful(html):
    body = re.search(r'<table id="doubtful">.*?</table>', html, re.DOTALL).group()
    return body, re.findall(r"<tr><td.*?</tr>", body)


def test_a_model_and_its_table_become_one_file_and_the_same_bytes_again(
    tmp_path, folder, table, capsys
):
    out, again = tmp_path / "report.html", tmp_path / "again.html"
    code, said, err = run(capsys, folder, "--table", table, "-o", out)
    assert (code, err) == (0, "")
    lines = said.splitlines()
    assert lines[0] == f"{out}: 10 sections, 11 figures"
    assert lines[1].startswith("conclusion: ")
    assert run(capsys, folder, "--table", table, "-o", again)[0] == 0
    assert out.read_bytes() == again.read_bytes()
    html = out.read_text(encoding="utf-8")
    assert "<b>m</b>" not in html
    assert "&lt;b&gt;m&lt;/b&gt; &amp; co" in html
    assert "weighted by the inverse of their probability" in html


def test_rows_show_id_label_and_confidence_and_nothing_else_unless_asked(
    tmp_path, folder, table, frame, capsys
):
    out = tmp_path / "report.html"
    assert run(capsys, folder, "--table", table, "-o", out)[0] == 0
    html = out.read_text(encoding="utf-8")
    assert SECRET not in html
    body, rows = doubtful(html)
    assert re.findall(r'<button type="button">(\w+)', body) == ["pid", "observed", "confidence"]
    assert len(rows) == 20
    ids = [int(re.search(r">(\d+)<", row).group(1)) for row in rows]
    assert frame.set_index("pid").loc[ids, "reviewed"].isna().all()
    asked = ("--top", 3, "--show", "town")
    assert run(capsys, folder, "--table", table, "-o", out, *asked)[0] == 0
    _, rows = doubtful(out.read_text(encoding="utf-8"))
    assert len(rows) == 3
    towns = frame.set_index("pid").loc[ids[:3], "town"].tolist()
    assert [re.findall(r">([^<]*)</td>", row)[3] for row in rows] == towns


def test_title_owner_and_use_are_said_and_escaped(tmp_path, folder, table, capsys):
    out = tmp_path / "report.html"
    said = ("--title", f"On {NASTY}", "--owner", NASTY, "--intended-use", "To call back.")
    code, _, err = run(capsys, folder, "-o", out, *said)
    assert (code, err) == (0, "")
    html = out.read_text(encoding="utf-8")
    assert "<b>m</b>" not in html
    assert "<h1>On &lt;b&gt;m&lt;/b&gt; &amp; co</h1>" in html
    assert "<dd>To call back.</dd>" in html
    code, _, err = run(capsys, table, "--title", "x", "-o", tmp_path / "no.html")
    assert (code, "need a model folder" in err) == (2, True)


def test_ages_have_no_decimals(tmp_path, folder, frame, capsys):
    path, out = tmp_path / "ages.csv", tmp_path / "report.html"
    ages = pd.Series(np.arange(len(frame)) % 60 + 20.0).mask(np.arange(len(frame)) % 40 == 1)
    frame.assign(age=ages).to_csv(path, index=False)
    assert run(capsys, folder, "--table", path, "--show", "age", "-o", out)[0] == 0
    _, rows = doubtful(out.read_text(encoding="utf-8"))
    shown = [re.findall(r">([^<]*)</td>", row)[3] for row in rows]
    assert all(re.fullmatch(r"\d\d|\N{EN DASH}", text) for text in shown)


def test_a_folder_of_an_older_version_is_judged_by_todays_rule(tmp_path, folder, capsys):
    model = load_model(folder)
    new = ("base", "level")
    old = {k: v for k, v in model.manifest["comparison"].items() if k not in new}
    old |= {"sentence": "Keep something else.", "recommended": "none"}
    about = {k: v for k, v in model.manifest.items() if k not in ("advice", "asked")}
    save_model(replace(model, manifest={**about, "comparison": old}), tmp_path / "old")
    outs = [tmp_path / "old.html", tmp_path / "new.html"]
    for place, out in zip((tmp_path / "old", folder), outs, strict=True):
        assert run(capsys, place, "-o", out)[0] == 0
    html = unescape(outs[0].read_text(encoding="utf-8")).replace("\u00a0", " ")
    assert "Keep something else." not in html
    assert model.manifest["comparison"]["sentence"] in html
    assert model.manifest["advice"]["conclusion"] in html


def test_a_model_alone_is_reported_from_what_its_folder_holds(tmp_path, folder, capsys):
    out = tmp_path / "report.html"
    assert run(capsys, folder, "-o", out)[0] == 0
    html = out.read_text(encoding="utf-8")
    assert "Pass the table with --table TABLE" in html
    assert "Noise rate by group" in html
    assert 'id="doubtful"' not in html


def test_a_table_without_true_labels_falls_back_on_the_training_data(
    tmp_path, folder, frame, capsys
):
    table, out = tmp_path / "new.csv", tmp_path / "report.html"
    frame.drop(columns=["reviewed", "probability"]).to_csv(table, index=False)
    assert run(capsys, folder, "--table", table, "-o", out)[0] == 0
    html = out.read_text(encoding="utf-8")
    assert "noise rates are from the training data" in html
    assert "not the training data" in html
    assert "Verdict on the reviewed rows" not in html
    assert len(doubtful(html)[1]) == 20


def test_a_folder_without_an_evaluation_is_reported_too(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    clf = NoisyLabelClassifier(n_configs=1, max_epochs=2, hidden=3, random_state=0, n_jobs=1)
    clf.fit(X, y, y_true=np.where(np.arange(60) < 30, y ^ (np.arange(60) % 7 == 0), np.nan))
    clf.save(tmp_path / "model")
    out = tmp_path / "report.html"
    code, said, err = run(capsys, tmp_path / "model", "-o", out)
    assert (code, err) == (0, "")
    assert said.splitlines() == [
        f"{out}: 10 sections, 1 figures",
        "conclusion: Do not use it yet except to choose labels to review: it was not compared with "
        "other models when it was fitted.",
    ]
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    code, _, err = run(capsys, tmp_path / "model", "--table", table, "-o", out)
    assert (code, "trained on a matrix" in err) == (1, True)


def test_figures_of_a_model_are_saved_beside_their_numbers(tmp_path, folder, capsys):
    figures = tmp_path / "figures"
    assert run(capsys, folder, "-o", tmp_path / "r.html", "--figures", figures)[0] == 0
    names = {path.name for path in figures.iterdir()}
    assert {"roc-corrected.svg", "roc-corrected.csv", "equalized-odds.svg"} <= names


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("{model}", "--claims", "c.py"), "--claims and --published need a store"),
        (("{model}", "--top", "3"), "--top and --show need --table"),
        (("{table}", "--table", "t.csv"), "need a model folder, not a store"),
        (("{model}", "--table", "none.csv"), "none.csv"),
        (("{model}", "--table", "{table}", "--show", "twon"), "did you mean 'town'"),
        (("{empty}",), "is not a model folder: it has no manifest.json"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    tmp_path, folder, table, capsys, argv, said
):
    (tmp_path / "empty").mkdir()
    places = {"model": folder, "table": table, "empty": tmp_path / "empty"}
    out = tmp_path / "report.html"
    code, _, err = run(capsys, *(word.format(**places) for word in argv), "-o", out)
    assert code in (1, 2)
    assert said in err
    assert not out.exists()


def test_a_spoilt_evaluation_is_refused(tmp_path, folder, capsys):
    place = tmp_path / "model"
    shutil.copytree(folder, place)
    assert load_model(place).evaluation is not None
    text = (place / "evaluation.json").read_text(encoding="utf-8")
    (place / "evaluation.json").write_text(text.replace("0", "1", 1), encoding="utf-8")
    code, _, err = run(capsys, place, "-o", tmp_path / "r.html")
    assert (code, "sha256 of evaluation.json" in err) == (1, True)
    (place / "evaluation.json").unlink()
    code, _, err = run(capsys, place, "-o", tmp_path / "r.html")
    assert (code, "evaluation.json is missing" in err) == (1, True)
