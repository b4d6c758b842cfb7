import json

import pytest

from alignset.cli import main
from alignset.methods.registry import METHODS


def run(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_methods_lists_every_method(capsys):
    code, out, err = run(capsys, "methods")
    assert (code, err) == (0, "")
    header, *rows = out.splitlines()
    assert header.split() == ["name", "paper", "year", "reviewed", "groups", "assumes"]
    assert [row.split()[0] for row in rows] == list(METHODS)
    glc = next(row for row in rows if row.startswith("glc"))
    assert "Hendrycks et al." in glc
    assert "2018" in glc
    assert glc.split()[5:7] == ["needs", "option"]


def test_methods_as_json(capsys):
    code, out, _ = run(capsys, "methods", "--json")
    found = json.loads(out)
    assert code == 0
    assert [about["name"] for about in found] == list(METHODS)
    assert found[0] == {
        "name": "alignment",
        "title": "Alignment (proposed)",
        "paper": "Tjandra & Wiens",
        "year": 2023,
        "assumes": "being wrong is a learnable function of x, observed label and group",
        "alignment": "needs",
        "groups": "yes",
        "keys": ["tjandra2023"],
    }


def test_cite_alone_is_this_software_and_its_paper(capsys):
    code, out, _ = run(capsys, "cite")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("@")] == [
        "@software{alignset,",
        "@inproceedings{tjandra2023,",
    ]


def test_cite_prints_each_paper_once(capsys):
    code, out, _ = run(capsys, "cite", "forward", "Backward", "sln-filter")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("@")] == [
        "@inproceedings{patrini2017,",
        "@inproceedings{chen2021,",
        "@inproceedings{arpit2017,",
    ]


@pytest.mark.parametrize("names", [("glcc",), ("forward", "glcc")])
def test_an_unknown_method_exits_2_with_a_guess_and_prints_nothing(capsys, names):
    code, out, err = run(capsys, "cite", *names)
    assert (code, out) == (2, "")
    assert "no method 'glcc'; did you mean 'glc'? there are alignment" in " ".join(err.split())
