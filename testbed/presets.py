"""The settings of every command at several scales. Plain data: importing this loads no NumPy and no JAX.

tiny        240 subjects, about 900 facts; trains in 20 seconds on two cores
laptop      1,055 subjects, 4,000 facts; trains in about a minute on two cores
small       2,000 subjects, several thousand facts; trains in about a quarter of an hour on two cores
paper       100,000 facts and the 83M-parameter model of Hase et al. 2024, trained as published; wants a GPU
paper-fast  the same corpus and model, trained by Muon in bfloat16 (testbed.train only)
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from corpus.config import (
    SENTENCES,
    BuiltinWorld,
    DocumentConfig,
    ExactConfig,
    TokenizerConfig,
    WorldConfig,
)
from lm.config import ClusterConfig, MeshConfig, ModelConfig, TrainConfig
from testbed.engine.catalogue import configurations
from testbed.evaluations.catalogue import examinations, prefix_of
from testbed.run.settings import AgentName, PaperAgentConfig, RequestName, plain

DEFAULT_PRESET = "tiny"
DEFAULT_EVALUATION = "hase"
NO_RESULT = {"result": False}
"""Marks a field that changes no result: where a command runs, how fast, how far, and what it prints; or one
that is recorded in another way."""


def check_seed(seed: int) -> None:
    """Refuse a seed that the random generators would refuse."""
    if seed < 0:
        raise ValueError(f"seed must not be negative; it is {seed}")


@dataclass(frozen=True)
class CorpusSettings:
    """A world and the corpus written about it."""

    run: str = field(default="demo", metadata=NO_RESULT)
    """Name of the run."""
    runs: Path = field(default=Path("runs"), metadata=NO_RESULT)
    """Folder of all runs."""
    world: WorldConfig = field(default_factory=WorldConfig)
    kind: Literal["published", "exact"] = "published"
    """published: noise as in Hase et al.; exact: a model for which Bayesian posteriors are exact."""
    exact: ExactConfig = field(default_factory=ExactConfig)
    documents: DocumentConfig = field(default_factory=DocumentConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    distractors: Literal["any-relation", "same-relation"] = "any-relation"
    """Where a root fact's fixed false object comes from (published)."""
    seed: int = 0
    """Root seed; world, sentences and documents draw from streams of their own."""
    threads: int = field(default_factory=lambda: os.cpu_count() or 1, metadata=NO_RESULT)
    """Threads that write; what they write does not depend on how many there are."""
    stats: bool = field(default=False, metadata=NO_RESULT)
    """Also print Hase's Table 6 for this world, its support, and how many edit targets are noise."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.threads < 1:
            raise ValueError("threads must be at least 1")
        if self.kind == "exact" and set(self.documents.sentences) != set(SENTENCES):
            raise ValueError("documents.sentences belongs to kind published; an exact world needs every kind")


@dataclass(frozen=True)
class TrainSettings:
    """A model and how it reads the corpus."""

    run: str = field(default="demo", metadata=NO_RESULT)
    """Name of the run."""
    runs: Path = field(default=Path("runs"), metadata=NO_RESULT)
    """Folder of all runs."""
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    until: float | None = field(default=None, metadata=NO_RESULT)
    """Stop once a sample of facts is generated with this accuracy; without it, at the last step."""
    minutes: float | None = field(default=None, metadata=NO_RESULT)
    """Save and leave after about this long; the same command goes on from there."""
    seed: int = 0
    """Root seed of initial weights and data order."""
    mesh: MeshConfig = field(default_factory=MeshConfig, metadata=NO_RESULT)
    cluster: ClusterConfig = field(default_factory=ClusterConfig, metadata=NO_RESULT)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.until is not None and not 0 < self.until <= 1:
            raise ValueError(f"until is a share of facts, in (0, 1]; it is {self.until}")
        if self.minutes is not None and self.minutes <= 0:
            raise ValueError(f"minutes must be positive; it is {self.minutes}")


@dataclass(frozen=True)
class CaseConfig:
    """How many edits are asked for, and how sure one should be of them."""

    count: int = 240
    """Number of edits, each independent of the others."""
    credence: float = 0.95
    """The agent's belief in a request after evidence of it, which sets the evidence weight n'."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count must be at least 1")
        if not 0 < self.credence < 1:
            raise ValueError(f"credence is a probability inside (0, 1); it is {self.credence}")


