"""Settings of the commands that edit, report, ask and export; importing this loads no NumPy and no JAX."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from lm.config import MeshConfig
from testbed.engine.catalogue import default_configurations
from testbed.evaluations.catalogue import evaluation_classes, prefix_of
from testbed.run.lock import shard_from
from testbed.run.settings import (
    GOLD,
    NO_RESULT,
    AgentName,
    Learned,
    PaperAgentConfig,
    RequestName,
    RunSettings,
    as_plain_data,
    check_agent_name,
    check_seed,
)

DEFAULT_EVALUATION = "hase"


@dataclass(frozen=True)
class CaseConfig:
    """How many edits are requested, and how sure one should be of them."""

    count: int = 240
    """Number of edits, each independent of the others."""
    credence: float = 0.95
    """How sure we are of each request. Editors may read it. The agent takes the request as evidence of the
    weight n' that brings its belief to this."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count must be at least 1")
        if not 0 < self.credence < 1:
            raise ValueError(f"credence is a probability inside (0, 1); it is {self.credence}")


@dataclass(frozen=True)
class CaseSettings(RunSettings):
    """Which model is edited, what is asked of it, and the agent that it is compared with."""

    checkpoint: Literal["last", "best"] = "last"
    """Which model is edited: the one at the end of training, or the most accurate one."""
    sequential: int = 1
    """Length of a sequence in which each edit builds on the one before; 1 makes every edit on the unedited
    model."""
    evaluation: str = field(default=DEFAULT_EVALUATION, metadata=NO_RESULT)
    """Which evaluation: hase, kinds, taxi, seesaw, leme, requests, or my_module:MyEvaluation."""
    evaluations: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=lambda: {prefix_of(name): kind() for name, kind in evaluation_classes().items()},
        metadata=NO_RESULT,
    )
    """Settings of every evaluation, by the prefix of their options."""
    cases: CaseConfig = field(default_factory=CaseConfig)
    agent: AgentName = field(default="paper", metadata=NO_RESULT)
    """Whose beliefs are the standard. paper: the agent of Hase et al., which counts sentences; exact: Bayes'
    rule, which is an approximation on corpora of kind published; or my_module:MyAgent (docs/kinds.md)."""
    paper_agent: PaperAgentConfig = field(default_factory=PaperAgentConfig, metadata=NO_RESULT)
    seed: int = 0
    """Root seed of the requests and of the editor."""

    def __post_init__(self) -> None:
        check_agent_name(self.agent)
        if self.sequential < 1:
            raise ValueError("sequential must be at least 1")
        if self.cases.count % self.sequence:
            raise ValueError(
                f"cases.count {self.cases.count} must be a multiple of a sequence's {self.sequence} edits"
            )
        check_seed(self.seed)

    @property
    def sequence(self) -> int:
        """Edits that build on each other."""
        return self.sequential

    @property
    def chosen_evaluation(self) -> Any:
        """The evaluation that was chosen, with its settings."""
        return self.evaluations[prefix_of(self.evaluation)]

    def settings_of_cases(self) -> dict[str, Any]:
        """These settings by name, without those of edits."""
        return {f.name: getattr(self, f.name) for f in fields(CaseSettings)}

    def settings_as_data(self) -> dict[str, Any]:
        """All that results depend on besides the editor, as plain data, of edits as they are by default."""
        return EditSettings(**self.settings_of_cases()).settings_as_data()


