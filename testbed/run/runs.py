"""A run on disk: where everything of one world lives, and what may be written there (DESIGN 8).

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
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from corpus.files import CHECKSUMS, read_json, write_json
from testbed.run.settings import plain

PACKAGES = ("jax", "flax", "optax", "orbax-checkpoint", "numba", "numpy", "tokenizers")


@dataclass(frozen=True)
class Run:
    """Paths of one run. `name` is a plain folder name under `root`."""

    root: Path
    name: str

    def __post_init__(self) -> None:
        if not self.name or Path(self.name).name != self.name or self.name in (".", ".."):
            raise InputError(f"the run {self.name!r} should be a plain name, such as demo")

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
    def finished(self) -> Path:
        """Step and accuracy at which training ended; absent before."""
        return self.folder / "lm" / "finished.json"

    @property
    def edits(self) -> Path:
        """A folder for each evaluation, in it one per editor and settings."""
        return self.folder / "edits"

    @property
    def report(self) -> Path:
        """The report's pages, pictures and tables."""
        return self.folder / "report"


def claim(run: Run, stage: str, settings: Any, made: bool, inputs: dict[str, str] | None = None) -> None:
    """Record the settings of a stage, or check that they are those its results were made with.

    Args:
        made: whether the stage has results; while it has none, other settings may still be chosen.
        inputs: hashes of what the stage is made from; they bind as the settings do.

    Raises:
        InputError: the run was made with other settings; the message names the first that differ.
    """
    wanted = {"settings": plain(settings), "inputs": inputs or {}}
    stages = read_json(run.config_file) if run.config_file.exists() else {}
    if made:
        if stage not in stages:
            raise InputError(f"{run.config_file} does not know the {stage} stage; delete {run.folder}")
        changed = differences({key: stages[stage][key] for key in wanted}, wanted)
        if changed:
            shown = "; ".join(changed[:3])
            folder = run.folder if stage == "corpus" else run.checkpoints.parent
            raise InputError(
                f"{run.folder}: the {stage} stage was made with other settings ({shown}); "
                f"choose another --run, or delete {folder}"
            )
        return
    run.folder.mkdir(parents=True, exist_ok=True)
    stages[stage] = wanted | {"made_with": provenance()}
    write_json(run.config_file, stages)


def recorded(run: Run, stage: str) -> tuple[dict, dict]:
    """The settings a stage was run with, and the hashes of what it was made from.

    Raises:
        InputError: the stage has not been run.
    """
    if not run.config_file.exists() or stage not in read_json(run.config_file):
        how = {"corpus": "testbed.corpus", "train": "testbed.train"}[stage]
        raise InputError(f"{run.folder} has no {stage} stage yet; run python -m {how} --run {run.name} first")
    found = read_json(run.config_file)[stage]
    return found["settings"], found["inputs"]


def provenance() -> dict[str, str]:
    """Versions of Python, the packages that matter and this repository."""
    describe = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(
            describe, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
        revision = done.stdout.strip()
    except OSError:
        # No git on this machine.
        revision = ""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "revision": revision or "unknown",
    }


def read_metrics(run: Run) -> list[dict]:
    """The lines of metrics.jsonl; a last line that was cut off by a kill is left out.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        lines = run.metrics.read_text(encoding="utf-8").split("\n")
        # What stands behind the last line end is empty, or half a line.
        return [json.loads(line) for line in lines[:-1]]
    except (OSError, ValueError) as error:
        raise InputError(
            f"{run.metrics} is not readable ({error}); the command that trained the run writes it again"
        ) from None


def digest(folder: Path) -> str:
    """A short hash of everything in a staged folder, from its checksums."""
    return hashlib.sha256((folder / CHECKSUMS).read_bytes()).hexdigest()[:12]


def differences(have: dict, want: dict, prefix: str = "") -> list[str]:
    """In words, every setting in which two nested dicts differ."""
    found: list[str] = []
    for key in sorted(have.keys() | want.keys()):
        a, b = have.get(key), want.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += differences(a, b, f"{prefix}{key}." if prefix or key != "settings" else "")
        elif a != b:
            found.append(f"{prefix}{key} is {a} there and {b} here")
    return found
