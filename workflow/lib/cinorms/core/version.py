"""The version of the project; pyproject.toml takes it from here."""

__version__ = "0.1.0"