@dataclass(frozen=True)
class EditSettings(CaseSettings):
    """Editors, the evaluation, and the agent they are compared with."""

    editors: tyro.conf.Positional[tuple[str, ...]] = field(default=("lora-down",), metadata=NO_RESULT)
    """Names of built-in editors, or my_module:MyEditor."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=default_configurations, metadata=NO_RESULT
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""
    tuned: str = field(default="", metadata=NO_RESULT)
    """Name of a run of another world: take the hyper-parameters that testbed.tune chose there."""
    gold: str = field(default="", metadata=NO_RESULT)
    """A table of beliefs that were worked out elsewhere. The edits that it names are judged by these, not by
    an agent (docs/kinds.md)."""
    batch: int = 1
    """Facts that one edit changes together."""
    strength: float | None = None
    """Scale every edit until the request has this probability, such as 0.9; no edit grows more than fourfold.
    By default edits stay as the editor makes them."""
    batch_edits: int | Literal["auto"] = field(default="auto", metadata=NO_RESULT)
    """Edits computed side by side; auto: as many as fit into a quarter of the free memory."""
    mesh: MeshConfig = field(default_factory=MeshConfig, metadata=NO_RESULT)
    """Devices that share the edits made side by side: --mesh.data of them, each with the whole model."""
    shard: str = field(default="", metadata=NO_RESULT)
    """Make one part of the edits, such as 2/8, the second of eight. Each part is a process, all on one file
    system; the last one to end joins the parts."""

    def __post_init__(self) -> None:
        if self.gold:
            object.__setattr__(self, "agent", f"{GOLD}{self.gold}")
        if shard_from(self.shard).of > 1 and self.sequential > self.batch:
            raise ValueError(f"--shard {self.shard} divides independent edits; leave out --sequential")
        if self.mesh.model > 1:
            raise ValueError(f"edits use mesh.data alone; leave out --mesh.model {self.mesh.model}")
        if self.batch_edits != "auto" and self.batch_edits < 1:
            raise ValueError("batch_edits must be at least 1, or auto")
        if self.batch < 1:
            raise ValueError("batch must be at least 1")
        super().__post_init__()
        if self.sequence % self.batch:
            raise ValueError(f"a sequence's {self.sequence} edits must be a multiple of batch {self.batch}")
        if self.strength is not None and not 0 < self.strength < 1:
            raise ValueError(f"strength is a probability inside (0, 1); it is {self.strength}")
        if self.strength is not None and self.batch > 1:
            raise ValueError(
                f"strength is for edits of a single fact; leave out strength, or --batch {self.batch}"
            )
        if len(set(self.editors)) < len(self.editors) or not self.editors:
            raise ValueError(f"name each editor once; they are {', '.join(self.editors) or 'none'}")

    @property
    def sequence(self) -> int:
        """Edits that build on each other."""
        return max(self.sequential, self.batch)

    def settings_as_data(self) -> dict[str, Any]:
        """All that results depend on besides the editor, as plain data; of agents the one that is asked."""
        agent = {"name": self.agent} | (as_plain_data(self.paper_agent) if self.agent == "paper" else {})
        evaluation = {"name": self.evaluation} | as_plain_data(self.chosen_evaluation)
        return as_plain_data(self) | {"evaluation": evaluation, "agent": agent}


@dataclass(frozen=True)
class TuneSettings(EditSettings):
    """As for edits, and the budget that every editor gets; the cases belong to it."""

    trials: int = 6
    """Settings to try for each editor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials < 1:
            raise ValueError(f"trials must be at least 1; it is {self.trials}")
        if self.shard:
            raise ValueError("shard is an option of testbed.edit alone; leave it out")
        if self.tuned:
            raise ValueError("this command chooses hyper-parameters; leave out tuned")


@dataclass(frozen=True)
class ReportSettings(RunSettings):
    """Which runs to report on, and what editors are compared with."""

    and_runs: tuple[str, ...] = ()
    """Further runs, such as other seeds; results of an editor with the same settings are pooled."""
    to: Path | None = None
    """Folder of the report; by default, report in the run's folder. A read-only run needs one elsewhere."""
    pool_unlike: bool = False
    """Pool runs even if their settings of corpus or training differ in more than seeds."""
    evaluation: tuple[str, ...] = ()
    """Evaluations to show, a chapter each; by default, every built-in one that has results."""
    editors: tuple[str, ...] = ()
    """Editors to show; by default all."""
    against: str = ""
    """The editor that others are compared with, or a reference row such as "no edit". By default the first
    editor, or "no edit" if there is only one editor."""
    explorer: bool = True
    """Write report/explorer too: a page with a row for every edit, which opens from disk."""
    leaderboard: Path | None = None
    """Write a leaderboard instead of a report: one page of all scorecards in this folder's folders
    (docs/examine.md)."""


