"""Prompt sets, the variants of an arm, the orders of the options, and the text that a model is sent."""
