"""When should a consequence follow an edit? Two agents that read the same corpus disagree.

Command:
    python -m experiments.agents_disagree

Takes about a minute and a half on 2 cores and writes experiments/records/<date>-agents-disagree.
Three kinds of world, three seeds each: the exact agent's fact-world and
sentence-world, and a published corpus, where the exact agent is an approximation. In each, requests that
contradict an upstream fact are drawn evenly over the support of the new object. Every agent is told each
request with the weight that brings its own belief in it to .95, and is asked for the downstream fact before
and after. Expected: the paper's agent changes its answer nearly regardless of how often the downstream
fact was stated; the exact agent does so in the sentence-world as far as the new object has supporters, but
in the fact-world keeps what was stated; a change of the world (`do`) moves it where evidence does not. Where
all objects are equally likely afterwards, the answer is the lowest of them, which counts as a change.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.config import BuiltinWorld
from experiments.command import launch_module
from experiments.study import Edits, StudyOptions, record_tables
from testbed.commands.corpus import build_corpus
from testbed.console import show_progress
from testbed.evaluations.hase import Hase
from testbed.presets import CORPUS
from testbed.protocol import Case
from testbed.run.agents import exact_agent, paper_agent
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, PaperAgentConfig
from testbed.run.strata import STRATA, SUPPORT_BINS, support_bin
from testbed.run.world import load_world
from testbed.scores.metric import mean_of
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.tables import Cell, Table

WorldKind = Literal["fact-world", "sentence-world", "published"]
WORLDS: tuple[WorldKind, ...] = ("fact-world", "sentence-world", "published")
LEVELS = ("subject", "object", "world")
CREDENCE = 0.95
READERS = ("paper", "paper, honest counts", "exact", "exact, do")


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Worlds, cases, and where scratch files go."""

    subjects: int = 2000
    """Subjects of each world."""
    edits: Edits = 400
    """Requests in each world."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Worlds of each kind."""

    def corpus_settings(self, world: WorldKind, seed: int) -> CorpusSettings:
        """How a world is built."""
        base = CORPUS["tiny"]
        dials = BuiltinWorld(upstream_objects=self.subjects // 10, downstream_objects=self.subjects // 33)
        return replace(
            base,
            run=f"disagree-{world}-{self.subjects}-{seed}",
            runs=self.runs,
            world=replace(base.world, subjects=self.subjects, builtin=dials),
            kind="published" if world == "published" else "exact",
            # Statements enough that upstream facts of either world are resolved without being settled.
            exact=replace(
                base.exact, persistence="sentence" if world == "sentence-world" else "fact", statements=16
            ),
            seed=seed,
        )


class Answers(NamedTuple):
    """An agent's answers to the downstream question, and who was asked.

    Attributes:
        has_changed: bool[cases], whether the answer after the request differs from that before.
        answer: int64[cases], after the request.
    """

    has_changed: np.ndarray
    answer: np.ndarray


def ask_before_and_after(
    agent: Agent, cases: list[Case], child: list[int], kind: Literal["evidence", "do"]
) -> Answers:
    """Each case's downstream answer before and after its request, at this agent's own weight."""
    modes = []
    for case, relation in zip(cases, child, strict=True):
        s, r, o = case.requested_fact
        weight = agent.weight_for(s, r, o, CREDENCE) if kind == "evidence" else 1.0
        agent_after = agent.with_edit(EditRequest(s, r, o, weight, kind))
        modes.append([who.predict(s, relation).mode() for who in (agent, agent_after)])
    before, after = np.array(modes).T
    return Answers(before != after, after)


def measure_world(settings: Settings, world: WorldKind, seed: int) -> dict[str, np.ndarray]:
    """Columns of one world's cases: what each agent did, stratum, support bin and LEVELS."""
    options = settings.corpus_settings(world, seed)
    build_corpus(options)
    loaded = load_world(Run(options.runs, options.run))
    exact = exact_agent(loaded)
    all_cases = Hase(reinforce=0.0).make_cases(loaded, exact, settings.edits, CREDENCE, seed)
    cases = [case for case in all_cases if case.facets["child"]]
    child = [loaded.graph.downstream(case.request.relation)[0] for case in cases]
    honest = PaperAgentConfig(evidence_multiplicity=1.0)
    agents: dict[str, tuple[Agent, Literal["evidence", "do"]]] = {
        "paper": (paper_agent(loaded), "evidence"),
        "paper, honest counts": (paper_agent(loaded, honest), "evidence"),
        "exact": (exact, "evidence"),
    }
    if world != "published":
        agents["exact, do"] = (exact, "do")
    by_agent = {
        name: ask_before_and_after(agent, cases, child, kind) for name, (agent, kind) in agents.items()
    }
    return {
        "subject": np.array([case.request.subject for case in cases]) + seed * 10**7,
        "object": np.array([case.request.object for case in cases]) + seed * 10**7,
        "world": np.full(len(cases), seed),
        "stratum": np.array([STRATA.index(str(case.facets["stratum"])) for case in cases]),
        "support": support_bin(np.array([case.facets["support_new"] for case in cases])),
        "agree": by_agent["paper"].answer == by_agent["exact"].answer,
        **{name: answered.has_changed for name, answered in by_agent.items()},
    }


def share_of_cases(columns: dict[str, np.ndarray], name: str, among: np.ndarray) -> Estimate:
    """Share of cases with a property, with its interval."""
    return estimate_metric(mean_of(columns[name]), {level: columns[level] for level in LEVELS}, among)


def case_masks(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Masks of all cases, of each stratum, and of each stratum by support, that have cases."""
    masks = {"all": np.ones(len(columns["subject"]), bool)}
    masks |= {name: columns["stratum"] == i for i, name in enumerate(STRATA)}
    masks |= {
        f"{name}, n_u {support}": (columns["stratum"] == i) & (columns["support"] == j)
        for i, name in enumerate(STRATA)
        for j, support in enumerate(SUPPORT_BINS)
    }
    return {name: mask for name, mask in masks.items() if mask.any()}


def run_study(settings: Settings) -> None:
    """Build the worlds, ask the agents, print the table and keep it."""
    shares: dict[str, dict[str, dict[str, Estimate]]] = {}
    with show_progress("worlds", len(WORLDS) * len(settings.seeds)) as advance:
        for world in WORLDS:
            columns: dict[str, np.ndarray] = {}
            for one in map(partial(measure_world, settings, world), settings.seeds):
                columns = {k: np.concatenate([columns[k], v]) if columns else v for k, v in one.items()}
                advance(1)
            names = [name for name in columns if name not in (*LEVELS, "stratum", "support")]
            shares[world] = {
                part: {name: share_of_cases(columns, name, mask) for name in names}
                for part, mask in case_masks(columns).items()
            }
    rows: list[list[Cell]] = [
        [world, part, row["exact"].cases, *(row.get(name) for name in (*READERS, "agree"))]
        for world, parts in shares.items()
        for part, row in parts.items()
    ]
    header = ["world", "cases of", "number", *READERS, "same answer after"]
    title = "Downstream answer changes after an upstream edit"
    run = Run(settings.runs, settings.corpus_settings(WORLDS[0], settings.seeds[0]).run)
    record_tables(settings, run, [Table("agents", title, header, rows, words=2)])


if __name__ == "__main__":
    launch_module()
