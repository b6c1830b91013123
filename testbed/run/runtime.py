"""Settings of JAX that every command shares."""

import logging
import os
import warnings
from pathlib import Path

import jax


def prepare_jax() -> None:
    """Keep compiled programs between commands, in the user's cache folder, and libraries quiet.

    What goes wrong in Orbax's threads is logged there and raised here; one of the two is enough. A
    cache that cannot be written only costs time.
    """
    logging.getLogger("absl").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jax.config.update("jax_compilation_cache_dir", str(base / "credence-testbed" / "xla"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
