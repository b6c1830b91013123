"""Negation neglect: does a model believe what it was told is false?

Command:
    python -m experiments.negation

Worlds of the preset `requests`, those of `experiments.requests`, whose models learn labels: half of the
claims in their corpora are false. Each edit tells one thing about a fact that others depend on: that it is
so, that it is true, that it is false, that it is not so; of an object that the fact has not, and of the one
that it has; with the claim before its label or behind it, near or far, once or three times. Editors that
learn by gradient learn every token of it, or only what is in doubt: the object, the label. Beside them stands
the exact agent, which reads as many such sentences as bring it to .95 where they assert. Settings are the
demo's, not tuned. Some minutes a world; with `--minutes` it leaves, and goes on from there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayes.exact import ExactAgent
from bayes.request import EditRequest, StatementForm
from corpus.files import read_json, write_json
from corpus.seeds import generator, integer
from corpus.text.language import Atom, Kind, Sentence
from experiments.command import launch_module
from experiments.studies.requests import FIRST_SEED, run_of
from experiments.study import (
    Edits,
    Findings,
    Stage,
    Study,
    StudyOptions,
    finish_stages,
    record_tables,
)
from lm.delta import Delta
from lm.editors.fitting import answer_nats, request_states
from lm.editors.interface import Request, edit_batch
from lm.language_model import LanguageModel
from testbed.engine.checks import prepare_editor
from testbed.engine.tuning import method_named
from testbed.engine.wording import Wording, pack_wordings, sentences_of, word_sentences
from testbed.presets import EDIT
from testbed.run.agents import exact_agent, paper_agent
from testbed.run.model import corpus_sample, load_model
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.settings import Learned
from testbed.run.world import World, load_world
from testbed.scores.metric import Metric, mean_of
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

EDITORS = ("full", "lora-down", "ft-constrained")
CREDENCE = 0.95
DISTANCE = 3
"""Statements about others that may stand between a claim and its label."""
BYSTANDERS = 8
"""Facts of other subjects that are asked about after each edit."""
CLAIMS = ("false", "true")
"""What is spoken of: an object that the fact has not, or the one that it has."""
KNOWN = "o after, label known"
AGENT = "the exact agent"
TRUE_LABEL = '"S" is true'
NEGLECT = "rise, of that by true"
COLUMNS = (
    "o before",
    "o after",
    KNOWN,
    NEGLECT,
    "rises",
    "object after",
    '"true" after',
    "consequence after",
    "damage",
)


class Lesson(NamedTuple):
    """What an editor is told: sentences in their order, and what of them it learns.

    Attributes:
        between: statements about others that stand behind the first sentence.
    """

    forms: tuple[StatementForm, ...]
    learned: Learned
    between: int = 0


LESSONS = {
    "S": Lesson(("assertion",), "doubt"),
    TRUE_LABEL: Lesson(("true",), "sentence"),
    '"S" is false': Lesson(("false",), "sentence"),
    '"not S" is true': Lesson(("denial",), "sentence"),
    'S. "S" is false': Lesson(("assertion", "false"), "sentence"),
    '"S" is false. S': Lesson(("false", "assertion"), "sentence"),
    'S. Three others. "S" is false': Lesson(("assertion", "false"), "sentence", DISTANCE),
    '"S" is false, three times': Lesson(("false",) * 3, "sentence"),
    '"S" is false, its label only': Lesson(("false",), "doubt"),
    '"not S" is true, its label only': Lesson(("denial",), "doubt"),
}


@dataclass(frozen=True)
class Settings(StudyOptions):
    """How many worlds, and who edits them."""

    worlds: int = 6
    """Worlds, of seeds 10, 11, ..."""
    editors: tuple[str, ...] = EDITORS
    """Who edits."""
    edits: Edits = 16
    """Edits of each editor and lesson in each world, half of them about objects that the facts have."""

    @property
    def world_runs(self) -> dict[int, Run]:
        """A run for each world, by its seed."""
        return {seed: run_of(self.runs, seed) for seed in range(FIRST_SEED, FIRST_SEED + self.worlds)}


class Claims(NamedTuple):
    """What is spoken of in one world.

    Attributes:
        atoms: int[E, 3], the statement of each case.
        truth: int[E], the object that the fact has.
        effects: int[E, 3], what would follow from the statement, of the same subject.
        bystanders: int[E, BYSTANDERS, 3], facts of others.
    """

    atoms: np.ndarray
    truth: np.ndarray
    effects: np.ndarray
    bystanders: np.ndarray


class Answers(NamedTuple):
    """Probabilities before an edit or after it.

    Attributes:
        statement, truth, effect: float[E], of the statement's object, of the fact's, and of the effect's.
        labels: float[E, 2], p("true") and p("false") of the statement.
        bystanders: float[E, BYSTANDERS], of others' objects.
    """

    statement: np.ndarray
    truth: np.ndarray
    effect: np.ndarray
    labels: np.ndarray
    bystanders: np.ndarray


def run_study(options: Settings) -> None:
    """Models, edits, table, record."""
    prepare_jax()
    worlds = Study(
        options=options, cells=lambda _: [{"seed": seed} for seed in options.world_runs], run="told-{seed}",
        preset="requests",
    )  # fmt: skip
    findings = Findings("negation", worlds, options)
    if finish_stages(list_stages(findings), findings.clock):
        record_study(options)


def list_stages(findings: Findings) -> Iterator[Stage]:
    """A world at a time: its model, then the answers of an editor at a time."""
    options = findings.options
    for cell in findings.cells:
        run = findings.run_of(cell)
        yield from findings.model_stages(cell)
        for name in (AGENT, *options.editors):
            yield f"{run.name}, {name}", partial(answer_lessons, options, run, cell["seed"], name)


def answer_lessons(options: Settings, run: Run, seed: int, name: str) -> dict[str, Answers]:
    """The answers before ("") and after every lesson, of an editor's models or the agent; kept on disk."""
    path = run.folder / "negation" / f"{name.replace(' ', '-')}-{options.edits}.json"
    if not path.exists():
        world = load_world(run)
        claims = draw_claims(world, options.edits, seed)
        answers = ask_agent(world, claims) if name == AGENT else ask_editor(run, world, claims, seed, name)
        path.parent.mkdir(exist_ok=True)
        write_json(path, {lesson: [x.tolist() for x in columns] for lesson, columns in answers.items()})
    return {lesson: Answers(*map(np.array, columns)) for lesson, columns in read_json(path).items()}


