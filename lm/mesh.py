"""Where arrays live: a mesh of devices with two axes, "data" for rows and "model" for widths (design.md 10).

A single device is a mesh of one by one, so there is one way to train.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from corpus.errors import InputError
from lm.config import MeshConfig


def make_mesh(config: MeshConfig) -> Mesh:
    """The mesh of all devices of all processes.

    Raises:
        InputError: the mesh is not as large as the number of devices, or JAX finds none.
    """
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:
        # With JAX_PLATFORMS=cuda and no such device JAX says nothing at all.
        raise InputError(
            f"JAX finds no device; unset JAX_PLATFORMS, or install what it names ({error})"
        ) from None
    if config.data * config.model > len(devices) or (jax.process_count() > 1 and config.size != len(devices)):
        raise InputError(
            f"a mesh of {config.data} x {config.model} (--mesh.data x --mesh.model) does not fit the "
            f"{len(devices)} devices of {jax.process_count()} processes"
        )
    return Mesh(np.array(devices[: config.size]).reshape(config.data, config.model), ("data", "model"))


def place_rows(mesh: Mesh, tokens: np.ndarray) -> jax.Array:
    """int32[B, T] rows, the same in every process, cut over "data"."""
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    return jax.make_array_from_callback(tokens.shape, sharding, lambda index: tokens[index])


def replicate(mesh: Mesh, tree: Any) -> Any:
    """The whole tree on each device."""
    return tree if mesh.size == 1 else jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def over_data(mesh: Mesh, function: Callable, split: Sequence[bool]) -> jax.stages.Wrapped:
    """The function, compiled, each device of "data" working on its share of rows by itself.

    No device waits for another within it, so that one whose rows are done early is done.

    Args:
        split: of each argument, whether its leaves lead with rows, as those of the result do; others are
            whole on every device.
    """
    specs = tuple(PartitionSpec("data") if rows else PartitionSpec() for rows in split)
    shared = jax.shard_map(
        function, mesh=mesh, in_specs=specs, out_specs=PartitionSpec("data"), check_vma=False
    )
    return jax.jit(shared)


def local_copy(mesh: Mesh, tree: Any) -> Any:
    """The whole tree on this process's first device."""
    if mesh.size == 1:
        return tree
    return jax.tree.map(lambda x: x.addressable_data(0), _replicate(mesh, tree))


@partial(jax.jit, static_argnums=0)
def _replicate(mesh: Mesh, tree: Any) -> Any:
    return jax.lax.with_sharding_constraint(tree, NamedSharding(mesh, PartitionSpec()))
