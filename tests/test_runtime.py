"""A training keeps the memory that it frees; flags that change numbers are found."""

import platform
import subprocess
import sys

import jax
import pytest

from testbed.run.runtime import RARE_FLAGS, numeric_flags

COUNT_FAULTS = """
import resource
from testbed.run.runtime import keep_freed_memory
keep_freed_memory()
import jax
import jax.numpy as jnp

@jax.jit
def add_waves(x):
    return jax.lax.fori_loop(0, 2, lambda _, y: jnp.sin(y)[::-1] + jnp.cos(y), x).sum()

def count_faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    add_waves(x).block_until_ready()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

x = jnp.ones(8_000_000)
# A call may begin before the memory of the last one is free; then the heap grows, but not at every call.
print(min(count_faults() for _ in range(8)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_a_program_finds_the_memory_of_its_last_call():
    command = [sys.executable, "-c", COUNT_FAULTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Two arrays of 32 MB would be 15,625 pages of 4 KiB that the kernel had cleared.
    assert int(done.stdout) < 1000


@pytest.mark.parametrize("name", RARE_FLAGS)
def test_a_flag_that_changes_numbers_belongs_to_results_where_it_is_set(name):
    """JAX_RANDOM_SEED_OFFSET=5 gave other edits under the same name, for one."""
    usual = getattr(jax.config, name)
    assert usual == RARE_FLAGS[name]
    assert name not in numeric_flags()
    other = not usual if isinstance(usual, bool) else usual + 1
    try:
        jax.config.update(name, other)
        assert numeric_flags()[name] == other
    finally:
        jax.config.update(name, usual)