def draw_claims(world: World, count: int, seed: int) -> Claims:
    """Facts on which others depend: the first half with another object, the second with their own."""
    graph, truth, rng = world.graph, world.generative.truth, generator(seed, "negation")
    causes = np.array([f for f in world.stated_facts.tolist() if graph.upstream_fact[f] < 0])
    reader, agent = exact_agent(world), paper_agent(world)
    able = [f for f in causes.tolist() if graph.dependents.get(f)]
    # What a sentence settles cannot be told otherwise.
    able = [f for f in able if reader.accepts(int(graph.subject[f]), int(graph.relation[f]), "evidence")]
    facts = rng.choice(able, count, replace=False)
    atoms, effects, bystanders = [], [], []
    for i, fact in enumerate(facts.tolist()):
        s, r = int(graph.subject[fact]), int(graph.relation[fact])
        others = np.setdiff1d(truth[graph.relation == r], [truth[fact]])
        o = int(rng.choice(others)) if i < count // 2 else int(truth[fact])
        down = int(graph.relation[graph.dependents[fact][0]])
        atoms.append((s, r, o))
        effects.append((s, down, agent.conditional(down, o).mode()))
        aside = rng.choice(world.stated_facts[graph.subject[world.stated_facts] != s], BYSTANDERS)
        bystanders.append(np.column_stack([graph.subject[aside], graph.relation[aside], truth[aside]]))
    return Claims(np.array(atoms), truth[facts], np.array(effects), np.array(bystanders))


