"""Names of labels and learners, alone and together."""

import pytest

from alignset.estimator.names import name_of, needs_unreviewed, title_of
from alignset.estimator.resolve import resolve
from alignset.methods import IRBL, JointAlignment


@pytest.mark.parametrize(
    ("name", "strategies", "learners"),
    [
        ("observed", ("observed",), ("linear", "trees")),
        ("Reviewed-Trees", ("reviewed",), ("trees",)),
        ("both linear", ("both",), ("linear",)),
        ("joint_linear", ("joint",), ("linear",)),
        ("irbl_trees", ("irbl",), ("trees",)),
    ],
)
def test_labels_and_a_learner_are_a_blend_of_their_candidates(name, strategies, learners):
    found = resolve(name)
    assert (found.strategies, found.learners, found.network) == (strategies, learners, None)


def test_a_learner_alone_is_fitted_to_all_kinds_of_labels():
    found = resolve("trees")
    assert len(found.strategies) > 5
    assert (found.learners, found.network) == (("trees",), None)


def test_a_name_that_a_method_has_is_the_method():
    assert isinstance(resolve("irbl"), IRBL)
    assert isinstance(resolve("joint"), JointAlignment)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("observed_lienar", "there is no method 'observed_lienar'; "),
        ("linear_observed", "such as 'observed_linear'."),
        ("clean", "is not a method but Standard"),
    ],
)
def test_a_name_that_nothing_has_is_refused_with_help(name, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        name_of(name)
    assert said in str(caught.value)


def test_titles_are_for_readers():
    assert [title_of(name) for name in ("blend", "trees", "both", "shrunk", "irbl_trees")] == [
        "Blend", "Blend of trees", "Blend on both labels", "Blend, shrunk", "Trees, irbl",
    ]  # fmt: skip
    assert title_of("standard") == "Standard"
    assert title_of("gone_by_now") == "gone_by_now"


def test_only_what_reads_true_labels_alone_makes_sense_if_all_is_reviewed():
    needing = {name: needs_unreviewed(name) for name in ("blend", "both", "joint", "linear")}
    assert all(needing.values())
    assert not any(needs_unreviewed(n) for n in ("reviewed", "reviewed_trees", "alignment_only"))
