"""The engine ``planted``: respondents with known norms; no model is asked."""
