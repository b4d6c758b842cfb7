import msgspec
import pytest
from study.grids import load_grid

from alignset.study import expand
from alignset.study.recipe import NoiseSpec, RangeSpec, Recipe, ReviewSpec
from alignset.study.records import as_json


def test_a_recipe_comes_back_from_its_json_with_the_same_key(tmp_path):
    for cell in expand(load_grid(tmp_path))[0]:
        text = as_json(cell.recipe)
        again = msgspec.json.decode(text, type=Recipe)
        assert again == cell.recipe
        assert as_json(again) == text


def test_layers_go_over_one_another_where_they_say_something():
    base = ReviewSpec(share=0.1, test=0.2)
    found = base.over(ReviewSpec(share=0.3), ReviewSpec(), ReviewSpec(composition=(0.5, 0.5)))
    assert found == ReviewSpec(share=0.3, test=0.2, composition=(0.5, 0.5))
    assert NoiseSpec(lowest=True).over(NoiseSpec(lowest=False)).lowest is False


def test_a_recipe_cannot_be_changed_by_mistake(tmp_path):
    recipe = expand(load_grid(tmp_path))[0][0].recipe
    with pytest.raises(AttributeError):
        recipe.seed = 3
    with pytest.raises(AttributeError):
        recipe.noise.rate = 0.5


def test_a_range_is_one_of_three():
    with pytest.raises(ValueError, match="one of log_uniform, uniform and choice"):
        RangeSpec(log_uniform=(0.1, 1.0), uniform=(0.1, 1.0))
    with pytest.raises(ValueError, match="one of log_uniform, uniform and choice"):
        RangeSpec()
