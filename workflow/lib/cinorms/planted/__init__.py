"""Planted respondents: simulated models with known norms, noise and invalid answers."""
