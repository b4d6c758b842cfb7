"""Where X, y and group come from."""

from alignset.data.synthetic import (
    SyntheticData,
    make_multiclass,
    make_synthetic,
    make_synthetic_released,
)
from alignset.data.table import Table

__all__ = ["SyntheticData", "Table", "make_multiclass", "make_synthetic", "make_synthetic_released"]
