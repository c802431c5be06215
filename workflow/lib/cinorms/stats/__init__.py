"""Statistics of answers and norms, each a pure function of tables."""
