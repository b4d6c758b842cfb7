"""How rows were drawn is not on the sheet, and nobody changes it unseen."""

import hashlib
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.review.join import join
from alignset.review.label_studio import write_label_studio
from alignset.review.problems import SheetError
from alignset.review.reading import read_reviews
from alignset.review.sample import sample
from alignset.review.sheet import write_sheet
from alignset.review.sidecar import design_path, read_sheet_design

TABLE = pd.DataFrame(
    {"pid": [f"{i:04d}" for i in range(80)], "obs": ["no", "no", "no", "yes"] * 20, "age": 50}
)


@pytest.fixture
def drawn(tmp_path):
    """A folder with a table, a sheet that is filled in, and its design."""
    sheet = sample(TABLE, n=24, label="obs", id="pid", show=["age"], floor=8, random_state=0)
    write_sheet(sheet, tmp_path / "sheet.csv")
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    fill(tmp_path / "sheet.csv")
    return tmp_path


def fill(path, answer="yes"):
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows.assign(reviewed=answer).to_csv(path, index=False)


def test_nothing_that_reviewers_get_tells_the_observed_label(tmp_path):
    sheet = sample(TABLE, n=24, label="obs", id="pid", show=["age"], floor=8, random_state=0)
    write_sheet(sheet, tmp_path / "sheet.csv")
    write_label_studio(sheet, tmp_path / "tasks.json")
    rows = pd.read_csv(tmp_path / "sheet.csv", dtype=str)
    assert rows.columns.tolist() == ["pid", "age", "reviewed"]
    for task in json.loads((tmp_path / "tasks.json").read_text()):
        assert set(task["data"]) == {"id_column", "row", "text", "choices"}
    # nor does the order: the sheet begins with a fair mix
    seen = TABLE.set_index("pid")["obs"][rows["pid"]].eq("yes").to_numpy()
    runs = 1 + (seen[1:] != seen[:-1]).sum()
    assert runs > 6
    design = read_sheet_design(tmp_path / "sheet.design.json")
    assert design.choices == ("no", "yes")
    assert design.label == "obs"
    assert design.rows["probability"].nunique() == 2


def test_answers_and_design_come_together_again(drawn):
    found = read_reviews(drawn / "sheet.csv")
    design = read_sheet_design(drawn / "sheet.design.json")
    assert found.notes == ()
    out = join(TABLE, found, label="obs").frame().set_index("pid")
    for row, chance in zip(design.rows["id"], design.rows["probability"], strict=True):
        assert out.loc[row, "probability"] == chance


@pytest.mark.parametrize(
    ("old", "new"), [('", 1, 0.', '", 1, 0.9'), ('"00', '"10'), ('"label": "obs"', '"label": "x"')]
)
def test_a_design_that_was_edited_is_refused(drawn, capsys, old, new):
    place = drawn / "sheet.design.json"
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new, 1))
    words = ["join", drawn / "sheet.csv", drawn / "table.csv", "-o", drawn / "out.csv"]
    assert main([str(word) for word in words]) == 1
    said = capsys.readouterr().err
    assert f"{place} was changed after it was written" in said
    assert "draw the sheet again with its --seed" in said
    assert not (drawn / "out.csv").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "{}", '{"alignset": 1}', "[" * 100_000, '{"rows": "x"}']
)
def test_what_is_no_design_is_refused(tmp_path, text):
    (tmp_path / "a.design.json").write_text(text)
    with pytest.raises(ValueError, match="is not the design of a review sheet"):
        read_sheet_design(tmp_path / "a.design.json")


def test_a_sheet_with_another_name_or_in_another_folder_finds_its_design(drawn, tmp_path):
    other = drawn / "downloads"
    other.mkdir()
    moved = shutil.move(drawn / "sheet.csv", other / "sheet.anna-filled.csv")
    with pytest.raises(ValueError, match="there is no file that says how the rows of"):
        join(TABLE, read_reviews(moved), label="obs")
    found = read_reviews(moved, beside=[drawn / "table.csv"])
    assert found.design.label == "obs"
    assert found.frame()["reviewer"].unique().tolist() == ["anna"]
    again = read_reviews(moved, design=drawn / "sheet.design.json")
    pd.testing.assert_frame_equal(found.rows, again.rows)


