"""Settings of what a run holds, and settings as plain data; importing this loads no NumPy and no JAX."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from corpus.config import SENTENCES, DocumentConfig, ExactConfig, TokenizerConfig, WorldConfig
from corpus.errors import InputError
from lm.config import ClusterConfig, MeshConfig, ModelConfig, TrainConfig

AgentName = str
"""One of AGENTS, my_module:MyAgent, or GOLD and the path of a file."""
GOLD = "gold:"
AGENTS = ("paper", "exact")
Tracking = Literal["none", "csv", "trackio", "wandb"]
RequestName = Literal["evidence", "correction", "do"]
Changes = dict[str, Any]
"""Options of a command by their dotted names."""
Learned = Literal["doubt", "sentence"]
"""Tokens of a request to learn: those in doubt (the object of a statement, the label of a claim), or
    all."""


NO_RESULT = {"result": False}
"""Marks a field that changes no result (where a command runs, how fast, how far, what it prints), or that
    is recorded in another way."""


def check_agent_name(name: str) -> None:
    """Refuse an agent that is neither one of this project's nor named as a user's own."""
    if name not in AGENTS and ":" not in name:
        raise ValueError(f"unknown agent {name!r}; choose {' or '.join(AGENTS)}, or my_module:MyAgent")


def check_seed(seed: int) -> None:
    """Refuse a seed that the random generators would refuse."""
    if seed < 0:
        raise ValueError(f"seed must not be negative; it is {seed}")


@dataclass(frozen=True)
class RunSettings:
    """Which run."""

    run: str = field(default="demo", metadata=NO_RESULT)
    """Name of the run."""
    runs: Path = field(default=Path("runs"), metadata=NO_RESULT)
    """Folder of all runs."""


@dataclass(frozen=True)
class CorpusSettings(RunSettings):
    """A world and the corpus written about it."""

    world: WorldConfig = field(default_factory=WorldConfig)
    kind: Literal["published", "exact"] = "published"
    """published: noise as in Hase et al.; exact: drawn from a model whose Bayesian posteriors are exact."""
    exact: ExactConfig = field(default_factory=ExactConfig)
    documents: DocumentConfig = field(default_factory=DocumentConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    distractors: Literal["any-relation", "same-relation"] = "any-relation"
    """Source of the wrong object of a fact without a cause (published)."""
    seed: int = 0
    """Root seed; world, sentences and documents have random streams of their own."""
    threads: int = field(default_factory=lambda: os.cpu_count() or 1, metadata=NO_RESULT)
    """Threads that write; the corpus does not depend on their number."""
    stats: bool = field(default=False, metadata=NO_RESULT)
    """Also print Hase's Table 6 for this world, support of objects, and the share of edits whose new object
    nobody has."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.threads < 1:
            raise ValueError("threads must be at least 1")
        if self.world.is_own:
            # Beliefs in other kinds of worlds rest on how sentences of an exact corpus are written.
            object.__setattr__(self, "kind", "exact")
            object.__setattr__(self, "exact", replace(self.exact, rows="given"))
        hides = self.world.source == "people" and self.world.people.said < 1
        if hides and (self.kind != "exact" or self.exact.rows != "given"):
            raise ValueError("world.people.said below 1 needs exact.rows given, and no published corpus")
        if self.kind == "exact" and set(self.documents.sentences) != set(SENTENCES):
            raise ValueError("documents.sentences belongs to kind published; an exact world needs every kind")


