"""The settings of every command at several scales. Plain data: importing this loads no NumPy and no JAX.

tiny        240 subjects, about 900 facts; trains in 20 seconds on two cores
laptop      1,055 subjects, 4,000 facts; trains in about a minute on two cores
small       2,000 subjects, several thousand facts; trains in about a quarter of an hour on two cores
paper       100,000 facts and the 83M-parameter model of Hase et al. 2024, trained as published; wants a GPU
paper-fast  the same corpus and model, trained by Muon in bfloat16 (testbed.train only)
"""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

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
from lm.editors.config import (
    EditorConfigs,
    EmbeddingsConfig,
    FullConfig,
    LoraConfig,
    MemitConfig,
    RomeConfig,
)

DEFAULT_PRESET = "tiny"
AgentName = Literal["paper", "exact"]
RequestName = Literal["evidence", "correction", "do"]


def check_seed(seed: int) -> None:
    """Refuse a seed that the random generators would refuse."""
    if seed < 0:
        raise ValueError(f"seed must not be negative; it is {seed}")


@dataclass(frozen=True)
class CorpusSettings:
    """A world and the corpus written about it."""

    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
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
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Threads that write; what they write does not depend on how many there are."""
    stats: bool = False
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

    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    until: float | None = None
    """Stop once a sample of facts is generated with this accuracy; without it, at the last step."""
    minutes: float | None = None
    """Save and leave after about this long; the same command goes on from there."""
    seed: int = 0
    """Root seed of initial weights and data order."""
    mesh: MeshConfig = field(default_factory=MeshConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.until is not None and not 0 < self.until <= 1:
            raise ValueError(f"until is a share of facts, in (0, 1]; it is {self.until}")
        if self.minutes is not None and self.minutes <= 0:
            raise ValueError(f"minutes must be positive; it is {self.minutes}")


@dataclass(frozen=True)
class CaseConfig:
    """Which edits are asked for, and how they are judged."""

    count: int = 240
    """Number of edits, each independent of the others."""
    sampler: Literal["stratified", "published"] = "stratified"
    """stratified: equal numbers per support of the new object; published: as Hase et al."""
    request: RequestName = "evidence"
    """evidence: n' further statements; correction: a sentence that settles the fact; do: the world changed.
    Only the exact agent knows the last two."""
    edits: Literal["any", "upstream", "downstream"] = "any"
    """Which facts. upstream: causes, on which another fact of the subject depends, for propagation to it;
    downstream: effects of another fact of the subject, for diagnosis of that; any: whichever it has."""
    reinforce: float = 0.5
    """Share of requests that repeat the truth; the others contradict it."""
    credence: float = 0.95
    """The agent's belief in the request after the edit, which sets the evidence weight n'."""
    candidates: int = 24
    """Objects of each probe whose probability is recorded; the rest are one remainder."""

    def __post_init__(self) -> None:
        if self.count < 1 or self.candidates < 8:
            raise ValueError("count must be at least 1 and candidates at least 8")
        if not 0 <= self.reinforce <= 1 or not 0 < self.credence < 1:
            raise ValueError("reinforce is a share in [0, 1] and credence a probability inside (0, 1)")


@dataclass(frozen=True)
class EditSettings:
    """Editors, their requests and the agent they are compared with."""

    editors: tyro.conf.Positional[tuple[str, ...]] = ("lora-down",)
    """Names of built-in editors, or my_module:MyEditor."""
    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    checkpoint: Literal["last", "best"] = "last"
    """Which model is edited: as training ended, or where it was most accurate."""
    configs: Annotated[EditorConfigs, tyro.conf.arg(name="")] = field(default_factory=EditorConfigs)
    tuned: bool = False
    """Take hyper-parameters that testbed.tune chose for this model instead."""
    sequential: int = 1
    """Edits made one after another on top of each other; 1 makes each on the unedited model."""
    batch: int = 1
    """Facts of one edit; 1 edits each for itself."""
    cases: CaseConfig = field(default_factory=CaseConfig)
    agent: AgentName = "paper"
    """Whose beliefs are the standard: the paper's agent, or Bayes' rule (an approximation of it on corpora
    of kind published)."""
    evidence_multiplicity: float = 5.0
    """How often the paper's agent counts each sentence; 5 as published, 1 is the honest value."""
    prior_mass: float = 1.0
    """Total mass of the paper's agent's Dirichlet prior."""
    batch_edits: int | Literal["auto"] = "auto"
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
        if not (0 < self.prior_mass < math.inf and 0 < self.evidence_multiplicity < math.inf):
            raise ValueError("prior_mass and evidence_multiplicity must be positive numbers")
        check_seed(self.seed)

    @property
    def sequence(self) -> int:
        """Edits that build on each other."""
        return max(self.sequential, self.batch)


@dataclass(frozen=True)
class ReportSettings:
    """Which runs to report on, and whom editors are compared with."""

    run: str = "demo"
    """Name of the run; the report is written into its folder."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    and_runs: tuple[str, ...] = ()
    """Further runs, such as other seeds; editors of the same settings are pooled."""
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
    lora_down: LoraConfig = field(default_factory=lambda: LoraConfig(learning_rate=1e-3))
    """Recipe of the edit."""
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

SMALL_MODELS = EditorConfigs(
    lora_down=LoraConfig(learning_rate=1e-3),
    lora_all=LoraConfig(learning_rate=1e-3),
    embeddings=EmbeddingsConfig(learning_rate=1e-2),
    full=FullConfig(learning_rate=1e-2),
    full_early=FullConfig(layers="early", learning_rate=1e-2),
    full_late=FullConfig(layers="late", learning_rate=1e-2),
    rome=RomeConfig(token="last"),
    memit=MemitConfig(token="last"),
)
"""What the papers' choices become for models of two layers, a hundred times smaller."""

EDIT = {
    "tiny": EditSettings(configs=SMALL_MODELS),
    "laptop": EditSettings(run="laptop", configs=SMALL_MODELS),
    "small": EditSettings(run="small", configs=SMALL_MODELS),
    "paper": EditSettings(run="paper", cases=CaseConfig(count=5000)),
}
