"""The deviations told in DEVIATIONS.md are those that code and grids refer to."""

import re
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent.parent
ROOT = HERE.parent.parent
NUMBER = re.compile(r"Deviation (\d+)")


def referred(files):
    return {int(n) for file in files for n in NUMBER.findall(file.read_text(encoding="utf-8"))}


def told(text):
    return [int(n) for n in re.findall(r"^### (\d+)\. ", text, flags=re.MULTILINE)]


def sources():
    yield from (ROOT / "src").rglob("*.py")
    yield from HERE.glob("*.py")
    yield from HERE.glob("*.toml")


def test_every_deviation_is_told_and_referred_to():
    numbers = told((HERE / "DEVIATIONS.md").read_text(encoding="utf-8"))
    assert numbers == list(range(1, len(numbers) + 1)), "numbered in order, each once"
    assert referred(sources()) == set(numbers)


def test_a_reference_to_nothing_would_be_seen(tmp_path):
    stray = tmp_path / "stray.py"
    stray.write_text("x = 1  # Deviation 99\n")
    assert referred([*sources(), stray]) != referred(sources())


def test_every_deviation_has_a_switch_or_an_effect_or_says_why_not():
    text = (HERE / "DEVIATIONS.md").read_text(encoding="utf-8")
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        assert re.search(r"Switch|Effect of|No switch: ", section), section.partition("\n")[0]


def test_effects_are_those_of_the_runs():
    runs = pd.read_csv(ROOT / "docs/reproduction/variants.csv")
    runs = runs[runs["question"] == "deviations"].set_index(["experiment", "x", "method", "change"])
    hm = runs["hm_released"]
    sections = re.split(
        r"^### ", (HERE / "DEVIATIONS.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    checked = 0
    for section in sections[1:]:
        number = section.partition(".")[0]
        told = re.search(
            r"Effect of[^:]*: ([+-]?\.\d+) and ([+-]?\.\d+)[^\d]", section.replace("\n", " ")
        )
        if told is None or number in ("11", "12", "13", "20", "21"):
            continue  # at other places
        names = [c for *_, c in hm.index if c.startswith(f"{number}: ") and "same" not in c]
        for method, value in zip(("proposed", "standard"), told.groups(), strict=True):
            here = ("noise_rate", 0.5, method)
            gap = hm.loc[(*here, names[0])] - hm.loc[(*here, "nothing")]
            assert abs(float(value) - gap) < 0.0011, (number, method, value, gap)
            checked += 1
    assert checked >= 14
