"""A pretrained model under the ids of a corpus with its tokenizer (`corpus.text.pretrained`)."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from corpus.errors import InputError
from corpus.files import hash_content, hash_file
from corpus.text.pretrained import Pretrained, read_pretrained
from corpus.text.tokenizer import Tokenizer
from lm.config import ModelConfig
from lm.huggingface import CONFIG, find_weights, import_model, read_architecture
from lm.language_model import LanguageModel
from lm.model import Params
from testbed.run.runs import Run, folder_digest
from testbed.run.settings import TrainSettings


def load_pretrained(folder: Path, tokenizer: Tokenizer) -> LanguageModel:
    """The model of a folder, rows of its embedding and head under our ids.

    Raises:
        InputError: no such folder, an architecture that `lm.model` does not compute, or another tokenizer
            than the corpus'.
    """
    pretrained = require_same_tokenizer(folder, tokenizer)
    model = import_model(folder)
    return replace(model, params=reorder_ids(model.params, pretrained.order))


def reorder_ids(params: Params, order: np.ndarray) -> Params:
    """The same parameters with row order[i] of the embedding, and of the head, as the i-th."""
    head = params["head"] | {"kernel": params["head"]["kernel"][:, order]}
    return params | {"embedding": params["embedding"][order], "head": head}


def require_same_tokenizer(folder: Path, tokenizer: Tokenizer) -> Pretrained:
    """The tokenizer of a corpus, which is the folder's.

    Raises:
        InputError: it is another one.
    """
    own, theirs = tokenizer.pretrained, read_pretrained(folder)
    if own is None or own.checksum != theirs.checksum:
        raise InputError(
            f"the corpus has another tokenizer than {folder}: write one under another --run with "
            f"--tokenizer.kind pretrained --tokenizer.path {folder}"
        )
    return own


def shape_of(options: TrainSettings, tokenizer: Tokenizer) -> ModelConfig:
    """The shape of the model that a training goes on from, computed as its options say.

    Raises:
        InputError: as `load_pretrained`.
    """
    folder = Path(options.model_from)
    require_same_tokenizer(folder, tokenizer)
    asked = options.model
    return replace(
        read_architecture(folder).config, precision=asked.precision, remat=asked.remat, unroll=asked.unroll
    )


def inputs_of_training(run: Run, options: TrainSettings) -> dict[str, str]:
    """Hashes of what a training starts from: the corpus, and a pretrained model where there is one."""
    began = {"model": _digest_pretrained(Path(options.model_from))} if options.model_from else {}
    return {"corpus": folder_digest(run.corpus)} | began


@cache
def _digest_pretrained(folder: Path) -> str:
    return hash_content([hash_file(path) for path in (folder / CONFIG, *find_weights(folder))])
