"""Figures: one module per kind; each draws from answers, norms or tables and never from responses."""
