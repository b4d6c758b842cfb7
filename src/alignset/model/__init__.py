"""A fitted model: what it answers, and the folder it is kept in."""
