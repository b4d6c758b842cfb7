"""Moved to ``alignset.study``; kept for one release."""

from alignset._moved import forwarder

__getattr__ = forwarder(__name__)
