"""Printed tables: one module per kind; each sets an analysis, or the registry, out as a paper prints it."""
