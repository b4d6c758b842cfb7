"""Rows: tables, the parts of a split, and which rows are reviewed, train or test."""

from alignset.rows.folds import cross_fit
from alignset.rows.parts import split
from alignset.rows.problem import Part, Problem
from alignset.rows.review import draw_review, hold_out
from alignset.rows.selection import review_weights, weigh_review
from alignset.rows.table import Table, from_arrays

__all__ = [
    "Part", "Problem", "Table", "cross_fit", "draw_review", "from_arrays", "hold_out",
    "review_weights", "split", "weigh_review"
]  # fmt: skip