@dataclass(frozen=True)
class AskSettings(RunSettings):
    """A question to model and agent, and an edit to make before it."""

    question: tyro.conf.Positional[str] = ""
    """Subject and relation, such as "Ada Marlow educated at"."""
    structure: bool = False
    """Show instead which relation depends on which, and whether dependent facts persist."""
    beliefs: bool = False
    """Show instead what the editor `self-bayes` infers about the world from the model alone."""
    agent: AgentName = "paper"
    """Who answers beside the model."""
    edit: str = ""
    """A request S, such as "Ada Marlow educated at = Quintal College". Other forms: not S; S or O; S, not O;
    "s r o" is false; S with probability .8; according to a source of .8: S; never S (docs/own.md)."""
    learn: Learned = "doubt"
    """Tokens of a sentence that editors learn. doubt: its object or label; sentence: all."""
    editor: str = "lora-down"
    """Who makes the edit: a built-in editor, or my_module:MyEditor."""
    request: RequestName = "evidence"
    """How the agent takes the edit: as one more piece of evidence, as a correction of an error, or as a
    change of the world (do). Only the exact agent knows the last two."""
    top: int = 5
    """How many answers to show."""
    credence: float = 0.95
    """How sure we are of the edit. The editor may read it, and evidence brings the agent's belief to it."""
    configs: Annotated[dict[str, Any], tyro.conf.arg(name="")] = field(
        default_factory=lambda: default_configurations(small=True)
    )
    """Hyper-parameters of every editor that has some, by the prefix of their options."""
    tuned: str = ""
    """Name of a run of another world: take the hyper-parameters that testbed.tune chose there."""
    seed: int = 0
    """Root seed of the editor."""

    def __post_init__(self) -> None:
        check_agent_name(self.agent)
        if self.top < 1 or not 0 < self.credence < 1:
            raise ValueError("top must be positive and credence inside (0, 1)")
        check_seed(self.seed)


