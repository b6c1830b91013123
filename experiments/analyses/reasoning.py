"""How well is a request thought through where beliefs are exact? A rule and a learned reviser, no model.

Command:
    python -m experiments.reasoning

The worlds and requests are those of experiments.kinds. What a corpus states makes the beliefs; a share of
them is then somebody else's, as beliefs that are read from a model are partly wrong. Each way to reason
concludes from them what else the request makes true of its subject, and is held against the exact agent,
who knows the law that drew the world. Facts of the subject that are stated stay, by any of them.

none       the agent's beliefs before the request
counting   what those have who have the requested object, three of them beside one of everybody
one cause  the rule of `keyed` (lm.editors.self_bayes.reasoning)
learned    a network that learned to revise (lm.editors.self_bayes.reviser)

`--revisers without-joint.npz` adds a network of other weights, such as those of
`python -m experiments.train_reviser --kinds root pair type group copy --into without-joint.npz`, by the
name of its file.

Takes ten minutes of one core, nearly all of it for the agent; every world is kept, so that a killed command
goes on. Writes experiments/records/<date>-reasoning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.files import hash_file, read_json, write_json
from corpus.seeds import generator
from experiments.command import launch_module
from experiments.studies.kinds import DEVELOPMENT, FIRST, LAWS
from experiments.studies.kinds import STUDY as KINDS
from experiments.study import StudyOptions, record_tables
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import DependenceConfig
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import find_dependence
from lm.editors.self_bayes.reasoning import (
    Consequences,
    Mind,
    RequestContext,
    ask_reviser,
    build_mind,
    infer_consequences,
    read_everybody,
)
from lm.editors.self_bayes.reviser import load_weights, read_weights
from testbed.commands.corpus import build_corpus
from testbed.console import show_progress
from testbed.evaluations.kinds import FOLLOWS, SILENT
from testbed.open_run import open_run
from testbed.presets import CORPUS
from testbed.protocol import Case, Choice
from testbed.run.runs import Run
from testbed.run.settings import change_settings
from testbed.run.strata import support_of
from testbed.run.world import World
from testbed.scores.metric import Metric
from testbed.scores.statistics import estimate_metric
from testbed.scores.tables import Cell, Table

WAYS = ("none", "counting", "one cause", "learned")
COLUMNS = ("follows", "silent stays", "distance")
EVERYBODY = 3.0
"""So many who have the requested object weigh as much as everybody, where these are counted."""
SELDOM = 0.03
FIRST_TOKEN = 1000
"""Tokens of objects, as beliefs name them."""


@dataclass(frozen=True)
class Settings(StudyOptions):
    """How much is measured."""

    worlds: int = 10
    """Of each kind."""
    edits: int = 24
    """Requests in each world."""
    wrong: tuple[float, ...] = (0.0, 0.1)
    """Shares of the beliefs that are somebody else's."""
    revisers: tuple[Path, ...] = ()
    """Files of other weights for the learned reviser."""
    development: bool = False
    """Take two worlds of each kind of which nothing is reported."""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [*WAYS, *(path.stem for path in self.revisers)]
        if len(names) > len({*names}):
            raise ValueError("two ways to reason have one name; rename a file of --revisers")


class Facts(NamedTuple):
    """What a corpus states; S subjects, R relations.

    Attributes:
        objects: int[K], all objects.
        subjects: int[S].
        known: int[S, R], the place of each stated object among `objects`, or -1.
    """

    objects: np.ndarray
    subjects: np.ndarray
    known: np.ndarray


def run_study(options: Settings) -> None:
    """Reason about every request, print how near gold that is, and write the record."""
    first, worlds = (DEVELOPMENT, 2) if options.development else (FIRST, options.worlds)
    cells = [(law, first + i) for i in range(worlds) for law in LAWS]
    found: list[dict[str, Any]] = []
    with show_progress("worlds", len(cells)) as advance:
        for law, seed in cells:
            found += measure_world(options, law, seed)
            advance(1)
    run = Run(options.runs, "reasoning-development" if options.development else "reasoning")
    run.folder.mkdir(parents=True, exist_ok=True)
    ways = WAYS + tuple(path.stem for path in options.revisers)
    record_tables(options, run, [table_of(found, share, worlds, ways) for share in options.wrong])


