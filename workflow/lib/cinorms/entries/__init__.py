"""Entries of a study: what a kind of analysis, figure or printed table is, and the files an entry is made from."""
