"""The deviations told in DEVIATIONS.md are those that code and grids refer to."""

import re
from pathlib import Path

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
