"""The edge of the program: every error is one line, and no user's text commands the terminal."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import run

from alignset.cli import main
from alignset.cli.review_options import print_grid
from alignset.cli.visible import visible
from alignset.labels import encode_labels
from alignset.tables.columns import choose_columns
from alignset.tables.files import read_table


@pytest.mark.parametrize("name", ["[/bold]", "[red]", ":smile:", "\x1b[31mred", "\x07", "\u202e"])
def test_groups_of_any_name_are_printed_as_they_are(tmp_path, capsys, name):
    path = tmp_path / "t.csv"
    rows = [f"{[name, 'm'][i % 2]},{i % 3 % 2}" for i in range(60)]
    path.write_text("\n".join(["sex,obs", *rows]), encoding="utf-8")
    code, out, err = run(capsys, "plan", path, "--label", "obs", "--group", "sex")
    assert (code, err) == (0, "")
    assert visible(name) in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_a_long_name_does_not_fill_the_screen(capsys):
    print_grid(pd.DataFrame({"group": ["g" * 10_000]}), {"group": "group"})
    assert len(capsys.readouterr().out) < 1000


def test_an_error_is_one_line_whatever_it_quotes(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text('"a\nb\x1b[31m",c\n1,2\n')
    code, _, err = run(capsys, "plan", path, "--label", "obs")
    assert code == 1
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.parametrize("error", [TypeError("odd"), RecursionError("deep"), KeyError("none")])
def test_a_fault_of_our_own_is_one_line_too(tmp_path, capsys, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("alignset.cli.reading.read_table", fail)
    code, _, err = run(capsys, "plan", tmp_path / "t.csv", "--label", "obs")
    assert (code, err.count("\n")) == (70, 1)
    assert err.startswith("error: alignset failed where it should not: ")
    monkeypatch.setenv("ALIGNSET_TRACEBACK", "1")
    with pytest.raises(type(error)):
        main(["plan", str(tmp_path / "t.csv"), "--label", "obs"])


def test_no_memory_is_said_in_one_line(tmp_path, capsys, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("alignset.cli.reading.read_table", fail)
    code, _, err = run(capsys, "plan", tmp_path / "t.csv", "--label", "obs")
    assert (code, err) == (1, "error: there is not enough memory for this; use a smaller table.\n")


@pytest.mark.parametrize("values", [[2**63, 1], [2**70, 1], [-(2**64), 1]])
def test_labels_beyond_64_bits_are_refused(values):
    with pytest.raises(ValueError, match="does not fit into 64 bits; write such numbers as text"):
        encode_labels(np.array(values * 3, dtype=object))


NESTED = {"list": [[1, 2]], "struct": [{"a": 1}], "binary": [b"\xff"]}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("role", ["feature", "label", "group"])
def test_nested_columns_are_refused_by_name_unless_ignored(tmp_path, capsys, kind, role):
    import pyarrow as pa
    import pyarrow.parquet

    path, n = tmp_path / "t.parquet", 40
    columns = {"x": list(range(n)), "obs": [0, 1] * 20, "odd": NESTED[kind] * n}
    pa.parquet.write_table(pa.table(columns), path)
    frame = read_table(path)
    label = "odd" if role == "label" else "obs"
    with pytest.raises(ValueError, match="column 'odd' holds values of type"):
        choose_columns(frame, label=label, groups=["odd"] if role == "group" else [])
    kinds = choose_columns(frame, label="obs", ignore=["odd"], allow_leak=["x"]).kinds
    assert {name: holds.kind for name, holds in kinds.items()} == {"x": "number"}
    code, _, err = run(capsys, "plan", path, "--label", "odd")
    assert (code, err.count("\n")) == (1, 1)


def test_text_that_is_not_utf_8_in_parquet_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    wrong = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    pa.parquet.write_table(pa.table({"a": wrong}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="is damaged or not a parquet file"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("wave", ["inf", "1.5", "1e30", "first"])
def test_waves_of_a_table_are_whole_numbers(tmp_path, capsys, wave):
    path = tmp_path / "t.csv"
    rows = [f"{i % 2},{f'1,1,{wave},0.5' if i < 3 else ',,,'}" for i in range(20)]
    path.write_text("\n".join(["obs,reviewed,stratum,wave,probability", *rows]))
    told = ["sample", path, "--n", "3", "--label", "obs", "--truth", "reviewed"]
    code, _, err = run(capsys, *told, "-o", tmp_path / "s.csv")
    assert code == 1
    assert "column 'wave' must hold the numbers of review sheets" in err


def test_twenty_thousand_columns_are_looked_at_in_linear_time(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (40, 4000)))
    frame = frame.set_axis([f"c{i}" for i in range(4000)], axis=1).assign(obs=[0, 1] * 20)
    assert len(choose_columns(frame, label="obs").kinds) == 4000
    wanted = json.loads(json.dumps([f"c{i}" for i in range(4000)]))
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv", columns=wanted).shape == (40, 4000)


@pytest.mark.parametrize("level", ["-1", "0", "1", "2", "nan", "inf"])
@pytest.mark.parametrize("command", ["plan", "audit"])
def test_a_level_is_refused_before_anything_is_read(tmp_path, capsys, command, level):
    names = (
        ["plan", "none.csv", "--label", "obs"] if command == "plan" else ["audit", "m", "none.csv"]
    )
    code, _, err = run(capsys, *names, "--level", level)
    assert code == 1
    assert err.startswith("error: level must lie in (0, 1), got")
