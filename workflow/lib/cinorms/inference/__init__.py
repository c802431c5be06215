"""Asking models: questions, the store of replies, provenance and the engines."""
