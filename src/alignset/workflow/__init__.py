"""From a user's table to a trusted model: plan, sample, fit, audit, predict, export."""
