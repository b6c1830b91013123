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
    """Which of corpus and model were made by another version of the code, in words."""
    return [
        f"{what} of {run.folder} was made by another version of this code, which may write or read it "
        f"differently; if that matters, make a new one under another --run"
        for stage, what in WHAT.items()
        if recorded_code(run, stage) not in ("", code_of_stage(stage))
    ]
