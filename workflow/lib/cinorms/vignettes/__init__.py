"""Datasets: factorial designs and lists of vignettes, and the values that people, laws or policies expect."""