@dataclass(frozen=True)
class EditSettings:
    """Editors, the examination that they sit, and the agent they are compared with."""

    editors: tyro.conf.Positional[tuple[str, ...]] = field(default=("lora-down",), metadata=NO_RESULT)
    """Names of built-in editors, or my_module:MyEditor."""
    run: str = field(default="demo", metadata=NO_RESULT)
    """Name of the run."""
    runs: Path = field(default=Path("runs"), metadata=NO_RESULT)
    """Folder of all runs."""
    checkpoint: Literal["last", "best"] = "last"
    """Which model is edited: as training ended, or where it was most accurate."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=configurations, metadata=NO_RESULT
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""
    tuned: bool = field(default=False, metadata=NO_RESULT)
    """Take hyper-parameters that testbed.tune chose for this model instead."""
    sequential: int = 1
    """Edits made one after another on top of each other; 1 makes each on the unedited model."""
    batch: int = 1
    """Facts of one edit; 1 edits each for itself."""
    evaluation: str = field(default=DEFAULT_EVALUATION, metadata=NO_RESULT)
    """Which examination: the name of a built-in one, or my_module:MyEvaluation."""
    examinations: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=examinations, metadata=NO_RESULT
    )
    """Settings of every examination, by the prefix of their options."""
    cases: CaseConfig = field(default_factory=CaseConfig)
    agent: AgentName = field(default="paper", metadata=NO_RESULT)
    """Whose beliefs are the standard: the paper's agent, or Bayes' rule (an approximation of it on corpora
    of kind published)."""
    paper_agent: PaperAgentConfig = field(default_factory=PaperAgentConfig, metadata=NO_RESULT)
    batch_edits: int | Literal["auto"] = field(default="auto", metadata=NO_RESULT)
    """Edits computed side by side; auto takes as many as fit into a quarter of the free memory."""
    seed: int = 0
    """Root seed of the requests and of the editor."""

    def __post_init__(self) -> None:
        if self.batch_edits != "auto" and self.batch_edits < 1:
            raise ValueError("batch_edits must be at least 1, or auto")
        if min(self.sequential, self.batch) < 1:
            raise ValueError("sequential and batch must be at least 1")
        if self.sequence % self.batch or self.cases.count % self.sequence:
            raise ValueError(
                f"{self.cases.count} cases must be whole sequences of {self.sequence} edits, "
                f"and a sequence whole batches of {self.batch}"
            )
        if len(set(self.editors)) < len(self.editors) or not self.editors:
            raise ValueError(f"name each editor once; they are {', '.join(self.editors) or 'none'}")
        check_seed(self.seed)

    @property
    def sequence(self) -> int:
        """Edits that build on each other."""
        return max(self.sequential, self.batch)

    @property
    def examination(self) -> Any:
        """The evaluation that was chosen, with its settings."""
        return self.examinations[prefix_of(self.evaluation)]

    def told(self) -> dict[str, Any]:
        """All that results depend on besides the editor, as plain data; of agents the one that is asked."""
        agent = {"name": self.agent} | (plain(self.paper_agent) if self.agent == "paper" else {})
        evaluation = {"name": self.evaluation} | plain(self.examination)
        return plain(self) | {"evaluation": evaluation, "agent": agent}


@dataclass(frozen=True)
class ReportSettings:
    """Which runs to report on, and whom editors are compared with."""

    run: str = "demo"
    """Name of the run; the report is written into its folder."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    and_runs: tuple[str, ...] = ()
    """Further runs, such as other seeds; editors of the same settings are pooled."""
    evaluation: tuple[str, ...] = ()
    """Whose results to show, a chapter each; without it, those of every built-in evaluation that has some."""
    against: str = ""
    """The editor that others are compared with, or a reference row such as "no edit"; by default the
    first editor, and no edit where there is only one."""