def measure_world(options: Settings, law: str, seed: int) -> list[dict[str, Any]]:
    """What each way to reason makes of every question about the subjects of requests; kept on disk."""
    run = Run(options.runs, f"reasoning-{law}-{seed}")
    kept = run.folder / "reasoned.json"
    weights = {"learned": load_weights()} | {path.stem: read_weights(path) for path in options.revisers}
    hashes = [hash_file(path) for path in options.revisers]
    about = {"edits": options.edits, "wrong": [*options.wrong], "revisers": hashes}
    if kept.exists() and (stored := read_json(kept))["about"] == about:
        return stored["found"]
    if not run.corpus.exists():
        preset = CORPUS[KINDS.preset({"law": law})]
        build_corpus(
            change_settings(
                replace(preset, run=run.name, runs=options.runs, seed=seed), KINDS.corpus({"law": law})
            )
        )
    opened = open_run(run.folder, "exact")
    cases = list(opened.cases("kinds", options.edits, seed=seed))
    found = []
    for share in options.wrong:
        facts = read_facts(opened.world, cases, share, seed)
        mind = make_mind(facts, opened.world)
        minds = {name: mind._replace(reviser=read_everybody(mind, some)) for name, some in weights.items()}
        for row in judge_cases(opened.world, facts, mind, minds, cases):
            found.append(row | {"law": law, "world": seed, "wrong": share})
    write_json(kept, {"about": about, "found": found})
    return found


def read_facts(world: World, cases: list[Case], wrong: float, seed: int) -> Facts:
    """What the corpus states of everybody, a share of it exchanged among subjects."""
    graph, truth = world.graph, world.generative.truth
    named = [case.request.object for case in cases]
    named += [o for case in cases for choice in case.choices for o in choice.options]
    objects, subjects = np.unique([*truth, *named]), np.unique(graph.subject)
    known = np.full((len(subjects), len(graph.relations)), -1)
    stated = world.stated_facts
    place = np.searchsorted(objects, truth[stated])
    known[np.searchsorted(subjects, graph.subject[stated]), graph.relation[stated]] = place
    rng = generator(seed, "beliefs")
    for column in known.T:
        rows = np.flatnonzero(column >= 0)
        swapped = rows[rng.random(len(rows)) < wrong]
        column[swapped] = column[rng.permutation(swapped)]
    return Facts(objects, subjects, known)


def make_mind(facts: Facts, world: World) -> Mind:
    """These facts as the beliefs of a model that has read no other; of others it believes what is common."""
    known, few = facts.known.T, 8
    top = np.zeros((*known.shape, few), np.int32)
    p = np.zeros(top.shape, np.float32)
    for r, column in enumerate(known):
        common = np.bincount(column[column >= 0], minlength=len(facts.objects))
        order = np.argsort(-common, kind="stable")[:few]
        top[r], p[r] = order, common[order] / max(common.sum(), 1)
        is_known = column >= 0
        top[r, is_known, 0], p[r, is_known] = column[is_known], np.eye(1, few)
    names = FIRST_TOKEN + np.arange(len(facts.objects), dtype=np.int32)
    share = np.where(known >= 0, 1 / np.maximum((known >= 0).sum(axis=0), 1), 1e-4)
    beliefs = Beliefs(
        np.arange(known.shape[1], dtype=np.int32)[:, None], names[:, None], top, p, share * p[:, :, 0]
    )
    dependence = find_dependence(beliefs, DependenceConfig())
    return build_mind(beliefs, dependence, vocabulary_of(world.tokenizer), SELDOM)


def judge_cases(
    world: World, facts: Facts, mind: Mind, minds: dict[str, Mind], cases: list[Case]
) -> Iterator[dict[str, Any]]:
    """How near gold each way to reason comes, question by question, where nothing is stated.

    Args:
        minds: by name those that have read everybody by a reviser.
    """
    support, infer, ask = support_of(world), jax.jit(infer_consequences), jax.jit(ask_reviser)
    for number, case in enumerate(cases):
        s = int(np.searchsorted(facts.subjects, case.request.subject))
        relation, new = case.request.relation, int(np.searchsorted(facts.objects, case.request.object))
        context = make_context(mind, s, relation, new)
        concluded = {"one cause": infer(mind, context)}
        concluded |= {name: ask(one, context) for name, one in minds.items()}
        concluded = jax.tree.map(np.asarray, concluded)
        for choice in case.choices:
            if choice.subject != case.request.subject or choice.role not in (FOLLOWS, SILENT):
                continue
            if facts.known[s, choice.relation] >= 0:
                continue
            options = np.searchsorted(facts.objects, choice.options)
            before, gold = (np.asarray(one)[: len(options)] for one in choice.agent[:2])
            answers = {"none": before, "counting": count_holders(facts, s, relation, new, choice)[options]}
            for name, consequences in concluded.items():
                row, moves = find_row(consequences, choice.relation, len(facts.objects))
                answers[name] = moves * row[options] + (1 - moves) * before
            shared = support[case.request.relation, case.request.object] >= 2
            for name, p in answers.items():
                rest = abs(gold.sum() - p.sum())
                yield {
                    "way": name,
                    "case": number,
                    "role": choice.role,
                    "shared": bool(shared),
                    "right": bool(gold[p.argmax()] >= gold.max() - 1e-9),
                    "distance": float((np.abs(gold - p).sum() + rest) / 2),
                }


