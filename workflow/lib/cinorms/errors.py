"""Errors that a user can mend: shown as one message, never as a traceback."""


class CinormsError(Exception):
    """Base of all errors that say what was given, what is allowed and what to do."""


class ConfigError(CinormsError):
    """A study, registry or resource file asks for something that is not there or not allowed."""


class DataError(CinormsError):
    """A data file is missing, unreachable, changed or not what it should be."""
