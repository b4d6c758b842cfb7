"""Names that moved answer at their old place, with a warning, for one release."""

import importlib

import numpy as np
import pytest

import alignset
from alignset._moved import MOVED, RENAMED


@pytest.mark.parametrize(
    ("old", "name"), [(old, name) for old, names in MOVED.items() for name in names]
)
def test_an_old_name_still_answers_and_says_where_it_is_now(old, name):
    if old == "alignset":
        pytest.skip("a module by that name: see below")
    new = getattr(importlib.import_module(MOVED[old][name]), RENAMED.get(name, name))
    with pytest.warns(DeprecationWarning, match=rf"{old}\.{name} is now"):
        assert getattr(importlib.import_module(old), name) is new


def test_review_can_still_be_called():
    importlib.import_module("alignset.review")
    with pytest.warns(DeprecationWarning, match=r"now alignset\.draw_review") as record:
        found = alignset.review(np.zeros(20, int), share=0.5, random_state=0)
    assert record[0].filename == __file__
    assert found.sum() == 10


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        importlib.import_module("alignset.split").nothing  # noqa: B018