def make_context(mind: Mind, subject: int, relation: int, new: int) -> RequestContext:
    """A request about a subject of whom the mind knows what it says."""
    is_subject = jnp.arange(mind.top.shape[1]) == subject
    holds = (mind.top[relation, :, 0] == new) & (mind.reading_probability[relation] > 0.5) & ~is_subject
    nothing = jnp.zeros(len(mind.top))
    return RequestContext(
        relation=jnp.int32(relation),
        prompts=nothing,
        is_subject=is_subject,
        requested_object=jax.nn.one_hot(new, len(mind.objects)),
        holders_new=holds.astype(jnp.float32),
        holders_old=nothing,
        share=mind.share[:, subject],
        reading_probability=mind.reading_probability[:, subject],
        answers=mind.objects[mind.top[:, subject, 0], 0],
        changed=nothing,
    )


def count_holders(facts: Facts, subject: int, relation: int, new: int, choice: Choice) -> np.ndarray:
    """float64[K]: what those have who have the requested object, beside what everybody has."""
    others = np.arange(len(facts.known)) != subject
    column, holds = facts.known[:, choice.relation], facts.known[:, relation] == new
    count = lambda who: np.bincount(column[who & (column >= 0)], minlength=len(facts.objects))  # noqa: E731
    everybody = count(others)
    share = count(others & holds) + EVERYBODY * everybody / max(everybody.sum(), 1)
    return share / max(share.sum(), 1e-9)


def find_row(consequences: Consequences, relation: int, objects: int) -> tuple[np.ndarray, float]:
    """float64[K] and p(it moves): what is concluded of a relation; 0 where nothing is."""
    row = np.zeros(objects)
    at = np.flatnonzero((consequences.relation == relation) & consequences.real)
    if not len(at):
        return row, 0.0
    np.add.at(row, consequences.objects[at[0]], consequences.row[at[0]])
    return row, float(consequences.moves[at[0]])


def table_of(found: list[dict[str, Any]], wrong: float, worlds: int, ways: Sequence[str] = WAYS) -> Table:
    """By kind of world and way to reason: what follows and stays, and the distance to gold."""
    rows: list[list[Cell]] = []
    for law in LAWS:
        for way in ways:
            of = [x for x in found if (x["law"], x["way"], x["wrong"]) == (law, way, wrong)]
            right = np.array([x["right"] for x in of], float)
            follows = np.array([x["role"] == FOLLOWS and x["shared"] for x in of])
            silent = np.array([x["role"] == SILENT for x in of])
            clusters = {"world": np.array([x["world"] for x in of])}
            everywhere = np.ones(len(of), bool)
            values = (right * follows, follows), (right * silent, silent)
            cells = [
                estimate_metric(Metric(x, n.astype(float), share=True), clusters, everywhere)
                for x, n in values
            ]
            far = np.array([x["distance"] for x in of])
            cells.append(estimate_metric(Metric(far, np.ones(len(of))), clusters, everywhere))
            rows.append([law, way, *cells])
    title = (
        "Where beliefs are what is stated" if not wrong else f"Where {wrong:g} of them are somebody else's"
    )
    note = (
        f"{worlds} worlds of each kind. Facts of the subject of which nothing is stated; follows: where two "
        "or more have the new object. ± is half of a 95% interval over worlds."
    )
    return Table(f"reasoning-{wrong:g}", title, ["kind", "by", *COLUMNS], rows, note, words=2)


if __name__ == "__main__":
    launch_module()
