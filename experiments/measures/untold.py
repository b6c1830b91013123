"""Models that were never told some facts: trained again without the sentences, the ceiling of retractions.

The agent forgets one fact at a time, and a model of each would be a training for each. So a model forgets a
batch of facts of different subjects at once. What each could be deduced from, the subject's other facts, is
still in its corpus, and so is nine tenths of what says which facts go together. All of a world's at once
would leave nothing to deduce any of them from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayes.exact import ExactAgent, fit_exact
from corpus.files import read_json, write_json
from corpus.seeds import integer
from corpus.text.sentences import Sentences
from corpus.text.store import TokenFile, open_documents, spell_sentences
from corpus.text.tokenizer import BOS, EOS, SEP, Word
from lm.batches import PackedRows
from lm.config import MeshConfig, ModelConfig, TrainConfig
from lm.language_model import LanguageModel
from lm.mesh import make_mesh, place_rows
from lm.training import start_training, train_step
from testbed.engine.controls.forms import ModelBelief, ask_about_facts
from testbed.evaluations.requests import FACT
from testbed.evaluations.requests.metrics import DAMAGE, Answers
from testbed.protocol import Case
from testbed.run.agents import exact_agent
from testbed.run.model import load_model
from testbed.run.runs import Run, recorded_settings
from testbed.run.world import World
from testbed.scores.metric import DISTANCE, mean_of
from testbed.scores.readers import NO_EDIT
from testbed.scores.statistics import estimate_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table

AT_ONCE = 20
"""Facts that a model is not told, of as many subjects."""
NEVER_TOLD = "a model trained without"
COLUMNS = ("distance", "deducible", "not deducible", "from its own reader", DAMAGE)


@dataclass(frozen=True)
class Untold:
    """What a model says that was never told some facts.

    Attributes:
        facts: subject and relation of each.
        distance: total variation to the agent that was never told this fact alone, of each fact.
        from_reader: to the agent that was told none of them, as the model was.
        deducible: whether the agent gives the same answer without, of each fact.
        damage: how much farther from the agent other stated facts are than the told model's.
    """

    facts: list[list[int]]
    distance: list[float]
    from_reader: list[float]
    deducible: list[bool]
    damage: float


def measure_untold(run: Run, world: World, cases: Sequence[Case]) -> Untold:
    """Train without the first facts of some retractions, and ask about them; kept on disk.

    Args:
        cases: retractions of whole facts.
    """
    path = run.folder / "requests-untold.json"
    if not path.exists():
        write_json(path, vars(_measure_untold(run, world, choose_batch(cases))))
    return Untold(**read_json(path))


def choose_batch(cases: Sequence[Case]) -> list[Case]:
    """The first cases of different subjects."""
    by_subject: dict[int, Case] = {}
    for case in cases:
        by_subject.setdefault(case.request.subject, case)
    return [*by_subject.values()][:AT_ONCE]


def _measure_untold(run: Run, world: World, batch: Sequence[Case]) -> Untold:
    graph = world.graph
    facts = [int(graph.find(*case.request[:2])) for case in batch]
    whole = ask_about_facts(load_model(run, world)[0], world)
    without = ask_about_facts(train_without(run, world, facts), world)
    assert world.exact is not None, "the preset's corpora are exact"
    says = sentences_about(world, facts)
    reader = fit_exact(graph, world.exact.config, world.sentences.take(~says))
    agent = exact_agent(world)

    def measure_distance(model: Mapping[int, ModelBelief], fact: int, belief: np.ndarray) -> float:
        return float(abs(model[fact].p - belief).sum() / 2)

    def ask_agent(who: ExactAgent, fact: int) -> np.ndarray:
        return who.predict(int(graph.subject[fact]), int(graph.relation[fact])).dense_probabilities()

    def added_distance(fact: int) -> float:
        belief = ask_agent(agent, fact)
        more, before = (measure_distance(model, fact, belief) for model in (without, whole))
        return max(more - before, 0.0)

    others = np.setdiff1d(world.stated_facts, facts)
    others = others[~np.isin(graph.subject[others], graph.subject[facts])].tolist()
    own = [next(choice for choice in case.choices if choice.role == FACT) for case in batch]
    return Untold(
        [[*case.request[:2]] for case in batch],
        [measure_distance(without, fact, choice.agent[1]) for fact, choice in zip(facts, own, strict=True)],
        [measure_distance(without, fact, ask_agent(reader, fact)) for fact in facts],
        [bool(case.facets["deducible"]) for case in batch],
        float(np.mean([added_distance(f) for f in others])),
    )


def sentences_about(world: World, facts: Sequence[int]) -> np.ndarray:
    """bool[sentences]: those that name one of some facts."""
    sentences, graph = world.sentences, world.graph
    names_fact = np.zeros(len(sentences.kind), bool)
    for atom in (sentences.a, sentences.b):
        joined = np.flatnonzero(atom[:, 0] >= 0)
        names_fact[joined] |= np.isin(graph.find(atom[joined, 0], atom[joined, 1]), facts)
    return names_fact


def cut_sentences(documents: TokenFile, world: World, cut: Sentences) -> TokenFile:
    """Documents without some sentences; those of which nothing is left are gone, too."""
    tokens, place = spell_sentences(cut, world.tokenizer)
    spelt = {tuple(tokens[a:b].tolist()) for a, b in pairwise(place)}
    rows: list[int] = []
    offsets = [0]
    for begin, end in pairwise(documents.offsets):
        text = documents.tokens[begin + 1 : end - 1].tolist()
        stops = [-1, *(i for i, token in enumerate(text) if token == SEP), len(text)]
        sentences = [text[a + 1 : b] for a, b in pairwise(stops)]
        rest = [one for one in sentences if tuple(one) not in spelt]
        if rest:
            rows += [BOS, *rest[0], *(token for one in rest[1:] for token in (SEP, *one)), EOS]
            offsets.append(len(rows))
    return TokenFile(np.array(rows, documents.tokens.dtype), np.array(offsets))


def train_without(run: Run, world: World, facts: Sequence[int]) -> LanguageModel:
    """The run's model, trained again from its first weights on a corpus that says nothing of some facts."""
    settings = recorded_settings(run, "train")[0]
    recipe, shape = TrainConfig(**settings["train"]), ModelConfig(**settings["model"])
    mesh, seed = make_mesh(MeshConfig()), settings["seed"]
    cut = world.sentences.take(sentences_about(world, facts))
    documents = cut_sentences(open_documents(run.corpus), world, cut)
    rows = PackedRows(documents, recipe.row_length, seed, recipe.packing)
    vocabulary = world.tokenizer.vocabulary
    labels = tuple(map(world.tokenizer.word, (Word.TRUE, Word.FALSE)))
    step_once = train_step(shape, recipe, vocabulary, mesh, labels)
    state = start_training(shape, recipe, vocabulary, integer(seed, "weights"), mesh)
    for step in range(recipe.steps):
        state, _ = step_once(state, place_rows(mesh, rows.batch(step, recipe.rows)))
    return LanguageModel(shape, state.params)


