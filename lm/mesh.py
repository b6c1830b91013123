"""Where arrays live: one mesh of devices with two axes, "data" for rows and "model" for widths (DESIGN 10).

A single device is a mesh of one by one, so there is one way to train.
"""

import atexit
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from corpus.errors import InputError
from corpus.files import digest_of
from lm.config import ClusterConfig, MeshConfig

OUTPUTS = ("query", "key", "value", "gate", "up", "head")
"""Modules whose kernel is cut along its outputs; `out` and `down` along their inputs, where those meet."""


@contextmanager
def cluster(config: ClusterConfig) -> Iterator[None]:
    """Inside, this process is one of several that train together; nothing where there is only one.

    A process that fails leaves at once, with exit code 2. The others notice at their next exchange, or
    after `config.patience` seconds, and end too.

    Raises:
        InputError: the others cannot be reached, or one of them is gone.
    """
    if config.processes == 1:
        yield
        return
    try:
        _gather(config)
    except (OSError, EOFError) as error:
        raise InputError(
            f"process {config.process} of {config.processes} waited up to {config.patience} s "
            f"(--cluster.patience) and did not meet the others at {config.coordinator}: {error}"
        ) from None
    # Processes on CPUs talk by gloo; it is ignored elsewhere.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        config.coordinator,
        config.processes,
        config.process,
        initialization_timeout=config.patience,
        heartbeat_timeout_seconds=config.patience,
        shutdown_timeout_seconds=config.patience,
    )
    try:
        yield
    except BaseException as error:
        # What JAX does when a process ends waits for the others, who wait for this one, and aborts.
        atexit.register(os._exit, 2)
        if isinstance(error, jax.errors.JaxRuntimeError):
            said = str(error).splitlines()[0]
            raise InputError(
                f"another process of the cluster is gone ({said}); the same commands resume"
            ) from None
        raise


def make_mesh(config: MeshConfig) -> Mesh:
    """The mesh of all devices of all processes.

    Raises:
        InputError: the mesh is not as large as the number of devices.
    """
    devices = jax.devices()
    if config.data * config.model > len(devices) or (jax.process_count() > 1 and config.size != len(devices)):
        raise InputError(
            f"a mesh of {config.data} x {config.model} (--mesh.data x --mesh.model) does not fit the "
            f"{len(devices)} devices of {jax.process_count()} processes"
        )
    return Mesh(np.array(devices[: config.size]).reshape(config.data, config.model), ("data", "model"))


def sharded(mesh: Mesh, state: Any) -> Any:
    """The sharding of each array of a tree of parameters, or of an optimiser's state, which has their names.

    Matrices are cut over "model" as in Megatron: first products by outputs, second ones by inputs, the
    vocabulary by tokens. An axis that the devices do not divide stays whole.
    """

    def of(path: tuple, leaf: Any) -> NamedSharding:
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        axes: list[str | None] = [None] * leaf.ndim
        axis = _cut(names) if leaf.ndim > 1 else None
        if axis is not None and leaf.shape[axis] % mesh.shape["model"] == 0:
            axes[axis] = "model"
        return NamedSharding(mesh, PartitionSpec(*axes))

    return jax.tree_util.tree_map_with_path(of, state)


def place_rows(mesh: Mesh, tokens: np.ndarray) -> jax.Array:
    """int32[B, T] rows, the same in every process, cut over "data"."""
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    return jax.make_array_from_callback(tokens.shape, sharding, lambda index: tokens[index])


def local_copy(mesh: Mesh, tree: Any) -> Any:
    """The whole tree on this process's first device."""
    if mesh.size == 1:
        return tree
    return jax.tree.map(lambda x: x.addressable_data(0), _everywhere(mesh, tree))


def meet(name: str) -> None:
    """Wait until every process is here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


def agreed(value: float) -> float:
    """What the first process says, to the last bit."""
    if jax.process_count() == 1:
        return value
    # Sent as it is, a double would arrive as a float.
    bits = np.array([value]).view(np.uint32)
    return float(np.asarray(multihost_utils.broadcast_one_to_all(bits)).view(np.float64)[0])


def require_same(content: str) -> None:
    """Refuse to go on where processes would do different things.

    Raises:
        InputError: what is decisive, as text, differs between processes.
    """
    if jax.process_count() == 1:
        return
    mine = np.frombuffer(digest_of(content).encode(), np.uint8)
    if (multihost_utils.process_allgather(mine) != mine).any():
        raise InputError(
            f"process {jax.process_index()} and others have different settings, corpora or checkpoints; "
            "start all with the same options, on one file system"
        )


@partial(jax.jit, static_argnums=0)
def _everywhere(mesh: Mesh, tree: Any) -> Any:
    return jax.lax.with_sharding_constraint(tree, NamedSharding(mesh, PartitionSpec()))


def _gather(config: ClusterConfig) -> None:
    """Return once all processes are there; JAX would abort where the port is taken or one is missing."""
    end = time.monotonic() + config.patience
    if config.process:
        while True:
            try:
                with socket.create_connection((config.host, config.port), timeout=config.patience) as first:
                    if not first.recv(1):
                        raise EOFError("the first process gave up")
                    return
            except OSError:
                # The first process may come later.
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
    with socket.create_server(("", config.port)) as server, ExitStack() as others:
        server.settimeout(config.patience)
        met = [others.enter_context(server.accept()[0]) for _ in range(config.processes - 1)]
        for other in met:
            other.send(b"!")


def _cut(names: list[str]) -> int | None:
    if names[-1:] == ["embedding"]:
        return -2
    module = names[-2] if names[-1:] == ["kernel"] else None
    return -1 if module in OUTPUTS else -2 if module in ("out", "down") else None
