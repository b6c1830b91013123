"""Settings and fixtures that every test shares."""

import gc
import os
from pathlib import Path

import jax
import pytest
from hypothesis import HealthCheck, settings

from testbed import corpus, edit, report, train
from testbed.engine import questions
from testbed.run.runtime import prepare_jax
from tests.runs import EDITS, QUICKLY, RECIPE, WORLD, at, copied
from tests.sharing import shared
from tests.toys import load_parameters, make_toy, save_parameters, train_toy
from tests.worlds import make_world

# Whoever sets XLA_FLAGS decides alone: without any (XLA_FLAGS= make slow), tests run what users run.
# Every core runs tests of its own, so threads within one would only get in each other's way.
if "XLA_FLAGS" not in os.environ:
    os.environ |= {"XLA_FLAGS": QUICKLY, "PJRT_NPROC": "1"}
# Programs are compiled once for all processes and commands, and kept for the next run of the tests; also
# small ones, since many files compile the same.
prepare_jax()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
# Answers are not kept, since a test may patch what answers.
questions.keep_in = lambda _: lambda name, work_out: work_out()

# Examples depend on --hypothesis-seed alone (pyproject.toml sets it), not on past runs, CI or the clock.
settings.register_profile(
    "project",
    max_examples=50,
    deadline=None,
    derandomize=False,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("project"), max_examples=500)
settings.load_profile("project")


# What takes longest comes first, so that no process is left with one of these when the others are done.
LONGEST = (
    "studies", "readme", "every_call", "mesh", "circumstances", "faults", "commands", "editors", "report",
    "exact_agent", "delta", "training", "model", "evaluations", "sweep", "beliefs", "revision", "probes",
    "passages", "hase_sampling", "hase_cases", "associations", "tokenizer_files", "fine_tuning",
    "hase_metrics", "writing", "huggingface", "shard", "in_context", "leme", "strength", "grace",
    "self_bayes",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    place = {f"test_{name}": i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


# What was imported is never garbage; without this each collection looks through all of it. Tracing makes
# much that lasts for a moment, and looking for circles in it every 700 objects took a tenth of the time.
gc.freeze()
gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def kept_programs():
    """What a file compiled serves later files until memory fills; what lasts is not looked through again.

    Half of the machine's memory is for the processes of all cores; one has 2.2 GB once all is imported.
    """
    yield
    memory = Path("/proc/self/statm")
    most = os.sysconf("SC_PHYS_PAGES") / (2 * os.cpu_count()) if memory.exists() else 0
    if not most or int(memory.read_text().split()[1]) > most:
        gc.unfreeze()
        jax.clear_caches()
    gc.collect()
    gc.freeze()


@pytest.fixture
def blank_pictures(monkeypatch):
    """Pictures are made but not rendered, which is half of a report: for tests that look at none of them."""
    from matplotlib.figure import Figure

    def write_blank(_, file, **__):
        (file.write if hasattr(file, "write") else file.write_text)("<svg/>")

    monkeypatch.setattr(Figure, "savefig", write_blank)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder, whose modules can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def double():
    """Double precision, since Adam's first steps turn the sign of a rounding error into a step."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def world():
    """A small built-in world with its sentences."""
    return make_world()


@pytest.fixture(scope="session")
def toy(world, tmp_path_factory):
    """A small model that knows that world."""
    path = shared(tmp_path_factory, "toy", lambda path: save_parameters(train_toy(world), path))
    return make_toy(world, load_parameters(world, path))


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A run with a corpus only."""

    def build(runs):
        assert corpus.main([*at(runs), *WORLD]) == 0

    return copied(shared(tmp_path_factory, "built", build), tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def trained(built, tmp_path_factory):
    """A run that was trained without any interruption."""

    def complete(runs):
        assert train.main([*at(copied(built, runs)), *RECIPE]) == 0

    return copied(shared(tmp_path_factory, "trained", complete), tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="session")
def finished(trained, tmp_path_factory):
    """A run with everything: edits and a report too."""

    def complete(runs):
        assert edit.main([*at(copied(trained, runs)), *EDITS]) == 0
        assert report.main(at(runs)) == 0

    return copied(shared(tmp_path_factory, "finished", complete), tmp_path_factory.mktemp("finished"))
