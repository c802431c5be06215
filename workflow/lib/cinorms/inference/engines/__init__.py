"""Engines: how a model is reached, one module or package each."""
