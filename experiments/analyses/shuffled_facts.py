"""Does `self-bayes` see dependences where there are none? Real facts, shuffled against their structure.

Command:
    python -m experiments.shuffled_facts --facts FOLDER_IN_WIKIDATA5M_LAYOUT

Real subjects with real relations, five pairs of which depend on each other. In the control the objects of
every dependent relation are shuffled among the subjects who have it: names, how common each object is and who
has which relation stay, and nothing tells about anything any more: nothing may change but the request. Facts
persist, since in corpora of the published kind statements are drawn from the rows of causes, so that what is
shuffled would depend again. No model is trained: beliefs are those of a reader of the corpus, as in
`experiments.structure_reasoning`, who learns nothing of shuffled facts from others. So names only say who is
meant here.

links: of the five pairs, those whose dependence is acted on. changed: of the answers that would follow from
the request, those that an editor changes, whatever the agent says. Means over worlds, and their range.

Writes experiments/records/<date>-shuffled-facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np

from corpus.config import ExactConfig, WorldConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.seeds import generator
from corpus.world import build_world
from experiments.command import launch_module
from experiments.measures.corpus_reader import (
    DEFAULT,
    TUNED,
    Reading,
    Revision,
    locate_requests,
    open_mind,
    read_corpus,
    revise_by_bayes,
    revise_by_counting,
    subject_choices,
)
from experiments.studies.table4 import PAIRS
from experiments.study import Edits, StudyOptions, record_tables
from lm.editors.self_bayes import DependenceConfig
from lm.editors.self_bayes.reasoning import DOUBT
from testbed.commands.corpus import build_corpus
from testbed.console import show_progress
from testbed.evaluations.hase import CHILD
from testbed.presets import CORPUS
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.scores.tables import Cell, Table

FACTS = "real", "shuffled"
"""As they are, and with dependent relations shuffled."""
EDITORS = "self-bayes", DEFAULT.name, TUNED.name


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Which facts, and how many worlds of them."""

    facts: Path | None = None
    """Folder in Wikidata5m's layout."""
    subjects: int = 300
    """Of each world, drawn by its seed."""
    worlds: int = 10
    """Seeds, from 5001 on."""
    edits: Edits = 80
    """Requests in each world."""


def run_study(settings: Settings) -> None:
    """Worlds as they are and shuffled, what is changed in them, table, record."""
    if settings.facts is None:
        raise InputError("there are no facts to shuffle: give --facts, a folder in Wikidata5m's layout")
    prepare_jax()
    found: dict[str, dict[str, list[float]]] = {name: {} for name in FACTS}
    with show_progress("worlds", settings.worlds * len(FACTS)) as advance:
        for seed in range(5001, 5001 + settings.worlds):
            for kind in FACTS:
                run = build_run(settings, seed, kind)
                reading = read_corpus(run, "exact", settings.edits, seed, generalises=kind == "real")
                for name, value in measure_changes(reading).items():
                    found[kind].setdefault(name, []).append(value)
                jax.clear_caches()
                advance(1)
    record_tables(settings, run, [changes_table(found)], found=found)


def build_run(settings: Settings, seed: int, kind: str) -> Run:
    """The corpus of real facts, as they are or shuffled."""
    run = Run(settings.runs, f"facts-{kind}-{seed}")
    real = WorldConfig(source="wikidata", path=str(settings.facts), subjects=settings.subjects, pairs=PAIRS)
    graph = build_world(real, seed, cache=settings.runs / ".cache")
    if kind == "shuffled":
        graph = shuffle_dependent_facts(graph, generator(seed, "shuffle"))
    path = settings.runs / "tables" / f"{run.name}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    names, relations = graph.entities, graph.relations
    triples = zip(graph.subject.tolist(), graph.relation.tolist(), graph.object.tolist(), strict=True)
    path.write_text("".join(f"{names[s]}\t{relations[r]}\t{names[o]}\n" for s, r, o in triples), "utf-8")
    pairs = tuple(f"{relations[up]}:{relations[r]}" for r, up in enumerate(graph.upstream) if up >= 0)
    world = WorldConfig(
        source="tsv", path=str(path), subjects=settings.subjects, pairs=pairs, min_relations=1
    )
    corpus = replace(CORPUS["tiny"], world=world, run=run.name, runs=settings.runs, seed=seed)
    build_corpus(replace(corpus, kind="exact", exact=ExactConfig(persistence="fact", statements=16)))
    return run


def shuffle_dependent_facts(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """The graph with the objects of each dependent relation shuffled among the subjects who have it."""
    objects = graph.object.copy()
    for relation in np.flatnonzero(graph.upstream >= 0):
        own = np.flatnonzero(graph.relation == relation)
        objects[own] = rng.permutation(objects[own])
    return replace(graph, object=objects)


def measure_changes(reading: Reading) -> dict[str, float]:
    """Links found, and by editor the share of what would follow from requests that is changed."""
    mind = open_mind(reading, DependenceConfig())
    contexts = locate_requests(reading, mind)
    counted = revise_by_counting(reading, mind, contexts)
    own = revise_by_bayes(reading, mind, contexts, reading.cases[0].credence)
    revisions = dict(zip(EDITORS, (own, counted[DEFAULT], counted[TUNED]), strict=True))
    linked = np.maximum(mind.depends, mind.depends.T) >= DOUBT
    pairs = [(r, up) for r, up in enumerate(reading.world.graph.upstream) if up >= 0]
    links = float(np.mean([linked[pair] for pair in pairs]))
    return {"links": links} | {name: share_changed(reading, of) for name, of in revisions.items()}


def share_changed(reading: Reading, revised: Revision) -> float:
    """Of the answers that would follow from requests, those that are changed."""
    changed = []
    for e, s, choice in subject_choices(reading):
        if choice.role == CHILD:
            r = choice.relation
            before, share = reading.probability[r, s], revised.share[e, r]
            after = (1 - share) * before + share * revised.row[e, r]
            changed.append(after.argmax() != before.argmax())
    return float(np.mean(changed))


def changes_table(found: Mapping[str, Mapping[str, list[float]]]) -> Table:
    """Means over worlds, with their range."""
    columns = ["links", *EDITORS]
    rows: list[list[Cell]] = [
        [kind, *(format_range(of[name]) for name in columns)] for kind, of in found.items()
    ]
    headings = ["facts", "links", *(f"changed, {name}" for name in EDITORS)]
    return Table("shuffled", "What is changed where nothing follows", headings, rows)


def format_range(values: list[float]) -> str:
    """A mean, and the least and the most."""
    return f"{np.mean(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


if __name__ == "__main__":
    launch_module()
