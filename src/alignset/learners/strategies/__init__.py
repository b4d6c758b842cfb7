"""Which labels to learn from: one file per strategy, for every learner."""
