"""Paraphrases of a template: who is asked for them, what they must be, and the file that keeps them."""
