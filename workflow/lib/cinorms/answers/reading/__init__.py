"""Reading one text: which option of the scale a model chose, or why that cannot be said."""
