"""The code that a run's corpus and model were made by, as hashes, and whether it is still here."""

from corpus.files import hash_content
from testbed.engine.identity import code_of
from testbed.run.runs import Run, recorded_code

MAKERS = {
    "corpus": ("corpus.world", "corpus.pipeline", "corpus.exact", "corpus.generative"),
    "train": ("lm.training", "lm.batches", "lm.language_model"),
}
"""Stage -> modules that draw, write, train and read, each with all that it imports."""
WHAT = {"corpus": "the corpus", "train": "the model"}


def code_of_stage(stage: str) -> str:
    """A hash of the code that makes a stage here."""
    return hash_content([code_of(module) for module in MAKERS[stage]])


def describe_other_code(run: Run) -> list[str]:
    """In words, which of corpus and model were made by other code than is here."""
    return [
        f"{what} of {run.folder} was made by other code than is here, which may make or read it otherwise; "
        f"where that matters, make it again under another --run"
        for stage, what in WHAT.items()
        if recorded_code(run, stage) not in ("", code_of_stage(stage))
    ]
