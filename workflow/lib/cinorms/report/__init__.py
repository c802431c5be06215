"""The report: one page that needs no network, and a card per model, made from a study's tables."""
