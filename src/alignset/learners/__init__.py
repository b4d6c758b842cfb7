"""Any learner on any labels, and the blend of them that the reviewed rows ask for."""

from alignset.learners.base import Learner, Predictor
from alignset.learners.candidates import LEARNERS, STRATEGIES, Blend, Candidate
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Strategy
from alignset.learners.trees import Trees

__all__ = [
    "LEARNERS", "STRATEGIES", "Blend", "Candidate", "Learner", "Linear", "Predictor", "Strategy",
    "Trees",
]  # fmt: skip
