"""A pretrained model under the ids of a corpus with its tokenizer (`corpus.text.pretrained`)."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from corpus.errors import InputError
from corpus.files import hash_content, hash_file
from corpus.text.pretrained import Pretrained, read_pretrained
from corpus.text.tokenizer import Tokenizer, tokenizer_files
from lm.huggingface import CONFIG, export_model, find_weights, import_model
from lm.language_model import LanguageModel
from testbed.run.runs import Run, folder_digest
from testbed.run.settings import TrainSettings


def load_pretrained(folder: Path, tokenizer: Tokenizer) -> LanguageModel:
    """The model of a folder, rows of its embedding and head under our ids.

    Raises:
        InputError: no such folder, an architecture that `lm.model` does not compute, or another tokenizer
            than the corpus'.
    """
    return import_model(folder, require_same_tokenizer(folder, tokenizer).order)


def export_to_readers(
    model: LanguageModel, tokenizer: Tokenizer, folder: Path, beside: Mapping[str, dict] | None = None
) -> None:
    """Write model and tokenizer as one folder for Hugging Face's libraries.

    What began as a pretrained model has its own tokenizer and ids there, as others know it.
    """
    pretrained, files = tokenizer.pretrained, tokenizer_files(tokenizer)
    if pretrained:
        files["tokenizer.json"] = pretrained.content
    order = pretrained.order if pretrained else None
    export_model(model, folder, files | dict(beside or {}), order)


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


def inputs_of_training(run: Run, options: TrainSettings) -> dict[str, str]:
    """Hashes of what a training starts from: the corpus, and a pretrained model where there is one."""
    began = {"model": _digest_pretrained(Path(options.model_from))} if options.model_from else {}
    return {"corpus": folder_digest(run.corpus)} | began


@cache
def _digest_pretrained(folder: Path) -> str:
    return hash_content([hash_file(path) for path in (folder / CONFIG, *find_weights(folder))])
