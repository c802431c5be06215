"""The version of the project; pyproject.toml takes it from here."""

__version__ = "1.0.0"
