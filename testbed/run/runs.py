"""A run on disk: where everything of one world lives, and what may be written there (design.md 8).

runs/<name>/config.json              settings, versions, git revision of every stage
runs/<name>/world/ corpus/           graph, distributions; sentences, tokens
runs/<name>/lm/                      checkpoints/, metrics.jsonl
runs/<name>/edits/<evaluation>/<editor>-<hash>/
                                     cases.parquet, choices.parquet, claims.parquet, summary.json
runs/<name>/report/                  index.html, pictures, tables
"""

import hashlib
import json
import platform
import shlex
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from corpus.files import CHECKSUMS, hash_file, read_json, read_record, verify_folder, write_record
from lm.checkpoint_files import MEASURED, all_checkpoints, latest_checkpoint
from testbed.run.settings import CorpusSettings, TrainSettings, as_plain_data

DEFAULT_ROOT = Path("runs")
SETTINGS = {"corpus": CorpusSettings, "train": TrainSettings}
"""Of the stages that a run records."""
ORIGIN = "origin.json"
"""In a corpus: the world it is about, and the settings of both."""
NUMERIC_PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy")
"""Whose versions may change the numbers that come of edits."""
PACKAGES = (*NUMERIC_PACKAGES, "orbax-checkpoint", "numba", "tokenizers")
USUAL_FLAGS = {"x64": False, "prng": "threefry2x32", "precision": None, "partitionable": True, "xla": ""}
"""Flags of JAX that change numbers, as they are where nobody sets them."""


@dataclass(frozen=True)
class Run:
    """Paths of one run. `name` is a plain folder name under `root`."""

    root: Path
    name: str
    pages: Path | None = None
    """Where its report goes, where that is another folder."""

    def __post_init__(self) -> None:
        if not self.name or Path(self.name).name != self.name or self.name in (".", ".."):
            raise InputError(f"the run {self.name!r} should be a plain name, such as demo")

    @property
    def options(self) -> str:
        """What a command line says to mean this run."""
        runs = "" if self.root == DEFAULT_ROOT else f" --runs {shlex.quote(str(self.root))}"
        return f"--run {shlex.quote(self.name)}{runs}"

    @property
    def folder(self) -> Path:
        """Everything of this run."""
        return self.root / self.name

    @property
    def config_file(self) -> Path:
        """Settings of every stage, with versions."""
        return self.folder / "config.json"

    @property
    def world(self) -> Path:
        """Graph and generative distributions."""
        return self.folder / "world"

    @property
    def corpus(self) -> Path:
        """Sentences, tokenizer and token files."""
        return self.folder / "corpus"

    @property
    def checkpoints(self) -> Path:
        """Orbax checkpoints by step."""
        return self.folder / "lm" / "checkpoints"

    @property
    def metrics(self) -> Path:
        """Loss and accuracy, one JSON object a line."""
        return self.folder / "lm" / "metrics.jsonl"

    @property
    def finished_file(self) -> Path:
        """Step and accuracy at which training ended; absent before."""
        return self.folder / "lm" / "finished.json"

    @property
    def earlier_file(self) -> Path:
        """What a pretrained model knew before it read, and says still; absent of one from scratch."""
        return self.folder / "lm" / "earlier.json"

    @property
    def edits(self) -> Path:
        """A folder for each evaluation, in it one per editor and settings."""
        return self.folder / "edits"

    @property
    def report(self) -> Path:
        """The report's pages, pictures and tables."""
        return self.pages or self.folder / "report"


class NotMadeError(InputError):
    """Something is missing that a command makes; its message ends in that command.

    Attributes:
        stage: the command, such as train.
    """

    def __init__(self, why: str, stage: str, run: Run) -> None:
        super().__init__(f"{why}; run python -m testbed.{stage} {run.options} first")
        self.why, self.stage, self.run = why, stage, run


