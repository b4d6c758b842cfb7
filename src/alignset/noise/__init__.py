"""How labels go wrong."""
