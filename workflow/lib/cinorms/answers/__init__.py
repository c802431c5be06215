"""From responses to answers: every text is read, people overrule, and a review list says what to look at."""
