import cards
import pytest

FOLDER = cards.PAGES


def check(name):
    committed = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert committed == cards.make_card(name), "run python tools/cards.py"


@pytest.mark.parametrize("name", ["mimic", "synthetic"])
def test_the_committed_card_is_what_the_script_makes(name):
    check(name)


@pytest.mark.network
@pytest.mark.parametrize(
    "name", ["adult", "compas", "nhanes", pytest.param("nhanes_tasks", marks=pytest.mark.long)]
)
def test_the_committed_card_is_what_the_real_data_say(real_data, name):
    real_data(name.split("_")[0])
    check(name)


def test_every_data_set_has_a_card():
    templates = (FOLDER.parents[1] / "tools/templates/cards").glob("*.md.jinja")
    names = {path.name.removesuffix(".md.jinja") for path in templates}
    pages = {path.stem for path in FOLDER.glob("*.md")} - {"tables"}  # about any table
    assert pages == set(cards.CARDS) == names
