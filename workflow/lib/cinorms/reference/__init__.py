"""The pages of docs/reference, written from the declarations of kinds, keys and columns."""
