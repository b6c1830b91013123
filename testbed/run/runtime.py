"""Settings of JAX that every command shares."""

import ctypes
import logging
import os
import platform
import re
import sys
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any

import jax

from testbed.run.runs import provenance

FLAGS = {
    "x64": "jax_enable_x64",
    "prng": "jax_default_prng_impl",
    "precision": "jax_default_matmul_precision",
    "partitionable": "jax_threefry_partitionable",
}
"""Flags of JAX that change numbers."""
RARE_FLAGS = {
    "jax_random_seed_offset": 0,
    "jax_high_dynamic_range_gumbel": False,
    "jax_softmax_custom_jvp": False,
    "jax_disable_jit": False,
    "jax_allow_f16_reductions": True,
}
"""Such flags that hardly anybody sets, and what they are otherwise."""
MALLOC = {"trim_threshold": (-1, -1), "mmap_max": (-4, 0), "arena_max": (-8, 1)}
"""Parameters of glibc's allocator and their values: never give memory back, one heap that grows."""
WITHOUT_RESULT = re.compile(r"--xla_(dump|force_host_platform_device_count|cpu_parallel_codegen)\S*")
"""Flags of XLA that change no number."""


def numeric_flags() -> dict[str, Any]:
    """The flags of JAX and XLA that change numbers, as they are set; they belong to a result's identity."""
    flags = {name: getattr(jax.config, of_jax) for name, of_jax in FLAGS.items()}
    rare = {name: getattr(jax.config, name, usual) for name, usual in RARE_FLAGS.items()}
    flags |= {name: value for name, value in rare.items() if value != RARE_FLAGS[name]}
    xla = WITHOUT_RESULT.sub("", os.environ.get("XLA_FLAGS", ""))
    return flags | {"xla": " ".join(sorted(xla.split()))}


def circumstances() -> dict[str, str]:
    """Versions of packages, of this repository, and the device that edits are made on."""
    return provenance() | {"device": jax.devices()[0].device_kind}


def describe_device() -> str:
    """The processor, as far as the machine tells, and how many cores it has."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text(encoding="utf-8").splitlines() if cpu.exists() else []
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    kind = model if jax.default_backend() == "cpu" and model else jax.devices()[0].device_kind
    return f"{kind}, {os.cpu_count()} cores, {platform.machine()}"


def prepare_jax() -> None:
    """Keep compiled programs between commands, in the user's cache folder, and libraries quiet.

    What goes wrong in Orbax's threads, or in what a program calls back, is logged there and raised here; one
    of the two is enough. A cache that cannot be written only costs time.
    """
    for library in ("absl", "asyncio", "concurrent.futures", "jax._src.debugging", "jax._src.callback"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
    # Orbax leaves such behind where it broke off.
    warnings.filterwarnings("ignore", message="coroutine .* was never awaited")
    sys.excepthook = _print_exception
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jax.config.update("jax_compilation_cache_dir", str(base / "credence-testbed" / "xla"))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """As Python does; but nothing of what TensorStore's threads report to Orbax where it broke off."""
    if str(error) != "Event loop is closed":
        sys.__excepthook__(kind, error, trace)


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees, where the allocator is glibc's.

    XLA allocates anew, at every call, what a program needs between its inputs and outputs: 4.9 GB for a step
    of the paper's model on a CPU, which the kernel clears every time. To be called before threads begin.
    """
    set_parameter = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_parameter:
        for name, value in MALLOC.values():
            set_parameter(name, value)
