"""From a table to a model you can trust: fit, compare, keep, tipping point."""
