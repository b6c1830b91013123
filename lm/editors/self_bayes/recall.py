"""Beliefs that were read once, kept in the user's cache folder for later edits of the same model.

They are found again by a hash of all that they depend on: weights, vocabulary, settings, the code of this
package, versions and device. While they are read, each part that takes a while is kept, too, so that a killed
reading goes on from there.
"""

import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

import lm
from corpus.files import staged_file
from lm.editors.interface import Vocabulary
from lm.editors.self_bayes import BeliefConfig
from lm.editors.self_bayes.beliefs import Arrays, Beliefs, Keep, read_beliefs
from lm.language_model import LanguageModel

LONG, PART = 10.0, 1.0
"""Seconds of reading from which on beliefs are kept, and a part of them."""


def recall_beliefs(model: LanguageModel, vocabulary: Vocabulary, config: BeliefConfig) -> Beliefs:
    """What a model believes: as it was read before, or read now, and kept if that takes long.

    Raises:
        InputError: the model names nobody or nothing.
    """
    path = cache_folder() / f"{hash_reading(model, vocabulary, config)}.safetensors"
    parts = path.with_suffix(".parts")
    log = logging.getLogger(__name__)
    if path.exists():
        log.info("beliefs were read before: %s", path)
        return Beliefs(**load_file(path))
    log.info("reading what the model believes, once for this model")
    began = time.perf_counter()
    beliefs = read_beliefs(model, vocabulary, config, keep_in(parts))
    seconds = time.perf_counter() - began
    relations, subjects, _ = beliefs.top.shape
    log.info("beliefs about %s subjects in %s relations, read in %.0f s", f"{subjects:,}", relations, seconds)
    if seconds >= LONG:
        with staged_file(path) as aside:
            save_file({name: np.ascontiguousarray(x) for name, x in beliefs._asdict().items()}, aside)
    shutil.rmtree(parts, ignore_errors=True)
    return beliefs


def keep_in(folder: Path) -> Keep:
    """Keeps parts of a reading in a folder, each that takes PART seconds or more."""

    def keep(name: str, read: Callable[[], Arrays]) -> Arrays:
        path = folder / f"{name}.safetensors"
        if path.exists():
            content = load_file(path)
            return tuple(content[str(i)] for i in range(len(content)))
        began = time.perf_counter()
        arrays = read()
        if time.perf_counter() - began >= PART:
            with staged_file(path) as aside:
                save_file({str(i): np.ascontiguousarray(x) for i, x in enumerate(arrays)}, aside)
        return arrays

    return keep


def cache_folder() -> Path:
    """Where beliefs are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "credence-testbed" / "beliefs"


def hash_reading(model: LanguageModel, vocabulary: Vocabulary, config: BeliefConfig) -> str:
    """A hash of all that beliefs depend on."""
    seen = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path((model, vocabulary)):
        array = np.ascontiguousarray(leaf)
        seen.update(f"{jax.tree_util.keystr(path)} {array.dtype} {array.shape}".encode())
        seen.update(array.reshape(-1).view(np.uint8).data)
    for source in sorted(Path(lm.__path__[0]).rglob("*.py")):
        seen.update(source.read_bytes())
    device = jax.devices()[0].device_kind
    seen.update(repr((model.config, asdict(config), jax.__version__, np.__version__, device)).encode())
    return seen.hexdigest()[:32]
