"""What the rules of the workflow take from a study: every path, input and parameter."""
