"""Who is reviewed, who trains, who tests."""

from alignset.split.problem import Part, Problem

__all__ = ["Part", "Problem"]
