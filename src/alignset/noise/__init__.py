"""How labels go wrong."""

from alignset.noise.at_random import flip_by_class, flip_by_group, flip_uniform
from alignset.noise.base import Noise
from alignset.noise.by_features import flip_by_features

__all__ = ["Noise", "flip_by_class", "flip_by_features", "flip_by_group", "flip_uniform"]
