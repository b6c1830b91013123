"""How much arithmetic a step takes, and how much the device could do in that time."""

import time

import jax
import jax.numpy as jnp

from lm.config import ModelConfig

LARGEST = 8192
LONG_ENOUGH = 0.05


def flops_per_token(model: ModelConfig, vocabulary: int, row_length: int) -> float:
    """Multiplications and additions of one training step for each token of a row.

    Forward and twice as much backward: 6 for every weight in a matrix product (the embedding is a
    lookup), 12 T N H for attention in every layer, of which a causal model needs half.
    """
    weights = model.layers * model.layer_parameters + vocabulary * model.hidden
    return 6.0 * weights + 12.0 * model.layers * row_length * model.heads * model.head_width


def attainable_flops(model: ModelConfig) -> float:
    """Floating-point operations a second of one large matrix product in the model's precision, one device.

    What the device does reach, not what its maker promises. Takes a fraction of a second.
    """
    size, dtype = 1024, jnp.dtype(model.precision)

    @jax.jit
    def product(a: jax.Array) -> jax.Array:
        return jnp.matmul(a, a, preferred_element_type=jnp.float32)

    while True:
        a = jnp.ones((size, size), dtype)
        product(a).block_until_ready()
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            product(a).block_until_ready()
            seconds.append(time.perf_counter() - began)
        if min(seconds) > LONG_ENOUGH or size >= LARGEST:
            return 2.0 * size**3 / min(seconds)
        size *= 2
