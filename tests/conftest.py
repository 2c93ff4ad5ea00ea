"""Settings for all tests: timings are never a reason to fail."""

from hypothesis import settings

settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")