def claim_stage(
    run: Run, stage: str, settings: Any, made: bool, inputs: dict[str, str] | None = None, version: int = 0
) -> None:
    """Record the settings of a stage, or check that they are those its results were made with.

    A setting that the record does not have is taken to be at its default there; one that is gone is left out.

    Args:
        made: whether the stage has results; while it has none, other settings may still be chosen.
        inputs: hashes of what the stage is made from; they bind as the settings do.
        version: of the code that makes it, which is recorded and does not bind.

    Raises:
        InputError: the run was made with other settings; the message names the first that differ.
    """
    own_record = {"settings": as_plain_data(settings), "inputs": inputs or {}}
    stages, is_complete = _recorded_stages(run)
    if made:
        _check_parts(run, stage, stages)
        folder = run.folder if stage == "corpus" else run.checkpoints.parent
        if stage not in stages:
            raise InputError(
                f"{run.config_file} does not know how the {stage} stage was made, nor does any other file of "
                f"{run.folder}; choose another --run, or move {folder} away"
            )
        changed = differing_settings(_fit_stage(stage, stages[stage]), own_record)
        if changed:
            listing = "; ".join(changed[:3])
            raise InputError(
                f"{run.folder}: the {stage} stage was made with other settings ({listing}); "
                f"choose another --run, or move {folder} away"
            )
        if is_complete:
            return
    else:
        stages[stage] = own_record | {"made_with": provenance(), "version": version}
    run.folder.mkdir(parents=True, exist_ok=True)
    write_record(run.config_file, stages)


def recorded_settings(run: Run, stage: str) -> tuple[dict, dict]:
    """The settings a stage was run with, and the hashes of what it was made from.

    Raises:
        NotMadeError: the stage has not been run.
    """
    stages, _ = _recorded_stages(run)
    if stage not in stages:
        raise NotMadeError(f"{run.folder} has no {stage} stage yet", stage, run)
    _check_parts(run, stage, stages)
    recorded = _fit_stage(stage, stages[stage])
    return recorded["settings"], recorded["inputs"]


def settings_on_record(run: Run, stage: str) -> dict:
    """The settings of a stage as the run's record has them, whether or not its parts are whole; or empty.

    Raises:
        InputError: there is no record, or it cannot be read.
    """
    stages, _ = _recorded_stages(run)
    return _fit_stage(stage, stages[stage])["settings"] if stage in stages else {}


def unlike_settings(run: Run, other: Run) -> list[str]:
    """Settings of corpus and training in which two runs differ, but for their seeds."""
    keys = []
    own_stages, other_stages = (_recorded_stages(any_run)[0] for any_run in (run, other))
    for stage in own_stages.keys() & other_stages.keys():
        own, other_settings = (_fit_stage(stage, of[stage])["settings"] for of in (own_stages, other_stages))
        differ = differing_settings(own, other_settings)
        keys += [difference.partition(" is ")[0] for difference in differ]
    return [key for key in keys if key != "seed"]


def _recorded_stages(run: Run) -> tuple[dict, bool]:
    """What config.json says, and True; where it is lost or damaged, what the parts say of themselves."""
    try:
        return read_record(run.config_file), True
    except InputError as error:
        stages = _stages_by_parts(run)
        if not stages and run.config_file.exists():
            raise error from None
        return stages, False


def _check_parts(run: Run, stage: str, stages: dict) -> None:
    """Refuse a record of a stage that says otherwise than one of its parts says of itself.

    Raises:
        InputError: names the part, and the first settings that differ.
    """
    parts = [run.corpus / ORIGIN] if stage == "corpus" else []
    parts += [path / MEASURED for path in all_checkpoints(run.checkpoints)] if stage == "train" else []
    for path in parts:
        made = read_json(path, path.parent).get("made") if path.is_file() else None
        if made and stage in stages:
            differ = differing_settings(_fit_stage(stage, made), _fit_stage(stage, stages[stage]))
            if differ:
                raise InputError(
                    f"{path.parent} was made with other settings than {run.config_file} says "
                    f"({'; '.join(differ[:3])}); move away the one that is wrong"
                )


def _stages_by_parts(run: Run) -> dict:
    """Stage -> how it was made, from the whole corpus and the newest whole checkpoint."""
    parts = {"corpus": (run.corpus, ORIGIN)}
    newest = latest_checkpoint(run.checkpoints)
    if newest:
        parts["train"] = (newest, MEASURED)
    stages = {}
    for stage, (folder, name) in parts.items():
        try:
            verify_folder(folder)
            recorded_stage = read_json(folder / name)["made"]
            stages[stage] = {key: recorded_stage[key] for key in ("settings", "inputs")} | {"made_with": {}}
        except (InputError, KeyError):
            continue
    return stages


