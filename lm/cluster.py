"""Several processes that train together: how they meet, wait, agree, and end when one of them does."""

import atexit
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import jax
import numpy as np
from jax.experimental import multihost_utils

from corpus.errors import InputError
from corpus.files import hash_content
from lm.config import ClusterConfig


@contextmanager
def join_cluster(config: ClusterConfig) -> Iterator[None]:
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
        _await_processes(config)
    except (OSError, EOFError) as error:
        raise InputError(
            f"process {config.process} of {config.processes} waited up to {config.patience} s "
            f"(--cluster.patience) and did not meet the others at {config.coordinator}: {error}"
        ) from None
    # Processes on CPUs talk by gloo; it is ignored elsewhere.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # It would take SIGTERM for advice.
    jax.config.update("jax_enable_preemption_service", False)
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
        if isinstance(error, jax.errors.JaxRuntimeError) or "Gloo" in str(error):
            reason = str(error).splitlines()[0]
            raise InputError(
                f"another process of the cluster is gone ({reason}); the same commands resume"
            ) from None
        raise


def meet_at(name: str) -> None:
    """Wait until every process is here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


def broadcast_value(value: float) -> float:
    """What the first process says, to the last bit."""
    if jax.process_count() == 1:
        return value
    # Sent as it is, a double would arrive as a float.
    bits = np.array([value], np.float64).view(np.uint32)
    return float(np.asarray(multihost_utils.broadcast_one_to_all(bits)).view(np.float64)[0])


def require_same(content: str) -> None:
    """Refuse to go on where processes would do different things.

    Raises:
        InputError: what is decisive, as text, differs between processes.
    """
    if jax.process_count() == 1:
        return
    mine = np.frombuffer(hash_content(content).encode(), np.uint8)
    if (multihost_utils.process_allgather(mine) != mine).any():
        raise InputError(
            f"process {jax.process_index()} and others have different settings, corpora or checkpoints; "
            "start all with the same options, on one file system"
        )


def _await_processes(config: ClusterConfig) -> None:
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
