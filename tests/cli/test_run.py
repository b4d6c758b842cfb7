import pytest
from study.grids import SPEC, write_grid

from alignset.cli import main


def run(capsys, *argv):
    code = main([*map(str, argv)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_grid(tmp_path, SPEC.replace(', "proposed"', ""))
    return tmp_path


def test_run_trains_what_is_missing_and_status_tells(place, capsys):
    code, out, _ = run(capsys, "run", "tiny.toml", "--jobs", 1)
    assert (code, out) == (0, "results/alignset.sqlite: 4 cells trained, 0 already there\n")
    code, out, _ = run(capsys, "run", "tiny.toml", "--jobs", 1)
    assert (code, out) == (0, "results/alignset.sqlite: 0 cells trained, 4 already there\n")
    code, out, _ = run(capsys, "status", "results/alignset.sqlite")
    assert code == 0
    assert out.splitlines()[1].split() == ["tiny", "tiny", "toy", "4", "0", "0.00"]
    code, out, _ = run(capsys, "status", "tiny.toml")
    assert out.splitlines()[1].split() == ["tiny", "tiny", "4", "4", "0", "0"]


def test_quick_has_a_store_of_its_own_and_says_what_it_is(place, capsys):
    code, out, _ = run(capsys, "run", "tiny.toml", "--quick", "--jobs", 1)
    assert code == 0
    assert out.startswith("results/quick.sqlite (quick: 2 seeds, 4 configs, at most 3 settings): 4")
    _, out, _ = run(capsys, "status", "tiny.toml")
    assert out.splitlines()[1].split() == ["tiny", "tiny", "4", "0", "0", "4"]


def test_a_failed_cell_is_exit_code_1_and_told(place, capsys):
    write_grid(
        place, SPEC.replace(', "proposed"', "").replace("[review]", "[config]\nlr = 1e30\n[review]")
    )
    code, out, err = run(capsys, "run", "tiny.toml", "--jobs", 1)
    assert code == 1
    assert "4 failed (`alignset status results/alignset.sqlite` says why)" in out
    assert err.count("failed: tiny tiny toy standard rate=") == 4
    _, out, _ = run(capsys, "status", "results/alignset.sqlite")
    assert out.count("diverged: ") == 4


def test_a_wrong_spec_is_one_line(place, capsys):
    write_grid(place, SPEC.replace("seeds    = 2", "seeds = 0"))
    code, out, err = run(capsys, "run", "tiny.toml")
    assert (code, out) == (1, "")
    assert err == "error: tiny.toml: seeds must be a whole number of at least 1, got 0.\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "dask"), "--engine dask needs --address"),
        (("--address", "tcp://x:1"), "--address needs --engine dask"),
        (("--jobs", "0"), "0 is not in the range"),
    ],
)
def test_options_that_do_not_go_together_are_told(place, capsys, options, said):
    code, _, err = run(capsys, "run", "tiny.toml", *options)
    assert code == 2
    assert said in err


def test_help_of_both_commands(capsys):
    for name in ("run", "status"):
        code, out, _ = run(capsys, name, "--help")
        assert code == 0
        assert out.startswith(f"Usage: alignset {name}")