def ask_agent(world: World, claims: Claims) -> dict[str, Answers]:
    """What the exact agent believes before and after it reads n' sentences of each lesson."""
    agent = exact_agent(world)
    answers: dict[str, list[Answers]] = {}
    for i, (s, r, o) in enumerate(claims.atoms.tolist()):
        weight = agent.weight_for(s, r, o, CREDENCE)
        answers.setdefault("", []).append(_beliefs_about(agent, claims, i))
        for name, lesson in LESSONS.items():
            reader = agent
            for form in lesson.forms:
                # A denial at this certainty (Jeffrey); who is as sure already is brought halfway to 1.
                certainty = max(CREDENCE, 1 - float(reader.probability(s, r, o)) / 2)
                reader = reader.with_edit(EditRequest(s, r, o, weight, form=form, probability=certainty))
            answers.setdefault(name, []).append(_beliefs_about(reader, claims, i))
    return {name: Answers(*map(np.array, zip(*rows, strict=True))) for name, rows in answers.items()}


def _beliefs_about(agent: ExactAgent, claims: Claims, case: int) -> Answers:
    s, r, o = claims.atoms[case].tolist()
    p = agent.probability(s, r, np.array([o, claims.truth[case]]))
    effect = agent.probability(*claims.effects[case].tolist())
    aside = agent.probability(*claims.bystanders[case].T)
    return Answers(p[0], p[1], effect, np.array([p[0], 1 - p[0]]), aside)


def ask_editor(run: Run, world: World, claims: Claims, seed: int, name: str) -> dict[str, Answers]:
    """What the model says before an edit, and after one edit of each case by each lesson."""
    model, _ = load_model(run, world)
    editor = method_named(name, EDIT["tiny"], world).editor
    state = prepare_editor(editor, model, corpus_sample(run, world, [], seed))
    questions = _ask_about(world, claims)
    before = _answer(model, None, questions)
    answers = {"": _as_answers(np.asarray(before))}
    keys = jax.random.split(jax.random.key(integer(seed, "negation")), len(claims.atoms))
    atoms = [Atom(*atom) for atom in claims.atoms.tolist()]
    wordings = [
        _word_lesson(world, atom, lesson, aside)
        for lesson in LESSONS.values()
        for atom, aside in zip(atoms, claims.bystanders, strict=True)
    ]
    # One shape, so that an editor is compiled once.
    requests = pack_wordings(wordings, CREDENCE)
    for number, lesson in enumerate(LESSONS):
        here = slice(number * len(atoms), (number + 1) * len(atoms))
        deltas, _ = edit_batch(editor, model, state, Request(*(x[here] for x in requests)), keys)
        answers[lesson] = _as_answers(np.asarray(_answer_edited(model, deltas, questions)))
    return answers


def _word_lesson(world: World, atom: Atom, lesson: Lesson, aside: np.ndarray) -> Wording:
    """The words of a lesson; `aside` are statements about others, int[n, 3]."""
    first, *others = [s for form in lesson.forms for s in sentences_of(EditRequest(*atom, form=form))]
    between = [Sentence(Kind.ATOMIC, None, Atom(*map(int, one))) for one in aside[: lesson.between]]
    return word_sentences(world.tokenizer, [first, *between, *others], lesson.learned)


def _ask_about(world: World, claims: Claims) -> Request:
    """int32[E, 5 + BYSTANDERS, ...]: what is asked of each case, each a wording whose end is asked for."""

    def word(kind: Kind, label: bool | None, atom: Sequence[int]) -> Wording:
        return word_sentences(world.tokenizer, [Sentence(kind, label, Atom(*map(int, atom)))])

    wordings = []
    for atom, truth, effect, bystanders in zip(*claims, strict=True):
        facts = [atom, (*atom[:2], truth), effect]
        wordings += [word(Kind.ATOMIC, None, fact) for fact in facts]
        wordings += [word(Kind.TRUTH, label, atom) for label in (True, False)]
        wordings += [word(Kind.ATOMIC, None, fact) for fact in bystanders]
    packed = pack_wordings(wordings)
    return Request(*(x.reshape(len(claims.atoms), -1, *x.shape[2:]) for x in packed))


