import pytest
from report.made_up import published_of, small

from alignset.study import Publication
from alignset.study.publication import load_publication

GOOD = "from alignset.study import Publication\nPUBLICATION = Publication('Labels')\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_publication_is_loaded_from_the_file_a_user_names(tmp_path):
    assert load_publication(write(tmp_path / "claims.py", GOOD)) == Publication("Labels")


@pytest.mark.parametrize(
    ("name", "text", "error", "said"),
    [
        ("claims.py", "x = 1\n", ValueError, "defines no PUBLICATION"),
        ("claims.py", "PUBLICATION = 3\n", ValueError, "defines no PUBLICATION"),
        ("claims.toml", "x = 1\n", ValueError, "not a Python file"),
        (None, "", FileNotFoundError, "is not a file; --claims takes a Python file"),
    ],
)
def test_a_file_without_a_publication_is_refused(tmp_path, name, text, error, said):
    path = write(tmp_path / name, text) if name else tmp_path / "nowhere.py"
    with pytest.raises(error, match=said):
        load_publication(path)


def test_published_values_take_the_names_of_the_results(tmp_path):
    table = published_of(small()).assign(metric="hm", experiment="old")
    table.to_csv(tmp_path / "p.csv", index=False)
    names = Publication("x", experiments={"old": "new"}, published_by={"hm": "hm_released"})
    found = names.read_published(tmp_path / "p.csv")
    assert set(found["experiment"]) == {"new"}
    assert set(found["metric"]) == {"hm_released"}


def test_published_values_without_a_column_are_refused(tmp_path):
    published_of(small()).drop(columns=["sd"]).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(ValueError, match=r"p.csv has no column sd; published values need"):
        Publication("x").read_published(tmp_path / "p.csv")
