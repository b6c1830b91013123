"""Settings of JAX that every command shares."""

import os
from pathlib import Path

import jax


def prepare_jax() -> None:
    """Keep compiled programs between commands, in the user's cache folder."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jax.config.update("jax_compilation_cache_dir", str(base / "credence-testbed" / "xla"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
