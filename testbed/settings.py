"""Settings of the commands that edit, report, ask and export; importing this loads no NumPy and no JAX."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from lm.config import MeshConfig
from testbed.engine.catalogue import default_configurations
from testbed.evaluations.catalogue import default_evaluations, prefix_of
from testbed.run.lock import shard_from
from testbed.run.settings import (
    NO_RESULT,
    AgentName,
    Learned,
    PaperAgentConfig,
    RequestName,
    as_plain_data,
    check_seed,
)

DEFAULT_EVALUATION = "hase"


@dataclass(frozen=True)
class CaseConfig:
    """How many edits are asked for, and how sure one should be of them."""

    count: int = 240
    """Number of edits, each independent of the others."""
    credence: float = 0.95
    """How sure whoever edits is of a request. Editors are told it, and it sets n', the weight of a request as
    evidence, with which the agent comes to be as sure."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count must be at least 1")
        if not 0 < self.credence < 1:
            raise ValueError(f"credence is a probability inside (0, 1); it is {self.credence}")


@dataclass(frozen=True)
class EditSettings:
    """Editors, the evaluation, and the agent they are compared with."""

    editors: tyro.conf.Positional[tuple[str, ...]] = field(default=("lora-down",), metadata=NO_RESULT)
    """Names of built-in editors, or my_module:MyEditor."""
    run: str = field(default="demo", metadata=NO_RESULT)
    """Name of the run."""
    runs: Path = field(default=Path("runs"), metadata=NO_RESULT)
    """Folder of all runs."""
    checkpoint: Literal["last", "best"] = "last"
    """Which model is edited: as training ended, or where it was most accurate."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=default_configurations, metadata=NO_RESULT
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""
    tuned: str = field(default="", metadata=NO_RESULT)
    """Take the hyper-parameters that testbed.tune chose on the model of this run, of another world."""
    sequential: int = 1
    """Edits made one after another on top of each other; 1 makes each on the unedited model."""
    batch: int = 1
    """Facts of one edit; 1 edits each for itself."""
    strength: float | None = None
    """Stop every edit where the request reaches this probability, such as 0.9: what it adds to the model is
    scaled down, or up to four times; without it, edits are taken as the editor makes them."""
    evaluation: str = field(default=DEFAULT_EVALUATION, metadata=NO_RESULT)
    """Which one: the name of a built-in one, or my_module:MyEvaluation."""
    evaluations: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=default_evaluations, metadata=NO_RESULT
    )
    """Settings of every evaluation, by the prefix of their options."""
    cases: CaseConfig = field(default_factory=CaseConfig)
    agent: AgentName = field(default="paper", metadata=NO_RESULT)
    """Whose beliefs are the standard: the paper's agent, or Bayes' rule (an approximation of it on corpora
    of kind published)."""
    paper_agent: PaperAgentConfig = field(default_factory=PaperAgentConfig, metadata=NO_RESULT)
    batch_edits: int | Literal["auto"] = field(default="auto", metadata=NO_RESULT)
    """Edits computed side by side; auto takes as many as fit into a quarter of the free memory."""
    mesh: MeshConfig = field(default_factory=MeshConfig, metadata=NO_RESULT)
    """Devices that edits made side by side are laid over: --mesh.data of them; a model is whole on each."""
    shard: str = field(default="", metadata=NO_RESULT)
    """Make only a part of independent edits, such as 2/8, the second of eight: a process each, on one file
    system; the last one to end puts their parts together."""
    seed: int = 0
    """Root seed of the requests and of the editor."""

    def __post_init__(self) -> None:
        if shard_from(self.shard).of > 1 and self.sequential > self.batch:
            raise ValueError(f"--shard {self.shard} shares out independent edits; leave out --sequential")
        if self.mesh.model > 1:
            raise ValueError(f"edits are laid over mesh.data alone; leave out --mesh.model {self.mesh.model}")
        if self.batch_edits != "auto" and self.batch_edits < 1:
            raise ValueError("batch_edits must be at least 1, or auto")
        if min(self.sequential, self.batch) < 1:
            raise ValueError("sequential and batch must be at least 1")
        if self.sequence % self.batch or self.cases.count % self.sequence:
            raise ValueError(
                f"{self.cases.count} cases must be whole sequences of {self.sequence} edits, "
                f"and a sequence whole batches of {self.batch}"
            )
        if self.strength is not None and not 0 < self.strength < 1:
            raise ValueError(f"strength is a probability inside (0, 1); it is {self.strength}")
        if self.strength is not None and self.batch > 1:
            raise ValueError(
                f"strength is that of a single fact, and --batch {self.batch} edits more at once"
            )
        if len(set(self.editors)) < len(self.editors) or not self.editors:
            raise ValueError(f"name each editor once; they are {', '.join(self.editors) or 'none'}")
        check_seed(self.seed)

    @property
    def sequence(self) -> int:
        """Edits that build on each other."""
        return max(self.sequential, self.batch)

    @property
    def chosen_evaluation(self) -> Any:
        """The evaluation that was chosen, with its settings."""
        return self.evaluations[prefix_of(self.evaluation)]

    def settings_as_data(self) -> dict[str, Any]:
        """All that results depend on besides the editor, as plain data; of agents the one that is asked."""
        agent = {"name": self.agent} | (as_plain_data(self.paper_agent) if self.agent == "paper" else {})
        evaluation = {"name": self.evaluation} | as_plain_data(self.chosen_evaluation)
        return as_plain_data(self) | {"evaluation": evaluation, "agent": agent}


@dataclass(frozen=True)
class TuneSettings(EditSettings):
    """As for edits, and the budget that every editor gets; the cases belong to it."""

    trials: int = 6
    """Settings that are tried of each editor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials < 1:
            raise ValueError(f"trials must be at least 1; it is {self.trials}")
        if self.shard:
            raise ValueError("shard shares out the edits of testbed.edit; leave it out")
        if self.tuned:
            raise ValueError("tuned is what this command chooses; leave it out")


