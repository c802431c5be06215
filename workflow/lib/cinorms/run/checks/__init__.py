"""Checks before anything is asked: each is one function in a registry, with one line for a terminal."""
