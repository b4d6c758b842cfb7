import json

import pytest
from commands import run

from alignset.estimator.names import name_of
from alignset.fitting.plain import PLAIN
from alignset.methods.registry import METHODS

NAMED = ["blend", "observed", "reviewed", "both", "recalibrated", "shrunk", "surrogate",
         "rates", "sharp", "linear", "trees"]  # fmt: skip


def test_methods_lists_every_method(capsys):
    code, out, err = run(capsys, "methods")
    assert (code, err) == (0, "")
    blends, methods = (part.splitlines() for part in out.split("\n\n"))
    assert blends[0].split() == ["name", "paper", "year", "reviewed", "fits"]
    assert [row.split()[0] for row in blends[1:]] == NAMED
    shrunk = next(row for row in blends if row.startswith("shrunk"))
    assert shrunk.split()[1:6] == ["Zhang", "et", "al.", "2022", "needs"]
    assert shrunk.strip().endswith("drawn towards the model of observed labels (PASS)")
    header, *rows = methods
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
    assert [about["name"] for about in found] == [*NAMED, *METHODS]
    assert found[0] == {
        "name": "blend",
        "title": "Blend",
        "paper": "van der Laan et al.",
        "year": 2007,
        "fits": "linear models, trees and a network on all kinds of labels, weighted by reviewed "
        "rows",
        "alignment": "takes",
        "keys": ["vanderlaan2007", "zhang2022", "zhang2019", "nodet2021", "tjandra2023"],
    }
    assert found[1]["year"] is None
    assert found[len(NAMED)] == {
        "name": "alignment",
        "title": "Alignment (proposed)",
        "paper": "Tjandra & Wiens",
        "year": 2023,
        "assumes": "being wrong is a learnable function of x, observed label and group",
        "alignment": "needs",
        "groups": "yes",
        "keys": ["tjandra2023"],
    }


def test_everything_listed_can_be_asked_for(capsys):
    run(capsys, "methods", "--json")
    for name in [*NAMED, *METHODS, *PLAIN, "irbl_trees", "joint_linear"]:
        assert name_of(name) == name
        assert run(capsys, "cite", name)[0] == 0


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("shrunk", ["article{zhang2022", "article{vanderlaan2007"]),
        ("surrogate_trees", ["article{zhang2019"]),
        ("irbl_linear", ["inproceedings{nodet2021"]),
        ("observed_linear", ["software{alignset"]),
        ("observed", ["article{vanderlaan2007"]),
    ],
)
def test_cite_knows_the_papers_behind_label_strategies(capsys, name, keys):
    _, out, _ = run(capsys, "cite", name)
    assert [line[1:-1] for line in out.splitlines() if line.startswith("@")] == keys


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
    assert "no method 'glcc'; did you mean 'glc'? there are blend, alignment" in " ".join(
        err.split()
    )
