"""How good, how even."""
