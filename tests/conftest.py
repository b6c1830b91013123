"""Settings and fixtures that every test shares."""

import pytest
from hypothesis import HealthCheck, settings

from tests.worlds import make_world

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


@pytest.fixture(scope="session")
def world():
    """A small built-in world with its sentences."""
    return make_world()
