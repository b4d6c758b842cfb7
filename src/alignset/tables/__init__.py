"""A user's file: read it, tell what its columns are, turn them into numbers."""
