"""The review page as a file: what is on it, and what is not."""

import json
import re

import pandas as pd
import pytest

from alignset.cli import main
from alignset.review.page import MARK, review_page
from alignset.review.sample import sample
from alignset.review.sheet import share_sheet, write_shared, write_sheet

TABLE = pd.DataFrame(
    {
        "pid": [f"{i:03d}" for i in range(40)],
        "obs": ["no", "yes", "no", "no"] * 10,
        "sex": ["f", "m"] * 20,
        "note": ["</script><script>x()</script>", "=1+1", "", "fine"] * 10,
    }
)


@pytest.fixture
def sheet(tmp_path):
    made = sample(
        TABLE, n=12, label="obs", group="sex", id="pid", show=["sex", "note"], random_state=0
    )
    write_sheet(made, tmp_path / "sheet.csv")
    return tmp_path / "sheet.csv"


def data_of(html):
    return json.loads(re.search(r'id="sheet">(.*?)</script>', html, re.DOTALL)[1])


def test_the_page_has_the_sheet_and_its_choices_and_nothing_else(sheet):
    page = review_page(sheet)
    html = page.html()
    data = data_of(html)
    assert data["choices"] == ["no", "yes"]
    assert data["columns"] == ["sex", "note"]
    assert [data["columns"][i] for i in data["groups"]] == ["sex"]
    assert data["ids"] == pd.read_csv(sheet, dtype=str)["pid"].tolist()
    assert {cell for row in data["cells"] for cell in row} >= {"f", "m", "=1+1"}
    for hidden in ("stratum", "probability", "wave", "obs"):
        assert hidden not in json.dumps(data)
    assert html == review_page(sheet).html()
    assert html.count("</script>") == 2


def test_no_mark_of_the_template_is_left_and_marks_in_the_data_stay(sheet):
    text = sheet.read_text().replace("fine", "@script@ @data@")
    sheet.write_text(text)
    html = review_page(sheet).html()
    data = data_of(html)
    assert "@script@ @data@" in {row[1] for row in data["cells"]}
    assert "@" not in re.sub(r'id="sheet">.*?</script>|<style>.*?</style>|<script>.*?</script>', "",
                             html, flags=re.DOTALL)  # fmt: skip


def test_policy_allows_only_this_script_and_style(sheet):
    html = review_page(sheet).html()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == "'none'"
    assert rules["form-action"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert rules["style-src"].startswith("'sha256-")
    assert "unsafe" not in policy
    assert "http" not in re.sub(r"http-equiv", "", html)


def test_columns_are_chosen_and_the_design_is_never_shown(sheet):
    assert review_page(sheet, show=["note"]).columns == ("note",)
    assert review_page(sheet, show=["note"]).groups == ()
    with pytest.raises(ValueError, match="has no column 'nots'; did you mean 'note'"):
        review_page(sheet, show=["nots"])
    old = pd.read_csv(sheet, dtype=str).assign(stratum="1", wave="1", probability="0.5")
    old.to_csv(sheet, index=False)
    assert review_page(sheet).columns == ("sex", "note")
    with pytest.raises(ValueError, match="cannot show column 'stratum': it is not for reviewers"):
        review_page(sheet, show=["stratum"])


def test_a_sheet_half_filled_in_keeps_its_answers(sheet):
    rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    rows["reviewed"] = ["yes", "NO", "Cannot  tell", "perhaps", *[""] * 8]
    rows["comment"] = ["sure", *[""] * 11]
    before = review_page(sheet)
    rows.to_csv(sheet, index=False)
    page = review_page(sheet)
    assert [one and one["answer"] for one in page.filled[:5]] == [
        *("yes", "no", "cannot tell", None, None),
    ]
    assert page.filled[0]["comment"] == "sure"
    assert page.digest == before.digest


def test_the_digest_tells_sheets_apart(sheet):
    one = review_page(sheet)
    assert one.digest != review_page(sheet, show=["note"]).digest
    assert one.digest != review_page(sheet, choices=["a", "b"]).digest


def test_a_sheet_for_one_of_several_reviewers_is_theirs(tmp_path):
    made = sample(TABLE, n=12, label="obs", id="pid", show=["sex"], random_state=0)
    shared = share_sheet(made, ["anna", "ben"], twice=0.5, random_state=0)
    places = write_shared(made, shared, tmp_path / "sheet.csv")
    page = review_page(places["ben"])
    assert page.reviewer == "ben"
    assert page.columns == ("sex",)
    assert page.choices == ("no", "yes")
    assert set(page.ids) == set(shared["ben"].rows["pid"])


def test_without_a_design_answers_have_to_be_named(sheet):
    (sheet.parent / "sheet.design.json").unlink()
    with pytest.raises(
        ValueError, match=r"which answers there are; name the file .* or the answers"
    ):
        review_page(sheet)
    assert review_page(sheet, choices=["a", "b"]).choices == ("a", "b")
    for choices in (["a", "A"], ["a", "Cannot tell"]):
        with pytest.raises(ValueError, match="answers must differ from each other"):
            review_page(sheet, choices=choices)


def test_the_command_writes_a_page_and_says_what_is_next(sheet, capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    out = sheet.parent / "page.html"
    assert main(["review", str(sheet), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{out}: 12 rows, showing sex, note\n" in said
    assert said.endswith("next: alignset join sheet.NAME-filled.csv TABLE -o reviewed.csv\n")
    assert "open it" not in said
    assert MARK in out.read_text()
    assert main(["review", str(sheet), "-o", str(out)]) == 1
    assert "exists; name another file" in capsys.readouterr().err
    # without -o: opened, or told where there is no screen; a page is made again, no other file is
    for _ in range(2):
        assert main(["review", str(sheet)]) == 0
        assert f"open it in a browser: {sheet.parent / 'sheet.review.html'}" in (
            capsys.readouterr().out
        )
    (sheet.parent / "sheet.review.html").write_text("mine")
    assert main(["review", str(sheet)]) == 1
    assert (sheet.parent / "sheet.review.html").read_text() == "mine"


def test_a_screen_gets_the_page(sheet, capsys, monkeypatch):
    opened = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    assert main(["review", str(sheet)]) == 0
    assert opened == [(sheet.parent / "sheet.review.html").as_uri()]
    assert "open it in a browser" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pid,reviewed\n1,\n1,\n", "has a row twice; a page needs a sheet with one line per row"),
        ("pid,told\n1,\n", "has no column 'reviewed'"),
        ("pid,Reviewed\n1,\n", "which may be 'reviewed'"),
        ("reviewed\nx\n", "has no column ''"),
    ],
)
def test_what_is_no_sheet_gets_no_page(tmp_path, capsys, text, said):
    (tmp_path / "s.csv").write_text(text)
    assert main(["review", str(tmp_path / "s.csv"), "--choice", "a", "--choice", "b"]) == 1
    assert said in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]
