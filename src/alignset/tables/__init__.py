"""A user's table: read it, work out what its columns hold and their roles, make a matrix."""

from alignset.tables.columns import Columns, choose_columns
from alignset.tables.files import read_table, write_table
from alignset.tables.kinds import kind_of
from alignset.tables.preprocess import Matrix, Preprocessing, fit_preprocessing
from alignset.tables.targets import read_cells, read_targets

__all__ = [
    "Columns",
    "Matrix",
    "Preprocessing",
    "choose_columns",
    "fit_preprocessing",
    "kind_of",
    "read_cells",
    "read_table",
    "read_targets",
    "write_table",
]
