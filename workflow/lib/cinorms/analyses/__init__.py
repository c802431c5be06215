"""Analyses as entries of a study name them: one function per kind, from tables to one tidy table."""
