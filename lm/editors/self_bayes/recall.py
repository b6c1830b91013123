"""Beliefs that were read once, kept in the user's cache folder for later edits of the same model.

They are found again by a hash of all that they depend on: weights, vocabulary, settings, the code of this
package, versions and device. While they are read, each part that takes a while is kept, too, so that a killed
reading goes on from there.
"""

import logging
import shutil
import time
from dataclasses import asdict

from lm.editors.interface import Vocabulary
from lm.editors.self_bayes import BeliefConfig
from lm.editors.self_bayes.beliefs import Beliefs, read_beliefs
from lm.keeping import Arrays, cache_folder, hash_causes, keep_in
from lm.language_model import LanguageModel

LONG, PART = 10.0, 1.0
"""Seconds of reading from which on beliefs are kept, and a part of them."""


def recall_beliefs(model: LanguageModel, vocabulary: Vocabulary, config: BeliefConfig) -> Beliefs:
    """What a model believes: as it was read before, or read now, and kept if that takes long.

    Raises:
        InputError: the model names nobody or nothing.
    """
    folder, log = cache_folder("beliefs"), logging.getLogger(__name__)
    name = hash_causes((model, vocabulary), model.config, asdict(config))
    parts = folder / f"{name}.parts"

    def read() -> Arrays:
        log.info("reading what the model believes, once for this model")
        began = time.perf_counter()
        beliefs = read_beliefs(model, vocabulary, config, keep_in(parts, PART))
        seconds = time.perf_counter() - began
        relations, subjects, _ = beliefs.top.shape
        known = f"beliefs about {subjects:,} subjects in {relations} relations"
        log.info("%s, read in %.0f s", known, seconds)
        return beliefs

    beliefs = Beliefs(*keep_in(folder, LONG)(name, read))
    shutil.rmtree(parts, ignore_errors=True)
    return beliefs
