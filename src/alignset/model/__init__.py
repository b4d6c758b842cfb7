"""A fitted model: what it predicts, and the folder it is kept in."""