def provenance() -> dict[str, str]:
    """Versions of Python, the packages that matter and this repository."""
    describe = ["git", "describe", "--always", "--dirty"]
    try:
        git = subprocess.run(describe, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        revision = git.stdout.strip()
    except OSError:
        # No git on this machine.
        revision = ""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "revision": revision or "unknown",
    }


def finished_training(run: Run) -> dict[str, Any]:
    """What finished.json says: step, accuracy, best step, and checksums of metrics and checkpoints.

    Raises:
        NotMadeError: no training was finished, or the file is damaged.
    """
    if not run.finished_file.exists():
        raise NotMadeError(f"{run.folder} has no finished training", "train", run)
    try:
        return read_record(run.finished_file)
    except InputError as error:
        # Training again writes it again, from the checkpoints that are there.
        raise NotMadeError(str(error).partition("; ")[0], "train", run) from None


def read_metrics(run: Run) -> list[dict]:
    """The lines of metrics.jsonl; of a training that goes on, without a last line that was cut off.

    Raises:
        NotMadeError: the file is missing or damaged; training again writes it again.
    """
    if run.finished_file.exists() and not (
        run.metrics.is_file() and hash_file(run.metrics) == finished_training(run)["metrics"]
    ):
        raise NotMadeError(f"{run.metrics} is missing or differs from its checksum", "train", run)
    try:
        lines = run.metrics.read_text(encoding="utf-8").split("\n")
        # What stands behind the last line end is empty, or half a line.
        return [json.loads(line) for line in lines[:-1]]
    except (OSError, ValueError, RecursionError) as error:
        raise NotMadeError(f"{run.metrics} is not readable ({error})", "train", run) from None


def describe_run(run: Run) -> tuple[str, str, str, str, str]:
    """A run's name, and how far its corpus, model, edits and report are; a damaged file is said to be so."""
    corpus = "written" if run.corpus.exists() else "unfinished"
    try:
        model = _describe_model(run)
    except InputError:
        model = "unreadable"
    edit_counts: dict[str, int] = {}
    for path in run.edits.glob(f"*/*/{CHECKSUMS}"):
        edit_counts[path.parents[1].name] = edit_counts.get(path.parents[1].name, 0) + 1
    edits = ", ".join(f"{name}: {count}" for name, count in sorted(edit_counts.items()))
    page = run.report / "index.html"
    return run.name, corpus, model, edits or "none", str(page) if page.exists() else "none"


def _describe_model(run: Run) -> str:
    if run.finished_file.exists():
        training = finished_training(run)
        return f"step {training['step']:,}, accuracy {training['accuracy']:.3f}"
    return "unfinished" if run.checkpoints.exists() else "none"


def folder_digest(folder: Path) -> str:
    """A short hash of everything in a staged folder, from its checksums."""
    return hashlib.sha256((folder / CHECKSUMS).read_bytes()).hexdigest()[:12]


def fit_settings(recorded: dict, defaults: dict) -> dict:
    """Nested settings of a record, as they would be called today.

    A new setting does by default what was done before there was one; one that is no longer there is left out.
    """
    return {
        key: fit_settings(recorded[key], default)
        if isinstance(default, dict) and isinstance(recorded.get(key), dict)
        else recorded.get(key, default)
        for key, default in defaults.items()
    }


def _fit_stage(stage: str, recorded: dict) -> dict:
    """How a stage was made: its settings as they would be called today, and hashes of its inputs."""
    settings = fit_settings(recorded["settings"], as_plain_data(SETTINGS[stage]()))
    return {"settings": settings, "inputs": recorded["inputs"]}


def differing_settings(have: dict, want: dict, prefix: str = "") -> list[str]:
    """In words, every setting in which two nested dicts differ."""
    differ: list[str] = []
    for key in sorted(have.keys() | want.keys()):
        a, b = have.get(key), want.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            differ += differing_settings(a, b, f"{prefix}{key}." if prefix or key != "settings" else "")
        elif a != b:
            differ.append(f"{f'{prefix}{key}':.200} is {a!s:.200} there and {b!s:.200} here")
    return differ
