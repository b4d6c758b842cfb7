from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "data"


@pytest.fixture(scope="module")
def make_cards():
    spec = spec_from_file_location("make_cards", FOLDER / "make_cards.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(make_cards, name):
    committed = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert committed == make_cards.make_card(name), "run python docs/data/make_cards.py"


@pytest.mark.parametrize("name", ["mimic", "synthetic"])
def test_the_committed_card_is_what_the_script_makes(make_cards, name):
    check(make_cards, name)


@pytest.mark.network
@pytest.mark.parametrize("name", ["adult", "compas", "nhanes"])
def test_the_committed_card_is_what_the_real_data_say(make_cards, real_data, name):
    real_data(name)
    check(make_cards, name)


def test_every_data_set_has_a_card(make_cards):
    cards = {path.stem for path in FOLDER.glob("*.md")}
    assert cards == set(make_cards.CARDS) == {path.stem for path in FOLDER.glob("templates/*.md")}
