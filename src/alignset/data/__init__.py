"""Where X, y and group come from."""

from alignset.data.table import Table

__all__ = ["Table"]