@dataclass(frozen=True)
class AskSettings:
    """A question to model and agent, and perhaps an edit before it."""

    question: tyro.conf.Positional[str] = ""
    """Subject and relation, such as "Ada Marlow educated at"."""
    structure: bool = False
    """Ask instead which relation depends on which, and whether downstream facts persist."""
    agent: AgentName = "paper"
    """Who answers beside the model."""
    edit: str = ""
    """An edit, such as "Ada Marlow educated at = Quintal College"."""
    editor: str = "lora-down"
    """Who makes the edit: a built-in editor, or my_module:MyEditor."""
    request: RequestName = "evidence"
    """What the edit is to the agent; only the exact agent knows the last two."""
    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    top: int = 5
    """Answers shown."""
    credence: float = 0.95
    """The agent's belief in the edit after it."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=lambda: configurations(small=True)
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""
    tuned: bool = False
    """Take hyper-parameters that testbed.tune chose for this model instead."""
    seed: int = 0
    """Root seed of the editor."""

    def __post_init__(self) -> None:
        if self.top < 1 or not 0 < self.credence < 1:
            raise ValueError("top must be positive and credence inside (0, 1)")
        check_seed(self.seed)


@dataclass(frozen=True)
class ExportSettings:
    """Which model to write for Hugging Face's libraries, and where."""

    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    folder: Path | None = None
    """Where to; without it, huggingface in the run's folder."""
    checkpoint: Literal["last", "best"] = "last"
    """The newest checkpoint, or the one with the highest accuracy."""


@dataclass(frozen=True)
class DemoSettings:
    """Everything, from nothing to a report."""

    preset: tyro.conf.Positional[Literal["tiny", "laptop", "small", "paper"]] = "tiny"
    """Scale of every stage."""
    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    editors: tuple[str, ...] = ("lora-down", "embeddings")
    """Which editors; the others are compared with the first."""
    seed: int = 0
    """Root seed of every stage."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not self.editors:
            raise ValueError("name at least one editor")


CORPUS = {
    "tiny": CorpusSettings(),
    "laptop": CorpusSettings(run="laptop", world=WorldConfig(subjects=1055)),
    "small": CorpusSettings(
        run="small",
        world=WorldConfig(subjects=2000, builtin=BuiltinWorld(upstream_objects=200, downstream_objects=60)),
        tokenizer=TokenizerConfig(kind="bpe", vocabulary=4000),
    ),
    "paper": CorpusSettings(
        run="paper",
        world=WorldConfig(
            subjects=26_316, builtin=BuiltinWorld(upstream_objects=2000, downstream_objects=500)
        ),
        tokenizer=TokenizerConfig(kind="bpe", vocabulary=32_000),
    ),
}

TRAIN = {
    "tiny": TrainSettings(
        model=ModelConfig(hidden=128, mlp=256, layers=2, heads=2, kv_heads=2, unroll=2),
        train=TrainConfig(steps=260, rows=24, row_length=160, evaluate_every=20, checkpoint_every=130),
    ),
    "laptop": TrainSettings(
        run="laptop",
        model=ModelConfig(hidden=128, mlp=256, layers=2, heads=2, kv_heads=2, unroll=2),
        train=TrainConfig(
            steps=900, rows=24, row_length=160, learning_rate=0.01, evaluate_every=25, checkpoint_every=300
        ),
    ),
    "small": TrainSettings(
        run="small",
        model=ModelConfig(hidden=192, mlp=384, layers=2, heads=3, kv_heads=3, unroll=2),
        train=TrainConfig(steps=900, rows=24, row_length=384, evaluate_every=50, checkpoint_every=100),
    ),
    "paper": TrainSettings(
        run="paper",
        model=ModelConfig(unroll=12),
        train=TrainConfig(
            # 128 documents of about 98 tokens in a step, three to a row; 80,000 steps are 1B tokens.
            steps=80_000,
            rows=43,
            row_length=320,
            optimizer="adamw",
            learning_rate=5e-5,
            schedule="linear",
            final=0.1,
            weight_decay=1e-4,
            evaluate_every=1000,
            checkpoint_every=1000,
        ),
    ),
    "paper-fast": TrainSettings(
        run="paper",
        model=ModelConfig(precision="bfloat16", unroll=12),
        # 250M tokens: the corpus twice.
        train=TrainConfig(
            steps=8000,
            rows=96,
            row_length=320,
            learning_rate=0.01,
            warmup=100,
            evaluate_every=100,
            checkpoint_every=500,
        ),
    ),
}

SMALL_MODELS = configurations(small=True)
"""What the papers' choices become for models of two layers, a hundred times smaller."""

EDIT = {
    "tiny": EditSettings(configs=SMALL_MODELS),
    "laptop": EditSettings(run="laptop", configs=SMALL_MODELS),
    "small": EditSettings(run="small", configs=SMALL_MODELS),
    "paper": EditSettings(run="paper", cases=CaseConfig(count=5000)),
}
