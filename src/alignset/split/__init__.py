"""Who is reviewed, who trains, who tests."""

from alignset.split.arrays import from_arrays
from alignset.split.parts import split
from alignset.split.problem import Part, Problem
from alignset.split.review import hold_out, review

__all__ = ["Part", "Problem", "from_arrays", "hold_out", "review", "split"]
