"""A training keeps the memory that it frees."""

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource
from testbed.run.runtime import keep_freed_memory
keep_freed_memory()
import jax
import jax.numpy as jnp

@jax.jit
def add_waves(x):
    return jax.lax.fori_loop(0, 2, lambda _, y: jnp.sin(y)[::-1] + jnp.cos(y), x).sum()

x = jnp.ones(8_000_000)
for _ in range(4):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    add_waves(x).block_until_ready()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_a_program_finds_the_memory_of_its_last_call():
    command = [sys.executable, "-c", COUNT_FAULTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Two arrays of 32 MB would be 15,625 pages of 4 KiB that the kernel had cleared.
    assert int(done.stdout) < 1000
