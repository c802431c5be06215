"""Around a run: what is checked before anything is spent, confirming paraphrases, progress, and what has been done."""