def test_two_designs_that_fit_are_not_guessed_between(drawn):
    later = sample(TABLE, n=80, label="obs", id="pid", random_state=1)
    write_sheet(later, drawn / "other.csv")
    (drawn / "sheet.csv").rename(drawn / "filled.csv")
    with pytest.raises(ValueError, match=r"may belong to .* and .*; say which with --design FILE"):
        join(TABLE, read_reviews(drawn / "filled.csv"), label="obs")
    assert read_reviews(drawn / "filled.csv", design=drawn / "sheet.design.json").n_open == 0


def test_rows_deleted_from_a_sheet_were_drawn_all_the_same(drawn):
    rows = pd.read_csv(drawn / "sheet.csv", dtype=str)
    rows[:20].to_csv(drawn / "sheet.csv", index=False)
    joined = join(TABLE, read_reviews(drawn / "sheet.csv"), label="obs")
    assert (joined.n_reviewed, joined.n_open) == (20, 4)
    assert joined.frame()["probability"].notna().sum() == 24
    assert joined.frame()["review_state"].value_counts().to_dict() == {"agreed": 20, "open": 4}


def test_a_row_that_was_not_drawn_is_refused_with_a_guess(drawn):
    rows = pd.read_csv(drawn / "sheet.csv", dtype=str)
    rows.loc[2, "pid"] += "x"
    rows.to_csv(drawn / "sheet.csv", index=False)
    said = rf"line 4, row '{rows.loc[2, 'pid']}': it was not drawn for this sheet; did you mean"
    with pytest.raises(SheetError, match=said):
        join(TABLE, read_reviews(drawn / "sheet.csv"), label="obs")


def test_a_sheet_that_shows_its_design_is_read_with_a_note_and_has_to_agree(drawn):
    sheet = sample(TABLE, n=24, label="obs", id="pid", floor=8, random_state=0)
    old = sheet.rows.assign(reviewed="no")
    old.to_csv(drawn / "old.csv", index=False)
    design_path(drawn / "sheet.csv").rename(drawn / "elsewhere.json")
    found = read_reviews(drawn / "old.csv")
    assert "shows its reviewers how rows were drawn" in found.notes[0]
    assert join(TABLE, found, label="obs").n_reviewed == 24
    (drawn / "elsewhere.json").rename(drawn / "old.design.json")
    both = read_reviews(drawn / "old.csv")
    pd.testing.assert_series_equal(both.rows["probability"], found.rows["probability"])
    old.loc[3, "probability"] = 0.99
    old.to_csv(drawn / "old.csv", index=False)
    with pytest.raises(SheetError, match=r"line 5, row '\d+': probability '0.99' is not what it"):
        join(TABLE, read_reviews(drawn / "old.csv"), label="obs")


def test_ids_that_a_spreadsheet_changed_still_find_their_design(drawn):
    rows = pd.read_csv(drawn / "sheet.csv")  # 0007 becomes 7
    assert rows["pid"].dtype == np.int64
    rows.to_csv(drawn / "sheet.csv", index=False)
    assert join(TABLE, read_reviews(drawn / "sheet.csv"), label="obs").n_reviewed == 24


def test_a_sheet_is_not_written_over_a_design(tmp_path):
    sheet = sample(TABLE, n=4, label="obs", id="pid", random_state=0)
    (tmp_path / "s.design.json").write_text("mine")
    with pytest.raises(ValueError, match=re.escape("s.design.json exists; name another file")):
        write_sheet(sheet, tmp_path / "s.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["s.design.json"]


def test_columns_in_another_order_are_found_by_the_name_of_the_id(drawn):
    rows = pd.read_csv(drawn / "sheet.csv", dtype=str)
    rows[["reviewed", "age", "pid"]].to_csv(drawn / "sheet.csv", index=False)
    assert join(TABLE, read_reviews(drawn / "sheet.csv"), label="obs").n_reviewed == 24


@pytest.mark.parametrize("value", [10**400, float("inf"), "1", True, None, [1]])
@pytest.mark.parametrize("at", [2, 3])
def test_a_design_with_numbers_that_cannot_be_is_refused_even_with_its_checksum(
    drawn, capsys, at, value
):
    place = drawn / "sheet.design.json"
    content = json.loads(place.read_text())
    del content["checksum"]
    content["rows"][0][at] = value
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    place.write_text(json.dumps(content))
    words = ["join", drawn / "sheet.csv", drawn / "table.csv", "-o", drawn / "o.csv"]
    assert main([str(word) for word in words]) == 1
    said = capsys.readouterr().err
    assert "is not the design of a review sheet" in said
    assert len(said.splitlines()) == 1
    assert not (drawn / "o.csv").exists()