def untold_table(untold: Mapping[int, Untold], by_world: Mapping[int, Sequence[ScoredEditor]]) -> Table:
    """How far the agent is from a model that was never told facts, and from those that are to forget them.

    Args:
        untold: by the seed of a world.
        by_world: editors that were told to forget facts, likewise.
    """
    far: dict[str, list[float]] = {NEVER_TOLD: [x for one in untold.values() for x in one.distance]}
    for seed, editors in by_world.items():
        for editor in editors:
            far.setdefault(editor.name, []).extend(_distances(editor, editor.name, untold[seed].facts))
        far.setdefault(NO_EDIT, []).extend(_distances(editors[0], NO_EDIT, untold[seed].facts))
    deducible = np.array([x for one in untold.values() for x in one.deducible])
    counts = [len(one.facts) for one in untold.values()]
    clusters = {"world": np.repeat(np.arange(len(untold)), counts), "case": np.arange(sum(counts))}
    rows: list[list[Cell]] = []
    for name, values in far.items():
        parts = {"distance": deducible | True, "deducible": deducible, "not deducible": ~deducible}
        metrics = {part: mean_of(np.array(values), x)._replace(limits=DISTANCE) for part, x in parts.items()}
        if name == NEVER_TOLD:
            read = [x for one in untold.values() for x in one.from_reader]
            metrics["from its own reader"] = mean_of(np.array(read))._replace(limits=DISTANCE)
            metrics[DAMAGE] = mean_of(np.repeat([one.damage for one in untold.values()], counts))
        found = estimate_metrics(metrics, clusters, np.ones(sum(counts), bool))
        rows.append([name, *(found.get(column) for column in COLUMNS)])
    title = f"A model that was never told: {sum(counts)} facts, {int(deducible.sum())} of them deducible"
    note = (
        "Total variation to the agent that was never told a fact; of the model trained without also to the "
        "agent that read what it read, and what it lost elsewhere."
    )
    return Table("requests-untold", title, ["who", *COLUMNS], rows, note)


def _distances(editor: ScoredEditor, reader: str, facts: Sequence[Sequence[int]]) -> list[float]:
    """Of a reader over some facts of a world, in their order."""
    results = editor.edits.results
    answers = Answers(results, editor.evaluation.readers(results, editor.name)[reader])
    far = answers.distance[answers.fact_row]
    pairs = zip(results.cases["subject"].tolist(), results.cases["relation"].tolist(), strict=True)
    by_pair = dict(zip(pairs, far.tolist(), strict=True))
    return [by_pair[s, r] for s, r in facts]
