"""Cumulative link models."""
