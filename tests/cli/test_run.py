import pytest
from commands import run
from study.grids import SPEC, write_grid
from study.test_store import done

from alignset.cli import main
from alignset.study.store import Store


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
        (("--address", "tcp://x:1"), "--address and --tls-... need --engine dask"),
        (("--engine", "dask", "--address", "tls://x:1"), "needs --tls-ca, --tls-cert and --tls-k"),
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


def test_a_gpu_that_is_not_there_is_told_before_anything_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    path = write_grid(tmp_path)
    assert main(["run", str(path), "--device", "cuda", "--store", str(tmp_path / "s")]) == 1
    assert capsys.readouterr().err.startswith("error: this machine has no CUDA device")
    assert not (tmp_path / "s").exists()


def test_status_checks_and_rescues(tmp_path, capsys):
    path = tmp_path / "s.sqlite"
    Store(path).add([done(0.25, seed) for seed in range(3)])
    assert main(["status", str(path), "--check"]) == 0
    assert capsys.readouterr().out == f"{path}: every row is as it was written\n"
    content = path.read_bytes()
    at = content.index(b"0.25")
    path.write_bytes(content[:at] + b"0.35" + content[at + 4 :])
    assert main(["status", str(path)]) == 1
    assert "1 of 3 rows do not match their checksum" in capsys.readouterr().err
    assert main(["status", str(path), "--check"]) == 1
    assert capsys.readouterr().out.startswith("damaged row: experiment=noise_rate")
    assert main(["status", str(path), "--rescue", str(tmp_path / "new")]) == 1
    assert f"{tmp_path / 'new'}: 2 intact rows of {path}, 1 or more" in capsys.readouterr().out
    assert len(Store(tmp_path / "new").frame()) == 2


def test_only_keeps_the_data_sets_that_are_named(place, capsys):
    code, out, _ = run(capsys, "run", "tiny.toml", "--jobs", 1, "--only", "toy")
    assert (code, out) == (0, "results/alignset.sqlite: 4 cells trained, 0 already there\n")
    code, _, err = run(capsys, "run", "tiny.toml", "--jobs", 1, "--only", "toy,joy")
    assert (code, err) == (1, "error: --only has 'joy'; the specs have toy.\n")
