"""Who is reviewed, who trains, who tests."""

from alignset.split.arrays import from_arrays
from alignset.split.folds import cross_fit
from alignset.split.parts import split
from alignset.split.problem import Part, Problem
from alignset.split.review import hold_out, review
from alignset.split.selection import review_weights, weigh_review

__all__ = [
    "Part",
    "Problem",
    "cross_fit",
    "from_arrays",
    "hold_out",
    "review",
    "review_weights",
    "split",
    "weigh_review",
]
