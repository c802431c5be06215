"""Asking models: questions, shards, the journal, provenance and the engines."""
