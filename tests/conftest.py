"""Settings and fixtures that every test shares."""

import os

import pytest
from hypothesis import HealthCheck, settings

from testbed import corpus, train
from testbed.run.runtime import prepare_jax
from tests.runs import RECIPE, WORLD, at, copied
from tests.toys import make_toy
from tests.worlds import make_world

# Programs compiled in a third of the time, to the same numbers but for rounding. Whoever sets XLA_FLAGS decides
# alone: `make slow` sets them empty, so that the slow tests run what users run.
QUICKLY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false"
)
os.environ.setdefault("XLA_FLAGS", QUICKLY)
prepare_jax()

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


@pytest.fixture(scope="session")
def world():
    """A small built-in world with its sentences."""
    return make_world()


@pytest.fixture(scope="session")
def toy(world):
    """A small model that knows that world."""
    return make_toy(world)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A run with a corpus only."""
    runs = tmp_path_factory.mktemp("built")
    assert corpus.main([*at(runs), *WORLD]) == 0
    return runs


@pytest.fixture(scope="session")
def trained(built, tmp_path_factory):
    """A run that was trained without any interruption."""
    runs = copied(built, tmp_path_factory.mktemp("trained"))
    assert train.main([*at(runs), *RECIPE]) == 0
    return runs
