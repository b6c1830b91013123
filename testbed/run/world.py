"""What a run knows about its world: graph, distributions, sentences, tokenizer."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.arrays import load_arrays, save_arrays
from corpus.config import KINDS, DocumentConfig, ExactConfig
from corpus.exact import ExactModel
from corpus.files import read_json, verify_folder
from corpus.generative import GenerativeModel
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, load_graph, save_graph
from corpus.resolution import Resolution
from corpus.text.counterfactual import ChosenDocuments
from corpus.text.language import Kind
from corpus.text.sentences import Sentences
from corpus.text.tokenizer import Tokenizer, load_tokenizer
from corpus.worlds.reversals import Reversal, find_reversals
from testbed.run.own_world import Origin
from testbed.run.runs import ORIGIN, NotMadeError, Run, folder_digest, recorded_settings

BY_RELATION = "trees"
"""Kind of the worlds in which a relation depends on one other at most."""


class ExactWorld(NamedTuple):
    """What makes the posteriors of a world exact: its model, how far facts are resolved, and their origin.

    Attributes:
        is_drawn: whether the facts were drawn from the model, not given.
    """

    config: ExactConfig
    resolution: Resolution
    is_drawn: bool


class World(NamedTuple):
    """One world and what is said about it.

    Attributes:
        exact: for worlds of kind `exact`.
        chosen: whom and what imagine and revise documents may be about, where there are any.
        path: the folder or file that its facts come from; None where they were generated.
        tags: the folder that real people's groups come from.
        origin: what makes a world of a kind of its own again; None for all others.
        reversals: relations that are each other's inverse, or their own (`corpus.worlds.reversals`).
        reshuffles: how many documents each sentence stands in, copies of seldom or often told subjects apart.
    """

    graph: KnowledgeGraph
    generative: GenerativeModel | ExactModel
    sentences: Sentences
    tokenizer: Tokenizer
    exact: ExactWorld | None = None
    chosen: ChosenDocuments | None = None
    path: Path | None = None
    tags: Path | None = None
    reshuffles: int = DocumentConfig.reshuffles
    origin: Origin | None = None
    reversals: Sequence[Reversal] = ()

    @property
    def kind(self) -> str:
        """How its facts depend on each other (docs/kinds.md)."""
        return _kind_of(self.origin)

    @property
    def stated_facts(self) -> np.ndarray:
        """int64: the facts with at least one atomic sentence, ascending."""
        atomic = self.sentences.a[self.sentences.kind == Kind.ATOMIC]
        return np.unique(self.graph.find(atomic[:, 0], atomic[:, 1]))


def _wrong_part(
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


def load_world(run: Run) -> World:
    """Read a run's world and sentences after verifying their checksums.

    Raises:
        NotMadeError: the corpus was never built.
        InputError: a file has changed.
    """
    settings, _ = recorded_settings(run, "corpus")
    if not run.corpus.exists():
        raise NotMadeError(f"{run.corpus} is not written yet", "corpus", run)
    verify_folder(run.world)
    verify_folder(run.corpus)
    if read_json(run.corpus / ORIGIN).get("world") != folder_digest(run.world):
        why = f"{run.corpus} was written about another world than {run.world}; move both away"
        raise NotMadeError(why, "corpus", run)
    graph, model = read_world(run)
    exact = None
    if isinstance(model, ExactModel):
        resolution = load_arrays(Resolution, run.corpus / "resolution.npz")
        exact = ExactWorld(exact_config(settings), resolution, settings["world"]["source"] == "builtin")
    supposing = settings["documents"]["imagine"] or settings["documents"]["revise"]
    world = World(
        graph,
        model,
        load_arrays(Sentences, run.corpus / "sentences.npz"),
        load_tokenizer(run.corpus / "tokenizer.json", graph),
        exact,
        load_arrays(ChosenDocuments, run.corpus / "chosen.npz") if supposing else None,
        Path(settings["world"]["path"]) if settings["world"]["path"] else None,
        Path(settings["world"]["people"]["tags"]) if settings["world"]["people"]["tags"] else None,
        settings["documents"]["reshuffles"],
        origin_of(settings),
        find_reversals(graph) if settings["world"]["reversals"] == "found" else (),
    )
    settled = exact.resolution if exact else None
    wrong = _wrong_part(graph, model, world.sentences, settled, world.chosen)
    if wrong:
        why = f"{run.world} and {run.corpus} do not fit together (not valid: {wrong}); move both away"
        raise NotMadeError(why, "corpus", run)
    return world


def origin_of(settings: dict) -> Origin | None:
    """What makes the world of these recorded settings again, where it is of a kind of its own."""
    source = settings["world"]["source"]
    is_own = source in KINDS or ":" in source
    return Origin(source, settings["seed"], settings["world"]["subjects"]) if is_own else None


def kind_of_world(run: Run) -> str:
    """The kind of a run's world, as it is recorded."""
    return _kind_of(origin_of(recorded_settings(run, "corpus")[0]))


def _kind_of(origin: Origin | None) -> str:
    return origin.source if origin else BY_RELATION


def exact_config(settings: dict) -> ExactConfig:
    """The model W in the recorded settings of a corpus."""
    return ExactConfig(**settings["exact"] | {"strata": tuple(settings["exact"]["strata"])})


def save_world(graph: KnowledgeGraph, model: GenerativeModel | ExactModel, folder: Path) -> None:
    """Write graph and distributions into an existing folder."""
    save_graph(graph, folder)
    save_arrays(model, folder / ("exact.npz" if isinstance(model, ExactModel) else "generative.npz"))


def read_world(run: Run) -> tuple[KnowledgeGraph, GenerativeModel | ExactModel]:
    """Read what `save_world` wrote, whichever kind of corpus the world is for."""
    exact = run.world / "exact.npz"
    graph = load_graph(run.world)
    if exact.exists():
        return graph, load_arrays(ExactModel, exact)
    return graph, load_arrays(GenerativeModel, run.world / "generative.npz")
