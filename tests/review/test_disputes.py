"""What to adjudicate, in which order, and what is printed about reviewers."""

import json

import numpy as np
import pandas as pd
import pytest

from alignset.cli import main
from alignset.review.disputes import find_disputes


def log_of(*answers):
    rows = [(str(i), who, said, "") for i, who, said in answers]
    return pd.DataFrame(rows, columns=["id", "reviewer", "answer", "adjudicated"])


def many(n=80, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    names = np.array(["no", "yes"])
    said = []
    for i in range(n):
        for who, error in (("an", 0.03), ("bo", 0.25)):
            said.append((i, who, names[int(true[i] ^ (rng.random() < error))]))
    return log_of(*said), true


def test_rows_that_stand_for_many_come_first():
    log, _ = many()
    table = pd.DataFrame({"told": ["no", "yes"] * 40, "probability": 0.5, "sex": "f"})
    first = find_disputes(log, table, label="told")
    assert set(first.frame()["answers"]) == {"no, yes"}
    last = int(first.frame()["row"].iloc[-1])
    table.loc[last, "probability"] = 0.001
    assert int(find_disputes(log, table, label="told").frame()["row"].iloc[0]) == last


def test_the_queue_is_a_sheet_with_the_columns_asked_for():
    log, _ = many()
    ids = [str(i) for i in range(80)]
    table = pd.DataFrame({"pid": ids, "age": range(80), "told": ["no", "yes"] * 40})
    queue = find_disputes(log, table, label="told", id="pid", show=["age"]).frame()
    assert queue.columns.tolist() == ["pid", "age", "answers", "reviewed"]
    assert (queue["reviewed"] == "").all()
    # who said what cannot be seen
    assert queue["answers"].nunique() == 1


def test_settled_rows_and_agreed_ones_are_not_in_the_queue():
    log, _ = many()
    before = find_disputes(log)
    done = before.frame()["id"].tolist()[:3]
    more = log_of(*[(i, "chief", "yes") for i in done]).assign(adjudicated="yes")
    after = find_disputes(pd.concat([log, more]))
    assert after.n_settled == 3
    assert len(after) == len(before) - 3
    assert not set(done) & set(after.frame()["id"])


def test_a_row_marked_as_disputed_is_queued_even_if_the_log_has_one_answer():
    log = log_of((0, "an", "no"), (1, "an", "yes"), (1, "bo", "yes"), (2, "bo", "no"))
    table = pd.DataFrame({"review_state": ["disputed", "agreed", None]})
    assert find_disputes(log, table).frame()["row"].tolist() == [0]


def test_cannot_tell_is_told_in_the_queue():
    log = log_of((0, "an", "no"), (0, "bo", "yes"), (0, "cy", "cannot tell"), (1, "an", "no"))
    assert find_disputes(log).frame()["answers"].tolist() == ["no, yes, cannot tell"]


def test_columns_without_a_table_are_refused():
    log, _ = many()
    with pytest.raises(ValueError, match="pass the table"):
        find_disputes(log, label="told")
    with pytest.raises(ValueError, match="nobody differs"):
        find_disputes(log_of((0, "an", "no"), (1, "bo", "no")))


def test_the_command_prints_agreement_by_group_and_writes_the_queue(tmp_path, capsys):
    log, true = many()
    log.to_csv(tmp_path / "t.answers.csv", index=False)
    # every tenth observed label is wrong; the others show which of the two reviewers errs
    told = np.array(["no", "yes"])[true ^ (np.arange(80) % 10 == 0)]
    table = pd.DataFrame({"told": told, "sex": ["f"] * 40 + ["m"] * 40})
    table.to_csv(tmp_path / "t.csv", index=False)
    asked = [str(tmp_path / "t.answers.csv"), str(tmp_path / "t.csv"), "--label", "told"]
    queue = tmp_path / "queue.csv"
    assert main(["disputes", *asked, "--group", "sex", "-o", str(queue)]) == 0
    out = capsys.readouterr().out
    for text in ("an and bo", "group f", "group m", "class yes", "error rate", "Dawid and Skene"):
        assert text in out
    written = pd.read_csv(queue)
    assert written.columns.tolist() == ["row", "answers", "reviewed"]
    assert main(["disputes", *asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    errors = {one["reviewer"]: one["error"] for one in told["reviewers"]}
    assert errors["an"] < errors["bo"]
    assert len(told["queue"]) == len(written)
    # an existing file is not overwritten
    assert main(["disputes", *asked, "-o", str(queue)]) == 1


def test_pairs_of_many_reviewers_are_printed_up_to_a_limit(tmp_path, capsys):
    people = [f"r{i}" for i in range(30)]
    said = [(i % 40, who, "no" if i % 3 else "yes") for i, who in enumerate(people * 4)]
    log_of(*said).to_csv(tmp_path / "t.answers.csv", index=False)
    assert main(["disputes", str(tmp_path / "t.answers.csv")]) == 0
    out = capsys.readouterr().out
    assert "388 more, about fewer rows, are left out; see --json" in out  # of 435 pairs
    assert len([line for line in out.splitlines() if " and r" in line]) == 47
    assert main(["disputes", str(tmp_path / "t.answers.csv"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["agreement"]) == 438


def test_a_log_in_which_every_answer_is_adjudicated_can_be_shown(tmp_path, capsys):
    log = log_of((1, "an", "no"), (2, "an", "yes")).assign(adjudicated="yes")
    assert find_disputes(log).reviewers.frame().columns.tolist()[:2] == ["reviewer", "answers"]
    log.to_csv(tmp_path / "t.answers.csv", index=False)
    assert main(["disputes", str(tmp_path / "t.answers.csv")]) == 0
    assert "reviewer  answers" in capsys.readouterr().out
