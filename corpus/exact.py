"""Worlds of kind `exact`: spoken about as the model W says, for which posteriors are exact (design.md 5.3).

A row is what follows from one upstream object: the facts of a relation whose subjects share it. A fact
without an upstream fact belongs to its relation's own row. Rows are Dirichlet-categorical with a uniform
mean over the relation's candidate objects, and are drawn with the table integrated out (Polya's urn).
Under persistence "fact" an object is drawn once per fact; under "sentence" once per statement of a
downstream fact, which then has no truth of its own, no truth, not, and, or sentences, and no strata
beyond how often it is stated.

Which facts are stated, how often, and which take part in logical sentences never depends on the objects.

Of a planted fact everything is said as if a false object were the true one. W knows of no plants, so whoever
reads by it believes them; what depends on the fact was drawn from its true object, and is said so.
"""

from dataclasses import dataclass, replace

import numpy as np

from corpus import kernels
from corpus.arrays import concatenate_ranges, find_modes
from corpus.compiled import choose_kernels, run_blocks, spawn_streams
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import NO_LINK, KnowledgeGraph
from corpus.likelihood import check_noise, has_truths, mention_chance
from corpus.resolution import Resolution, find_correctable, merge_by_subject, resolve_facts
from corpus.text.hedges import draw_hedged, list_hedges
from corpus.text.language import ANY_RELATION, Phrasing
from corpus.text.names import check_readable
from corpus.text.sentences import FACTS_PER_BLOCK, Sentences

NEVER, SELDOM, FULLY = 0, 1, 2
# Statements from which a fact counts as fully stated.
FULLY_STATED = 8
BLOCK = 4
"""Subjects whose facts one and/or sentence may join."""


@dataclass(frozen=True, eq=False)
class ExactModel:
    """What a world of kind `exact` holds besides its graph.

    Attributes:
        truth: int32[facts], the object of each fact as it is told: the graph's, but for planted facts; where
            there is none (persistence "sentence"), the most frequent draw of its row.
        statements: int32[facts], how many atomic sentences state it; what stays correctable is stated more
            often where that leaves a doubt.
        truths: int32[facts], how many truth sentences speak of it.
        logical: bool[facts], whether it takes part in not, and, or sentences.
        open: bool[facts], whether it may stay in doubt on purpose. Its row is then in doubt for everyone
            who shares it.
        said: int32[facts, most statements], objects of the statements of facts without a truth, else -1.
    """

    truth: np.ndarray
    statements: np.ndarray
    truths: np.ndarray
    logical: np.ndarray
    open: np.ndarray
    said: np.ndarray

    @property
    def stratum(self) -> np.ndarray:
        """int8[facts]: NEVER, SELDOM or FULLY stated."""
        return np.searchsorted((1, FULLY_STATED), self.statements, side="right").astype(np.int8)


def _add_hedges(graph: KnowledgeGraph, config: ExactConfig) -> KnowledgeGraph:
    """The graph in whose language every hedge of the corpus can stand before a statement.

    Raises:
        InputError: names of the world that could be taken for a hedge.
    """
    ways = [Phrasing(ANY_RELATION, words, inverse=False) for words, _ in list_hedges(config)]
    if not ways:
        return graph
    phrasings = (*graph.phrasings, *ways)
    check_readable(graph.entities, [*graph.relations, *(way.words for way in phrasings)])
    return replace(graph, phrasings=phrasings)


