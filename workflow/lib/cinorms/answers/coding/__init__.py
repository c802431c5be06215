"""A coder: a model that reads the replies that no rule could read, and the people who check it."""
