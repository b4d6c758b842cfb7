import shutil
from pathlib import Path

import pandas as pd
import pytest
from report.made_up import published_of, small
from study.grids import plain_recipe

from alignset.cli import main
from alignset.study.records import METRICS, Cell, Record
from alignset.study.store import Store

CLAIMS = Path(__file__).parents[2] / "paper" / "chil2023" / "claims.py"
RECIPE = plain_recipe()


def fill(path, frame):
    """Write made-up results into a store, as a run would."""
    records = []
    for row in frame.to_dict("records"):
        names = ("experiment", "protocol", "dataset", "method", "x_name", "x", "seed")
        metrics = {name: row[name] for name in METRICS if name in row}
        records.append(Record(Cell(*(row[n] for n in names), RECIPE), "done", metrics=metrics))
    Store(path).add(records)
    return path


@pytest.fixture
def store(tmp_path):
    return fill(tmp_path / "results.sqlite", small())


def run(capsys, *argv):
    code = main(["report", *map(str, argv)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_page_replaces_a_page_and_nothing_else(tmp_path, store, capsys):
    page = tmp_path / "page.html"
    assert run(capsys, store, "-o", page)[0] == 0
    first = page.read_bytes()
    page.write_bytes(first + b"<!-- mine -->")
    assert run(capsys, store, "-o", page)[0] == 0
    assert page.read_bytes() == first
    own = tmp_path / "results.csv"
    own.write_text("a,b\n1,2\n")
    code, _, error = run(capsys, store, "-o", own)
    assert code == 1
    assert "results.csv exists and is no page that alignset wrote" in error
    assert own.read_text() == "a,b\n1,2\n"
    assert run(capsys, store, "-o", own, "--overwrite")[0] == 0
    assert own.read_bytes() == first


def test_a_store_becomes_one_file_and_the_same_bytes_again(tmp_path, store, capsys):
    published = tmp_path / "published.csv"
    published_of(small()).assign(metric="hm").to_csv(published, index=False)
    out = tmp_path / "report.html"
    argv = (store, "-o", out, "--claims", CLAIMS, "--published", published)
    code, said, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert said.startswith(f"{out}: 56 cells, 6 figures, ")
    assert "undecided" in said
    first = out.read_bytes()
    assert run(capsys, *argv)[0] == 0
    assert out.read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir() if "sqlite" not in p.name) == [
        *("published.csv", "report.html"),
    ]


def test_figures_are_saved_beside_their_numbers(tmp_path, store, capsys):
    figures = tmp_path / "deep" / "figures"
    out = tmp_path / "report.html"
    assert run(capsys, store, "-o", out, "--claims", CLAIMS, "--figures", figures)[0] == 0
    names = {path.name for path in figures.iterdir()}
    assert {"ablation-synthetic-as-written-hm.svg", "claims.csv"} <= names
    assert len(pd.read_csv(figures / "claims.csv")) == 27


def test_published_values_beside_the_claims_are_found(tmp_path, store, capsys):
    for name in ("claims.py", "DEVIATIONS.md"):
        shutil.copy(CLAIMS.with_name(name), tmp_path / name)
    published_of(small()).assign(metric="hm").to_csv(tmp_path / "published.csv", index=False)
    out = tmp_path / "report.html"
    assert run(capsys, store, "-o", out, "--claims", tmp_path / "claims.py")[0] == 0
    assert "ours and theirs" in out.read_text(encoding="utf-8")


def test_a_store_can_be_reported_without_any_publication(tmp_path, store, capsys):
    out = tmp_path / "report.html"
    code, said, _ = run(capsys, store, "-o", out)
    assert (code, said) == (0, f"{out}: 56 cells, 6 figures\n")


def bad_published(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return ("--published", tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (lambda p: ("--claims", p / "none.py"), "none.py is not a file; --claims takes a Python"),
        (lambda p: ("--published", p / "none.csv"), "none.csv does not exist; --published takes"),
        (bad_published, "bad.csv has no column experiment, dataset"),
    ],
)
def test_bad_files_are_named_and_nothing_is_written(tmp_path, store, capsys, options, said):
    out = tmp_path / "report.html"
    out.write_text("before", encoding="utf-8")
    code, _, err = run(capsys, store, "-o", out, "--overwrite", *options(tmp_path))
    assert code == 1
    assert said in err
    assert out.read_text(encoding="utf-8") == "before"


def test_no_store_an_empty_store_and_another_file_are_refused(tmp_path, capsys):
    code, _, err = run(capsys, tmp_path / "none.sqlite", "-o", tmp_path / "r.html")
    assert (code, "does not exist; name a model folder" in err) == (1, True)
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    code, _, err = run(capsys, empty, "-o", tmp_path / "r.html")
    assert (code, err) == (
        *(1, f"error: {empty} has no results yet; fill it with `alignset run SPEC`.\n"),
    )
    (tmp_path / "text").write_text("x" * 2000, encoding="utf-8")
    code, _, err = run(capsys, tmp_path / "text", "-o", tmp_path / "r.html")
    assert (code, "is not a store of results" in err) == (1, True)
    assert not (tmp_path / "r.html").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path, store, capsys):
    code, _, err = run(capsys, store, "-o", tmp_path / "nowhere" / "r.html")
    assert code == 1
    assert "nowhere" in err