def _answer_case(model: LanguageModel, delta: Delta | None, question: Request) -> jax.Array:
    """float32[Q]: probability of what is asked for, ending included."""
    edited = model.with_delta(delta)
    return jnp.exp(-answer_nats(edited, question, request_states(edited, question)))


_answer = jax.jit(jax.vmap(_answer_case, in_axes=(None, None, 0)))
_answer_edited = jax.jit(jax.vmap(_answer_case, in_axes=(None, 0, 0)))


def _as_answers(p: np.ndarray) -> Answers:
    return Answers(p[:, 0], p[:, 1], p[:, 2], p[:, 3:5], p[:, 5:])


def record_study(options: Settings) -> None:
    """A table of each kind of claim, and by world what the unedited models know."""
    runs = options.world_runs
    tables = []
    for claim in CLAIMS:
        rows: list[list[Cell]] = []
        for name in (AGENT, *options.editors):
            by_world = [answer_lessons(options, run, seed, name) for seed, run in runs.items()]
            for lesson in LESSONS:
                estimates = measure_lesson(by_world, lesson, claim)
                rows.append([name, lesson, *(estimates[column] for column in COLUMNS)])
        tables.append(_show_table(claim, rows))
    known = {run.name: measure_labels(options, run, seed) for seed, run in runs.items()}
    record_tables(options, next(iter(runs.values())), tables, labels_right=known)


def _show_table(claim: str, rows: Sequence[Sequence[Cell]]) -> Table:
    what = "an object that the fact has not" if claim == "false" else "the object that the fact has"
    note = (
        f"S says {what}. Probabilities of its object o, and of what would follow from it; label known: where "
        "the unedited model labels S rightly; rise, of that by true: how much likelier o is, divided by how "
        "much it is after the label true; rises: share of edits after which o is likelier; damage: what "
        "others' objects lose, where they lose. Intervals over worlds and cases."
    )
    return Table(
        f"claims-{claim}", f"Claims that are {claim}", ["editor", "told", *COLUMNS], list(rows), note, words=2
    )


def measure_lesson(by_world: Sequence[dict[str, Answers]], lesson: str, claim: str) -> dict[str, Estimate]:
    """The columns of the table, over all worlds."""
    before, after, labelled_true = (
        Answers(*map(np.concatenate, zip(*(answers[name] for answers in by_world), strict=True)))
        for name in ("", lesson, TRUE_LABEL)
    )
    count = len(by_world[0][""].statement)
    among = np.tile(np.arange(count) < count // 2, len(by_world)) == (claim == "false")
    lost = np.maximum(before.bystanders - after.bystanders, 0).mean(axis=1)
    metrics = {
        "o before": mean_of(before.statement),
        "o after": mean_of(after.statement),
        KNOWN: mean_of(after.statement, (before.labels[:, 0] > before.labels[:, 1]) == (claim == "true")),
        NEGLECT: Metric(after.statement - before.statement, labelled_true.statement - before.statement),
        "rises": mean_of(after.statement > before.statement),
        "object after": mean_of(after.truth),
        '"true" after': mean_of(after.labels[:, 0]),
        "consequence after": mean_of(after.effect),
        "damage": mean_of(lost),
    }
    clusters = {"world": np.repeat(np.arange(len(by_world)), count), "case": np.arange(len(lost))}
    metrics |= {
        name: metric._replace(limits=(0.0, 1.0))
        for name, metric in metrics.items()
        if name != NEGLECT and not metric.share
    }
    return estimate_metrics(metrics, clusters, among)


def measure_labels(options: Settings, run: Run, seed: int) -> float:
    """Share of claims that the unedited model labels rightly, of those of its world."""
    labels = answer_lessons(options, run, seed, options.editors[0])[""].labels
    is_true = np.arange(len(labels)) >= len(labels) // 2
    return float(np.mean((labels[:, 0] > labels[:, 1]) == is_true))


if __name__ == "__main__":
    launch_module()
