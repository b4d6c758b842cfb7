"""Train all (problem, config) pairs at once."""

from alignset.engine.fits import Fits
from alignset.engine.search import draw_configs
from alignset.engine.stopping import BlockMean, FixedLength, Patience, Stopping
from alignset.engine.trainer import Trainer

__all__ = ["BlockMean", "Fits", "FixedLength", "Patience", "Stopping", "Trainer", "draw_configs"]
