"""Whether the arrays of a world belong together: whatever stands in files, no id is of nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from corpus.exact import ExactModel, Resolution
from corpus.generative import GenerativeModel
from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from corpus.text.counterfactual import ChosenDocuments
from corpus.text.language import Kind
from corpus.text.sentences import Sentences


def wrong_part(
    graph: KnowledgeGraph,
    model: GenerativeModel | ExactModel,
    sentences: Sentences,
    resolution: Resolution | None,
    documents: ChosenDocuments | None,
) -> str:
    """What of a world cannot be, in words; empty where everything fits."""
    try:
        parts = _world_parts(graph, model, sentences, resolution, documents)
        return next((what for what, fits in parts if not fits), "")
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        return f"an array ({error})"


def _world_parts(
    graph: KnowledgeGraph,
    model: GenerativeModel | ExactModel,
    sentences: Sentences,
    resolution: Resolution | None,
    documents: ChosenDocuments | None,
) -> Iterator[tuple[str, bool]]:
    people, facts = len(graph.entities), len(graph)
    yield from _graph_parts(graph)
    if isinstance(model, ExactModel):
        yield "the truth", _are_ids(model.truth, 0, people, facts)
        columns = (model.statements, model.truths, model.logical, model.open, model.said)
        yield "the facts that sentences state", all(len(column) == facts for column in columns)
    else:
        tables = len(model.offsets) - 1
        yield "the table of a fact", _are_ids(model.table, 0, tables, facts)
        yield "the tables", _are_offsets(model.offsets, len(model.objects))
        yield "an empty table", bool((np.diff(model.offsets) > 0).all())
        yield "an object of a table", _are_ids(model.objects, 0, people, len(model.probability))
        yield "a distractor", _are_ids(model.distractor, -1, people, facts)
        p = model.probability
        yield "a probability", bool(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all())
    count = len(sentences)
    yield "a kind of sentence", _are_ids(sentences.kind, 0, len(Kind), count)
    yield "the subject of a sentence", _are_ids(sentences.about, -1, people, count)
    for atom, low in ((sentences.a, 0), (sentences.b, -1)):
        yield "an atom of a sentence", atom.shape == (count, 3)
        for column, high in zip(atom.T, (people, len(graph.relations), people), strict=True):
            yield "an atom of a sentence", _are_ids(column, low, high, count)
    yield "a label", len(sentences.label) == count
    if documents is not None:
        for ids in (documents.subjects, documents.objects):
            yield "the subjects and objects that documents imagine", _are_ids(ids, 0, people, len(ids))
    if resolution is not None:
        yield "the facts that are settled", len(resolution.certified) == facts
        yield "the doubt about a subject", len(resolution.bound) == len(graph.subjects)


def _graph_parts(graph: KnowledgeGraph) -> Iterator[tuple[str, bool]]:
    people, relations, facts = len(graph.entities), len(graph.relations), len(graph)
    yield "the number of facts", facts > 0 and people > 0
    yield "two things of one name", len({*graph.entities}) == people and len({*graph.relations}) == relations
    yield "the subject of a fact", _are_ids(graph.subject, 0, people, facts)
    yield "the relation of a fact", _are_ids(graph.relation, 0, relations, facts)
    yield "the object of a fact", _are_ids(graph.object, 0, people, facts)
    yield "the order of facts", bool((np.diff(graph.keys) > 0).all())
    yield "what a relation depends on", _are_ids(graph.upstream, NO_UPSTREAM, relations, relations)
    groups = len(graph.groups)
    yield "the group of an entity", _are_ids(graph.group, -1, max(groups, 1), people)
    yield "the valence of an object", _are_ids(graph.valence, -1, 2, people)
    yield "what a group is part of", _are_ids(graph.wider, -1, groups, groups if len(graph.wider) else 0)
    yield "a candidate", _are_ids(graph.candidates, 0, people, len(graph.candidates))
    yield "the candidates", _are_offsets(graph.candidate_offsets, len(graph.candidates))
    yield "the candidates", len(graph.candidate_offsets) == relations + 1


def _are_ids(values: Any, low: int, high: int, count: int) -> bool:
    """Whether there are so many whole numbers, all of them in [low, high)."""
    whole = values.dtype.kind in "iu" and values.shape == (count,)
    return bool(whole and (not count or (values.min() >= low and values.max() < high)))


def _are_offsets(values: Any, end: int) -> bool:
    whole = values.dtype.kind in "iu" and values.ndim == 1 and len(values) > 0
    return bool(whole and values[0] == 0 and values[-1] == end and (np.diff(values) >= 0).all())
