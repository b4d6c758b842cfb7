from pathlib import Path

import msgspec
import pytest

from alignset.methods import GJS
from alignset.study.recipe import NoiseSpec, ReviewSpec, TrainingSpec
from alignset.study.toml import convert, read_toml

FILE = Path("a.toml")


class Place(msgspec.Struct, forbid_unknown_fields=True):
    hidden: int
    noise: NoiseSpec = NoiseSpec()


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ({"hidden": 1, "size": 2}, Place, "the file has no key 'size'; it takes hidden, noise."),
        ({}, Place, "hidden is missing; it has no default."),
        ({"hidden": True}, Place, "hidden must be a whole number, got True."),
        ({"hidden": 1, "noise": 3}, Place, "noise must be a table, got 3."),
        ({"hidden": 1, "noise": {"kind": "odd"}}, Place,
         "[noise] kind must be one of by_features, by_group, uniform, observed, got 'odd'."),
        ({"a": {"hidden": 1}, "b": {"hidden": 1, "noise": {"lowest": 2}}}, dict[str, Place],
         "[b.noise] lowest must be true or false, got 2."),
        ({"share": [0.5, 2]}, ReviewSpec,
         "share must be a share in [0, 1], or one per group; write 0.1 for 10 %, got [0.5, 2]."),
        ({"composition": [0.5, 0.4]}, ReviewSpec,
         "composition must be shares that sum to 1, one per group, got (0.5, 0.4)."),
        ({"stopping": {"rule": "odd"}}, TrainingSpec,
         "[stopping] rule must be one of patience, block_mean, fixed_length, got 'odd'."),
        ({"stopping": {"rule": "patience", "length": 3}}, TrainingSpec,
         "[stopping] has no key 'length'; it takes epochs, rule."),
        ({"stopping": {"epochs": 3}}, TrainingSpec,
         "[stopping] rule is missing; it has no default."),
        ({"n_views": 1.5}, GJS, "n_views must be a whole number, got 1.5."),
        ({"perturbation": {"noise": "no"}}, GJS,
         "[perturbation] noise must be a number, got 'no'."),
        ({"pi": 2}, GJS, "pi must lie in (0, 1), got 2.0; use Standard() for its limit 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_of_the_innermost_table(values, kind, said):
    with pytest.raises(ValueError, match=r"a\.toml") as caught:
        convert(values, kind, FILE)
    assert str(caught.value).startswith(f"a.toml: {said}")


def test_a_table_that_is_inside_another_is_named_with_it():
    with pytest.raises(ValueError, match=r"^a.toml: \[rules.toy\] hidden is missing"):
        convert({}, Place, FILE, "rules.toy")
    with pytest.raises(ValueError, match=r"^a.toml: \[vary\] name must be a string, got 3.$"):
        convert(3, str, FILE, "vary", "name")


def test_a_file_that_is_no_toml_is_named(tmp_path):
    (tmp_path / "odd.toml").write_text("x = ")
    with pytest.raises(ValueError, match=r"odd.toml is not valid TOML"):
        read_toml(tmp_path / "odd.toml")