@dataclass(frozen=True)
class TrainSettings(RunSettings):
    """A model and how it reads the corpus."""

    model: ModelConfig = field(default_factory=ModelConfig)
    model_from: Annotated[str, tyro.conf.arg(name="model.from")] = ""
    """Folder of a pretrained model in Hugging Face's format: training goes on from its weights, in its shape.
    The corpus must have its tokenizer (--tokenizer.kind pretrained)."""
    train: TrainConfig = field(default_factory=TrainConfig)
    until: float | None = field(default=None, metadata=NO_RESULT)
    """Stop once the model states this share of a sample of facts; by default at the last step."""
    minutes: float | None = field(default=None, metadata=NO_RESULT)
    """Save and stop after about this many minutes, compilation included; the same command goes on from
    there."""
    seed: int = 0
    """Root seed of initial weights and data order."""
    track: Tracking = field(default="none", metadata=NO_RESULT)
    """Where progress is shown besides: csv writes lm/metrics.csv; trackio and wandb are packages of these
    names (pip install '.[track]')."""
    mesh: MeshConfig = field(default_factory=MeshConfig, metadata=NO_RESULT)
    cluster: ClusterConfig = field(default_factory=ClusterConfig, metadata=NO_RESULT)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.train.own_rows and not self.model_from:
            raise ValueError(
                "own_rows are of a model that wrote before it reads; name its folder by --model.from"
            )
        if self.until is not None and not 0 < self.until <= 1:
            raise ValueError(f"until is a share of facts, in (0, 1]; it is {self.until}")
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise ValueError(f"minutes must be a positive number; it is {self.minutes}")


@dataclass(frozen=True)
class PaperAgentConfig:
    """The paper's agent (Hase §6.2)."""

    evidence_multiplicity: float | None = None
    """How often it counts each sentence. By default once for each document that has it, which is 5 times as
    published; 1 counts no copy as evidence."""
    prior: Literal["one", "ones"] | float = "one"
    """Mass of its Dirichlet prior in all, such as 0.1. one: 1, which reproduces the paper's errors before an
    edit; ones: 1 for each object of the world, as the paper prints it."""
    edit_weight: float | None = None
    """How many statements a request weighs, such as the paper's n = 1000. By default n', the fewest that
    bring the belief in it to cases.credence, or halfway to 1."""

    def __post_init__(self) -> None:
        if self.edit_weight is not None and not 0 < self.edit_weight < math.inf:
            raise ValueError(f"edit-weight must be a positive number; it is {self.edit_weight}")
        if self.evidence_multiplicity is not None and not 0 < self.evidence_multiplicity < math.inf:
            raise ValueError("evidence-multiplicity must be a positive number")
        if not isinstance(self.prior, str) and not 0 < self.prior < math.inf:
            raise ValueError(f"prior must be one, ones or a positive number; it is {self.prior}")


def as_plain_data(settings: Any) -> Any:
    """Settings as JSON holds them, without the fields that change no result.

    Such a field is marked where it stands: `field(..., metadata={"result": False})`.
    """
    return json.loads(json.dumps(_convert_value(settings)))


def _convert_value(value: Any) -> Any:
    if is_dataclass(value):
        names = [f.name for f in fields(value) if f.metadata.get("result", True)]
        return {name: _convert_value(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _convert_value(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_convert_value(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def change_settings(settings: Any, changes: Changes) -> Any:
    """Settings with some options changed, by the names that a command line has for them.

    >>> change_settings(CorpusSettings(), {"world.subjects": 12}).world.subjects
    12

    Raises:
        InputError: there is no such option.
    """
    parts: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        parts.setdefault(head.replace("-", "_"), {})[rest] = value
    known = {one.name for one in fields(settings)}
    new: dict[str, Any] = {}
    for head, inner in parts.items():
        if head in known:
            new[head] = _change_part(getattr(settings, head), inner)
            continue
        # Options of editors and evaluations stand in two mappings, by their prefix.
        where = next(
            (where for where in ("configs", "evaluations") if head in _prefixes(settings, where)), None
        )
        if where is None:
            options = ", ".join(sorted(known))
            raise InputError(f"{type(settings).__name__} has no option {head}; choose among {options}")
        key = _prefixes(settings, where)[head]
        of = new.get(where, getattr(settings, where))
        new[where] = {**of, key: _change_part(of[key], inner)}
    return replace(settings, **new)


def _change_part(part: Any, changes: dict[str, Any]) -> Any:
    """A part of settings, or what is to stand in its place, with some options changed."""
    part = changes.pop("", part)
    return change_settings(part, changes) if changes else part


def _prefixes(settings: Any, where: str) -> dict[str, str]:
    return {key.replace("-", "_"): key for key in vars(settings).get(where, {})}
