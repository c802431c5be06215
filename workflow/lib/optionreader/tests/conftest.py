"""Settings of all tests."""

from hypothesis import settings

# A busy machine is no mistake.
settings.register_profile("any time", deadline=None)
settings.load_profile("any time")
