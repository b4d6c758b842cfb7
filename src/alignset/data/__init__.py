"""Data sets to rerun papers with: Adult, COMPAS, MIMIC-III, NHANES and synthetic."""

from alignset.data.adult import draw_train, load_adult
from alignset.data.compas import load_compas
from alignset.data.mimic import load_mimic
from alignset.data.nhanes import load_nhanes, nhanes_pipeline, undiagnosed_by_group
from alignset.data.synthetic import (
    SyntheticData,
    make_multiclass,
    make_synthetic,
    make_synthetic_released,
)
from alignset.rows.table import Table

__all__ = [
    "SyntheticData", "Table", "draw_train", "load_adult", "load_compas", "load_mimic",
    "load_nhanes", "make_multiclass", "make_synthetic", "make_synthetic_released",
    "nhanes_pipeline", "undiagnosed_by_group",
]  # fmt: skip
