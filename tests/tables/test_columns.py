import numpy as np
import pandas as pd
import pytest

from alignset.tables.columns import Columns, choose_columns


def table(n=100, **more):
    rng = np.random.default_rng(0)
    told = rng.choice(["no", "yes"], n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "lab": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], n),
            "told": told,
            "reviewed": pd.Series(np.where(rng.random(n) < 0.2, "yes", told)).where(
                np.arange(n) < 30
            ),
        }
    )
    return frame.assign(**{k: v(frame) if callable(v) else v for k, v in more.items()})


def choose(frame, **options):
    options = {"label": "told", "truth": "reviewed", "groups": ["sex"]} | options
    return choose_columns(frame, **options)


def refused(frame, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        choose(frame, **options)
    return str(caught.value)


def test_every_other_column_is_a_feature_and_groups_are_too():
    choice = choose(table(), ignore=["lab"])
    assert choice.columns == Columns("told", ("age", "sex"), "reviewed", ("sex",))
    assert {n: h.kind for n, h in choice.kinds.items()} == {"age": "number", "sex": "category"}
    assert choice.notes == ()
    assert choose(table(), categorical=["age"]).kinds["age"].kind == "category"


def test_columns_that_are_not_there_or_play_two_parts_are_refused():
    assert refused(table(), label="tld") == (
        "the table has no column 'tld'; did you mean 'told'? it has age, lab, sex, told, reviewed."
    )
    for option in ("ignore", "categorical", "allow_leak"):
        assert refused(table(), **{option: ["agee"]}).startswith("the table has no column 'agee'")
    assert refused(table(), truth="told") == (
        "column 'told' is given as label and as truth; a column has one role."
    )


@pytest.mark.parametrize(
    "copy",
    [
        lambda f: f["told"],
        lambda f: f["told"].map({"no": 0, "yes": 1}),
        lambda f: f["told"] == "no",
    ],
)
def test_a_column_that_says_the_same_as_the_label_is_refused(copy):
    frame = table(diagnosis=copy)
    assert refused(frame) == (
        "column 'diagnosis' repeats the label column 'told', so a model would learn "
        "nothing else; pass --ignore diagnosis, or --allow-leak diagnosis if it will be known at "
        "prediction."
    )
    assert "diagnosis" not in choose(frame, ignore=["diagnosis"]).columns.features
    assert "diagnosis" in choose(frame, allow_leak=["diagnosis"]).columns.features


def test_a_column_that_says_the_same_as_the_truth_is_refused():
    frame = table(lab_value=lambda f: f["reviewed"].map({"no": 1, "yes": 2}).fillna(1))
    assert refused(frame).startswith(
        "column 'lab_value' repeats the label column 'reviewed', so a model"
    )
    frame = table(reviewer=lambda f: f["reviewed"].notna().map({True: "ann", False: None}))
    assert refused(frame) == (
        "column 'reviewer' is filled in exactly where 'reviewed' is, so it comes from the review; "
        "pass --ignore reviewer, or --allow-leak reviewer if it will be known at prediction."
    )


def test_what_the_review_sheet_adds_is_no_feature():
    frame = table(
        stratum=lambda f: f["reviewed"].notna().map({True: 1, False: None}),
        wave=lambda f: f["reviewed"].notna().map({True: 1, False: None}),
        probability=lambda f: f["reviewed"].notna().map({True: 0.3, False: None}),
        review_state=lambda f: f["reviewed"].notna().map({True: "agreed", False: "open"}),
    )
    columns = choose(frame).columns
    assert columns.features == ("age", "lab", "sex")
    assert columns.probability == "probability"


def test_identifiers_and_empty_columns_are_left_out_with_a_note():
    frame = table(
        seqn=lambda f: np.arange(83732, 83732 + len(f)).astype(float),
        name=lambda f: [f"person {i}" for i in range(len(f))],
        site="here",
        nothing=None,
    )
    choice = choose(frame)
    assert choice.columns.features == ("age", "lab", "sex")
    assert choice.notes == (
        "'seqn' is different in every row, like an identifier, and was left out; name it with "
        "--id seqn, or keep it with --allow-leak seqn.",
        "'name' is different in every row, like an identifier, and was left out; name it with "
        "--id name, or keep it with --allow-leak name.",
        "'site' is the same in every row and was left out.",
        "'nothing' is missing in every row and was left out.",
    )
    assert "seqn" in choose(frame, allow_leak=["seqn"]).columns.features
    assert choose(frame, id="seqn").columns.id == "seqn"


def test_a_table_without_features_is_refused():
    frame = table()[["told", "reviewed"]].assign(site="here")
    assert refused(frame, groups=[]) == (
        "no column is left to learn from: 'site' is the same in every row and was left out."
    )