@dataclass(frozen=True)
class ReportSettings:
    """Which runs to report on, and whom editors are compared with."""

    run: str = "demo"
    """Name of the run; the report is written into its folder."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    and_runs: tuple[str, ...] = ()
    """Further runs, such as other seeds; editors of the same settings are pooled."""
    to: Path | None = None
    """Folder of the report; without it, report in the run's folder. A run that is read-only needs one."""
    pool_unlike: bool = False
    """Pool runs whose settings of corpus or training differ in more than seeds."""
    evaluation: tuple[str, ...] = ()
    """Whose results to show, a chapter each; without it, those of every built-in evaluation that has some."""
    against: str = ""
    """The editor that others are compared with, or a reference row such as "no edit"; by default the
    first editor, and no edit where there is only one."""
    explorer: bool = True
    """Write report/explorer too, a page with a row for every edit, which opens from disk."""
    leaderboard: Path | None = None
    """Write no report, but one page of all scorecards in the folders of this one (docs/examine.md)."""


@dataclass(frozen=True)
class AskSettings:
    """A question to model and agent, and perhaps an edit before it."""

    question: tyro.conf.Positional[str] = ""
    """Subject and relation, such as "Ada Marlow educated at"."""
    structure: bool = False
    """Ask instead which relation depends on which, and whether downstream facts persist."""
    beliefs: bool = False
    """Ask instead what `self-bayes` takes the world for, from the model alone."""
    agent: AgentName = "paper"
    """Who answers beside the model."""
    edit: str = ""
    """An edit S, such as "Ada Marlow educated at = Quintal College"; or not S; S or O; S, not O; "s r o" is
    false; S with probability .8; according to a source of .8: S; never S."""
    learn: Learned = "doubt"
    """What editors learn of a sentence: what is in doubt, its object or label; or every token of it."""
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
    """How sure one is of the edit; the editor is told it, and evidence of it brings the agent to it."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=lambda: default_configurations(small=True)
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""
    tuned: str = ""
    """Take the hyper-parameters that testbed.tune chose on the model of this run, of another world."""
    seed: int = 0
    """Root seed of the editor."""

    def __post_init__(self) -> None:
        if self.top < 1 or not 0 < self.credence < 1:
            raise ValueError("top must be positive and credence inside (0, 1)")
        check_seed(self.seed)


@dataclass(frozen=True)
class VerifySettings:
    """Which run to look through, and how closely."""

    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    whole: bool = False
    """Make everything again in a scratch folder, from the seed or table to the last metric, and compare."""


@dataclass(frozen=True)
class DoorSettings(EditSettings):
    """Which cases of an evaluation; their edits are made elsewhere."""

    editors: tyro.conf.Suppress[tuple[str, ...]] = ("lora-down",)
    configs: tyro.conf.Suppress[dict[str, Any]] = field(default_factory=dict)
    tuned: tyro.conf.Suppress[str] = ""
    batch: tyro.conf.Suppress[int] = 1
    strength: tyro.conf.Suppress[float | None] = None
    batch_edits: tyro.conf.Suppress[int | Literal["auto"]] = "auto"
    mesh: tyro.conf.Suppress[MeshConfig] = field(default_factory=MeshConfig)
    shard: tyro.conf.Suppress[str] = ""

    def settings_as_data(self) -> dict[str, Any]:
        """As `testbed.edit` has them for the same cases."""
        return EditSettings(
            **{f.name: getattr(self, f.name) for f in fields(EditSettings)}
        ).settings_as_data()


@dataclass(frozen=True)
class ExportSettings(DoorSettings):
    """Which model to write for Hugging Face's libraries, where, and perhaps what is asked of its edits."""

    folder: Path | None = None
    """Where to; without it, huggingface in the run's folder, door with cases, or gold."""
    with_cases: Annotated[bool, tyro.conf.arg(name="cases")] = False
    """Write cases, text and door.py too, with which edits made elsewhere are asked (docs/pytorch.md)."""
    gold: bool = False
    """Write instead what the rational agent believes of every question, before the edit and after it, as a
    dataset; no model is needed."""
    and_runs: tuple[str, ...] = ()
    """Further runs whose worlds the dataset has, a split each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gold and self.with_cases:
            raise ValueError("cases are for editors, which never see gold; export one of the two")
        if self.and_runs and not self.gold:
            raise ValueError("and_runs are further worlds of the dataset that --gold writes")


@dataclass(frozen=True)
class ScoreSettings(DoorSettings):
    """Which answers, to which cases: those options with which they were exported."""

    answers: tyro.conf.Positional[Path] = Path("answers")
    """The folder that `door.examine` wrote."""
    name: str = ""
    """What the editor is to be called in tables."""


@dataclass(frozen=True)
class ExamineSettings:
    """Who is examined on the frozen suite, and where the scorecard goes."""

    editors: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of built-in editors, my_module:MyEditor, or a folder of answers (see --export); none shows the
    references alone."""
    quick: bool = False
    """Only the demo's world and few edits, in two minutes; no card to be compared with others."""
    name: str = ""
    """What an editor by answers is to be called."""
    folder: Path = Path("examined")
    """Where each editor's folder goes that can be handed in."""
    export: Path | None = None
    """Write instead what an editor elsewhere is asked, a folder a world (docs/examine.md)."""
    runs: Path = Path("runs")
    """Folder of all runs; the suite's worlds are runs in it."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=lambda: default_configurations(small=True)
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""

    def __post_init__(self) -> None:
        if len(set(self.editors)) < len(self.editors):
            raise ValueError(f"name each editor once; they are {', '.join(self.editors)}")
        if self.export and self.editors:
            raise ValueError("export writes what editors elsewhere are asked; leave out editors")


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
