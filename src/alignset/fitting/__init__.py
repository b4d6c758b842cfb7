"""From a table to a model worth trusting: fit, compare, keep, tipping point."""
