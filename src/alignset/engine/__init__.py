"""Train all (problem, config) pairs at once."""

from alignset.engine.fits import Fits
from alignset.engine.search import Choice, LogUniform, Space, Uniform, draw_configs
from alignset.engine.stopping import BlockMean, FixedLength, Patience, Stopping
from alignset.engine.trainer import Trainer

__all__ = [
    "BlockMean",
    "Choice",
    "Fits",
    "FixedLength",
    "LogUniform",
    "Patience",
    "Space",
    "Stopping",
    "Trainer",
    "Uniform",
    "draw_configs",
]