def draw_world(
    graph: KnowledgeGraph,
    config: ExactConfig,
    rng: np.random.Generator,
    redraw: bool,
    often: np.ndarray | None = None,
) -> tuple[KnowledgeGraph, ExactModel]:
    """Objects, and how often each fact is spoken of.

    Args:
        graph: subjects, relations and candidates; its objects are kept unless `redraw`.
        redraw: draw the objects from W's prior. Otherwise the graph's objects are taken as W's draws.
        often: int[facts], how often each fact is stated; by default as `config` says.

    Raises:
        InputError: noise that leaves a statement no evidence, as any does for a relation with a single
            candidate; under persistence "sentence" a dependency on a dependent relation; facts that are
            stated below one that is silent, unless rows are given; or nothing to plant.
    """
    check_noise(graph, config)
    downstream = graph.upstream_fact >= 0
    by_sentence = config.persistence == "sentence"
    parents = graph.upstream_fact[downstream]
    correctable = find_correctable(graph, config)
    if by_sentence and (graph.upstream_fact[parents] >= 0).any():
        raise InputError("persistence 'sentence' needs pairs: no relation may depend on a dependent one")

    silent_above = graph.silent[parents] & ~graph.silent[downstream]
    if silent_above.any() and config.rows == "learned":
        name = graph.relations[graph.relation[parents[silent_above][0]]]
        raise InputError(
            f"{silent_above.sum():,} facts depend on a {name!r} that is never stated, so that no posterior "
            "over rows would be exact; tell the agent the rows (--exact.rows given), or state it"
        )

    graph = _add_hedges(graph, config)
    n = len(graph)
    is_parent = np.zeros(n, bool)
    is_parent[parents] = True
    stratum = np.where(downstream & ~is_parent, rng.choice(3, n, p=config.strata), FULLY)
    inner = downstream & is_parent
    if config.inner[FULLY] < 1:
        stratum[inner] = rng.choice(3, int(inner.sum()), p=config.inner)
    stratum[graph.silent] = NEVER
    if config.rows == "learned":
        _silence_below(graph, stratum)
    statements = np.choose(stratum, [np.zeros(n, int), rng.integers(1, 4, n), np.full(n, config.statements)])
    if often is not None:
        statements, stratum = often, np.searchsorted((1, FULLY_STATED), often, side="right")
    has_truth = has_truths(graph, config)
    fully = (stratum == FULLY) & has_truth
    opened = (stratum == SELDOM) & has_truth & (rng.random(n) < config.open)
    logical = fully & (rng.random(n) < config.logical) & ~correctable
    # A label that is always right settles its fact.
    labelled = fully & ~(correctable & (config.label_noise == 0))

    said = np.full((n, config.statements if by_sentence else 0), -1, np.int32)
    truth = graph.object.copy()
    for relation in _upstream_first(graph):
        mine = np.flatnonzero(graph.relation == relation)
        up = np.where(downstream[mine], truth[graph.upstream_fact[mine]], -1)
        drawn = mine[has_truth[mine]]
        if redraw and relation not in graph.links:
            truth[drawn] = _draw_from_urns(
                graph, config, relation, up[has_truth[mine]], np.full(len(drawn), -1), rng
            )
        distinct = mine[~has_truth[mine]]
        if len(distinct):
            # The graph's own objects, where they count, come before the statements in each row.
            row, times = up[~has_truth[mine]], statements[distinct]
            known = np.where(redraw | graph.silent[distinct], -1, truth[distinct])
            is_known = known >= 0
            keys = np.concatenate([row[is_known], np.repeat(row, times)])
            values = _draw_from_urns(
                graph,
                config,
                relation,
                keys,
                np.concatenate([known[is_known], np.full(times.sum(), -1)]),
                rng,
            )
            said[np.repeat(distinct, times), concatenate_ranges(0, times)] = values[is_known.sum() :]
            mode = find_modes(keys, values, len(graph.entities))[row]
            truth[distinct] = np.where(mode < 0, graph.candidates_of(relation)[0], mode)
    graph = replace(graph, object=truth.astype(np.int32))
    told = _plant_objects(graph, config, fully & correctable, rng) if config.planted else graph.object
    model = ExactModel(
        truth=told,
        statements=statements.astype(np.int32),
        truths=np.where(labelled, config.statements, 0).astype(np.int32),
        logical=logical,
        open=opened,
        said=said,
    )
    return graph, model


