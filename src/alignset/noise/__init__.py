"""How labels go wrong."""

from alignset.noise.base import Noise
from alignset.noise.by_class import flip_by_class
from alignset.noise.by_features import flip_by_features
from alignset.noise.by_group import flip_by_group
from alignset.noise.uniform import flip_uniform

__all__ = ["Noise", "flip_by_class", "flip_by_features", "flip_by_group", "flip_uniform"]
