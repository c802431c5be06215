"""From responses to answers: every text is read, people can override, and a review list shows what to check."""