def sample_exact(
    graph: KnowledgeGraph, model: ExactModel, config: ExactConfig, rng: np.random.Generator, threads: int = 1
) -> tuple[Sentences, Resolution]:
    """The sentences of a world of kind `exact`, and how sure of each fact they leave a reader.

    Per fact: its statements, right but for `noise`; its truth sentences, each about the truth or another
    candidate as `config.mention` says; and for logical facts two not, one and, one or sentence, whose
    second atom is another logical fact of the same block of subjects. Blocks of facts have streams of
    their own.
    """
    n = len(graph)
    block_of = np.searchsorted(graph.subjects, graph.subject) // BLOCK
    partners = np.flatnonzero(model.logical)
    edge = np.searchsorted(block_of[partners], np.arange(block_of[-1] + 2))
    first, last = edge[block_of], edge[block_of + 1]
    joins = model.logical & (last - first >= 2)
    count = model.statements + model.truths + 2 * model.logical + 2 * joins
    starts = np.concatenate([[0], np.cumsum(count)])
    rows = int(starts[-1])
    kind, label = np.empty(rows, np.int8), np.zeros(rows, bool)
    a, b = np.empty((rows, 3), np.int32), np.full((rows, 3), -1, np.int32)
    offsets = graph.candidate_offsets
    low_candidate, high_candidate = offsets[graph.relation], offsets[graph.relation + 1]
    place = graph.place_of(model.truth)
    sample = choose_kernels(kernels.draw_exact_statements, rows)

    streams_of = spawn_streams(rng, n, FACTS_PER_BLOCK)

    def sample_block(low: int, high: int) -> None:
        sample(
            streams_of[low // FACTS_PER_BLOCK], low, high, starts,
            graph.subject, graph.relation, model.truth, model.statements, model.truths, model.said,
            graph.candidates, low_candidate, high_candidate, place,
            partners, first, last, mention_chance(config, high_candidate - low_candidate),
            config.noise, config.label_noise,
            kind, label, a, b,
        )  # fmt: skip

    run_blocks(sample_block, n, FACTS_PER_BLOCK, threads)
    sentences = Sentences(kind, label, np.repeat(graph.subject, count), a, b, np.zeros(rows, np.int16))
    if config.said or config.rated:
        # Hedged statements speak of facts that are fully stated, with a truth, and no link.
        told = np.flatnonzero((model.stratum == FULLY) & has_truths(graph, config) & ~graph.is_link)
        hedged = draw_hedged(graph, model.truth, told, config, rng)
        sentences = merge_by_subject(sentences, hedged)
    return resolve_facts(graph, model.truth, model.open, config, sentences, rng)


def _upstream_first(graph: KnowledgeGraph) -> list[int]:
    """All relations, each after the one it depends on."""
    depth = []
    for relation in range(len(graph.relations)):
        steps, at = 0, relation
        while graph.upstream[at] >= 0:
            steps, at = steps + 1, int(graph.upstream[at])
        depth.append(steps)
    return np.argsort(depth, kind="stable").tolist()


def _silence_below(graph: KnowledgeGraph, stratum: np.ndarray) -> None:
    """Set to NEVER, in place, what depends on an inner fact that is never stated, all the way down."""
    for relation in _upstream_first(graph):
        mine = np.flatnonzero((graph.relation == relation) & (graph.upstream_fact >= 0))
        above = graph.upstream_fact[mine]
        stratum[mine[(stratum[above] == NEVER) & (graph.upstream_fact[above] >= 0)]] = NEVER


def _plant_objects(
    graph: KnowledgeGraph, config: ExactConfig, may_be_wrong: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """int32[facts]: the graph's objects, but for planted facts, each of which has any other candidate.

    Raises:
        InputError: on none of the facts that may be wrong do facts of linked subjects depend.
    """
    linked = (graph.via[graph.relation] != NO_LINK) & (graph.upstream_fact >= 0)
    facts = np.unique(graph.upstream_fact[linked])
    facts = facts[may_be_wrong[facts]]
    if not len(facts):
        raise InputError(
            f"exact.planted is {config.planted}, but no fact of this world can be stated wrongly: plants are "
            "facts on which facts of linked subjects depend (--world.source coupled), and which no sentence "
            "settles (--exact.correctable)"
        )
    objects = graph.object.copy()
    for fact in rng.choice(facts, round(config.planted * len(facts)), replace=False).tolist():
        candidates = graph.candidates_of(int(graph.relation[fact]))
        objects[fact] = rng.choice(candidates[candidates != objects[fact]])
    return objects


def _draw_from_urns(
    graph: KnowledgeGraph,
    config: ExactConfig,
    relation: int,
    row: np.ndarray,
    fixed_objects: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """int32: one object of a relation for each entry of `row`, the key of the row it is drawn from."""
    order = np.argsort(row, kind="stable")
    keys, starts = np.unique(row[order], return_index=True)
    drawn = np.empty(len(row), np.int32)
    kernels_urn = choose_kernels(kernels.draw_from_urns, len(row))
    kernels_urn(
        rng, np.append(starts, len(row)), np.where(keys < 0, config.root_mass, config.row_mass),
        graph.candidates_of(relation), fixed_objects[order].astype(np.int32), drawn,
    )  # fmt: skip
    objects = np.empty_like(drawn)
    objects[order] = drawn
    return objects