@dataclass(frozen=True)
class RemoveSettings(RunSettings):
    """What to remove."""

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Editors, or folders of edits; without any, the whole run."""
    yes: bool = False
    """Do not ask."""


@dataclass(frozen=True)
class VerifySettings(RunSettings):
    """Which run to check, and how closely."""

    whole: bool = False
    """Make everything again in a scratch folder, from the seed or table to the last metric, and compare."""


@dataclass(frozen=True)
class ExportSettings(CaseSettings):
    """Which model to write for Hugging Face's libraries, and where; or cases, or gold."""

    editor: tyro.conf.Positional[str] = ""
    """Who makes the edit of --edit: a built-in editor, or my_module:MyEditor."""
    edit: str = ""
    """An edit that is made first and merged into the weights, such as "Ada Marlow educated at = Quintal
    College"."""
    folder: Path | None = None
    """Folder to write. By default in the run's folder: huggingface; edited for an edit; door for cases; gold
    for gold."""
    with_cases: Annotated[bool, tyro.conf.arg(name="cases")] = False
    """Add cases, text and door.py, with which an editor elsewhere answers the questions (docs/pytorch.md)."""
    corpus: bool = False
    """Write the corpus instead, as a dataset with its tokenizer, for a model of any architecture that is
    trained elsewhere; with --cases, testbed.score --own-model scores its edits. No model is needed."""
    gold: bool = False
    """Write a dataset instead: the rational agent's beliefs about every question, before and after the edit.
    No model is needed."""
    and_runs: tuple[str, ...] = ()
    """Further runs whose worlds the dataset has, one split each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gold and (self.with_cases or self.corpus):
            raise ValueError("cases are for editors, which never see gold: give cases or gold, not both")
        if bool(self.edit) != bool(self.editor):
            raise ValueError('edit goes with who makes it: --edit "S R = O" rome')
        if self.edit and (self.gold or self.with_cases):
            raise ValueError("an edited model is written alone: leave out cases and gold")
        if self.and_runs and not self.gold:
            raise ValueError("and_runs adds worlds to the dataset of --gold; add --gold, or leave it out")


@dataclass(frozen=True)
class ScoreSettings(CaseSettings):
    """Which answers to score. Give the options with which the cases were exported."""

    answers: tyro.conf.Positional[Path] = Path("answers")
    """The folder that `door.examine` wrote."""
    name: str = ""
    """Name of the editor in tables."""
    own_model: bool = False
    """The answers are those of a model that was trained elsewhere (export --corpus --cases), before an edit
    as after it. Nothing is asked of a model here, so that the unedited one is not recalibrated."""


@dataclass(frozen=True)
class ExamineSettings:
    """Who is examined on a frozen suite, and where the scorecard goes."""

    editors: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of built-in editors, my_module:MyEditor, or a folder of answers (see --export). Without any, the
    card has the reference editors alone."""
    suite: Literal["v2", "v1"] = "v2"
    """Which suite. v2: eleven worlds of six kinds; v1: the first six of them."""
    quick: bool = False
    """A first look: the demo's world and few edits, in two minutes. Do not compare its card with others."""
    anew: bool = False
    """Run the reference editors here, too; by default their numbers come with the suite."""
    twin: bool = False
    """Examine on the suite's private twin: worlds of the same kinds from a secret seed, which the first use
    draws and keeps in the folder of runs."""
    verify: Path | None = None
    """Make the card of this handed-in folder again from its answers instead, and say what does not fit."""
    name: str = ""
    """Name of the editor whose answers are in a folder."""
    folder: Path = Path("examined")
    """Folder for the results: one folder for each editor, to hand in."""
    export: Path | None = None
    """Write cases and questions for an editor elsewhere instead, one folder for each world
    (docs/examine.md)."""
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
            raise ValueError("export writes cases for editors elsewhere; leave out names of editors")
        if self.verify and (self.editors or self.export or self.quick or self.twin):
            raise ValueError("verify looks at one folder, which says what it is; leave out everything else")

    @property
    def suite_name(self) -> str:
        """The suite that is meant: a quick look is one of its own."""
        return "quick" if self.quick else self.suite


@dataclass(frozen=True)
class DemoSettings(RunSettings):
    """Everything, from nothing to a report."""

    preset: tyro.conf.Positional[Literal["tiny", "laptop", "small", "paper"]] = "tiny"
    """Scale of every stage."""
    editors: tuple[str, ...] = ("lora-down", "embeddings")
    """Which editors; the others are compared with the first."""
    seed: int = 0
    """Root seed of every stage."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not self.editors:
            raise ValueError("name at least one editor")


@dataclass(frozen=True)
class ExampleSettings:
    """Which example, and where to."""

    name: tyro.conf.Positional[str] = ""
    """Name of the example; without it, all are listed."""
    folder: Path = Path()
    """Where its file is written; the working folder, if nothing is said."""


@dataclass(frozen=True)
class BatterySettings:
    """Which agent is tried in which kind of world."""

    world: tyro.conf.Positional[str] = "types"
    """A kind of the testbed (types, joint, roles, colleges, press), or my_module:MyWorld."""
    agent: tyro.conf.Positional[str] = "exact"
    """exact, for the testbed's own agent of the kind; or my_module:MyAgent."""
    subjects: int = 12
    """Subjects of the world; few, since every check asks an agent many times."""
    simulated: int = 5000
    """Worlds that are simulated, where the class gives a sampler."""
    seed: int = 0
    """Root seed of the world and of what is asked."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.subjects < 2 or self.simulated < 1:
            raise ValueError("subjects must be at least 2, and simulated at least 1")
