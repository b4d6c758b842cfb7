"""Moved to ``alignset.rows``; kept for one release."""

from alignset._moved import forwarder

__getattr__ = forwarder(__name__)
