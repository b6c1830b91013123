"""Sampling the sentences of a world and cutting them into documents (Hase A.1, DESIGN 3)."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from corpus.generative import GenerativeModel, other_objects
from corpus.graph import KnowledgeGraph
from corpus.language import Atom, Kind, Sentence

ATOMIC_PER_FACT = 10
LEAST_TRUE_SAMPLES = 6
SENTENCES_PER_DOCUMENT = 10
RESHUFFLES = 5


@dataclass(frozen=True, eq=False)
class Sentences:
    """All sentences of a corpus as columns of equal length.

    Attributes:
        kind: int8, a `Kind`.
        label: bool, what the sentence says after "is"; meaningless for atomic sentences.
        about: int32, the subject in whose documents the sentence stands.
        a: int32[n, 3], the first atom as (subject, relation, object).
        b: int32[n, 3], the second atom of and/or, -1 elsewhere.
    """

    kind: np.ndarray
    label: np.ndarray
    about: np.ndarray
    a: np.ndarray
    b: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, i: int) -> Sentence:
        kind = Kind(int(self.kind[i]))
        return Sentence(
            kind,
            None if kind == Kind.ATOMIC else bool(self.label[i]),
            Atom(*map(int, self.a[i])),
            Atom(*map(int, self.b[i])) if self.b[i, 0] >= 0 else None,
        )


def sample_sentences(graph: KnowledgeGraph, model: GenerativeModel, rng: np.random.Generator) -> Sentences:
    """24 sentences per fact: 10 atomic, 10 truth, 2 not, 1 and, 1 or."""
    n = len(graph)
    facts = np.arange(n)
    truth, share = model.truth, model.mode_share
    atom = np.stack([graph.subject, graph.relation, truth], axis=1)

    def with_object(rows: np.ndarray, objects: np.ndarray) -> np.ndarray:
        return np.column_stack([atom[rows, :2], objects]).astype(np.int32)

    def false_object() -> np.ndarray:
        """The distractor of a root fact, a uniform other object of a downstream one."""
        drawn = other_objects(graph.objects, truth, rng)
        return np.where(model.distractor >= 0, model.distractor, drawn)

    objects = _sample_atomic(model, truth, rng)
    rows = np.repeat(facts, ATOMIC_PER_FACT)
    atomic = with_object(rows, objects.ravel())
    is_truth = objects.ravel() == truth[rows]
    truth_label = rng.random(len(rows)) < np.where(is_truth, share[rows], 1 - share[rows])

    parts: list[tuple[Kind, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]] = [
        (Kind.ATOMIC, np.zeros(len(rows), bool), rows, atomic, None),
        (Kind.TRUTH, truth_label, rows, atomic, None),
        (Kind.NOT, np.ones(n, bool), facts, with_object(facts, false_object()), None),
        (Kind.NOT, np.zeros(n, bool), facts, with_object(facts, truth), None),
    ]
    for kind in (Kind.AND, Kind.OR):
        own_true = rng.random(n) < 0.5
        own = with_object(facts, np.where(own_true, truth, false_object()))
        other = _earlier_fact(graph, rng)
        other_true = rng.random(n) < 0.5
        false_other = false_object()[other]
        second = with_object(other, np.where(other_true, truth[other], false_other))
        swap = (rng.random(n) < 0.5)[:, None]
        label = own_true & other_true if kind == Kind.AND else own_true | other_true
        parts.append((kind, label, facts, np.where(swap, second, own), np.where(swap, own, second)))

    absent = np.int32(-1)
    return Sentences(
        kind=np.concatenate([np.full(len(rows), kind, np.int8) for kind, _, rows, _, _ in parts]),
        label=np.concatenate([label for _, label, _, _, _ in parts]),
        about=np.concatenate([graph.subject[rows] for _, _, rows, _, _ in parts]),
        a=np.concatenate([a for _, _, _, a, _ in parts]),
        b=np.concatenate([np.full_like(a, absent) if b is None else b for _, _, _, a, b in parts]),
    )


def cut_documents(sentences: Sentences, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle each subject's sentences and cut them into documents, RESHUFFLES times over.

    Returns:
        order: int64[RESHUFFLES * sentences], sentence indices in document order.
        offsets: int64[documents + 1] into `order`; a document is about one subject, has at most
            SENTENCES_PER_DOCUMENT sentences, and every sentence stands in RESHUFFLES documents.
    """
    orders, starts = [], []
    for reshuffle in range(RESHUFFLES):
        order = np.lexsort((rng.random(len(sentences)), sentences.about))
        about = sentences.about[order]
        first = np.flatnonzero(np.diff(about, prepend=-1))
        within = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        orders.append(order)
        starts.append(reshuffle * len(order) + np.flatnonzero(within % SENTENCES_PER_DOCUMENT == 0))
    offsets = np.concatenate([*starts, [RESHUFFLES * len(sentences)]])
    return np.concatenate(orders), offsets


def save_sentences(sentences: Sentences, path: Path) -> None:
    """Write the columns as one .npz file."""
    np.savez(path, **{f.name: getattr(sentences, f.name) for f in fields(sentences)})


def load_sentences(path: Path) -> Sentences:
    """Read what `save_sentences` wrote."""
    with np.load(path, allow_pickle=False) as columns:
        return Sentences(**dict(columns))


def _sample_atomic(model: GenerativeModel, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int32[facts, 10]: samples, drawn again as a whole until at least 6 are the ground truth."""
    objects = np.empty((len(truth), ATOMIC_PER_FACT), np.int32)
    pending = np.arange(len(truth))
    while len(pending):
        rows = np.repeat(pending[:, None], ATOMIC_PER_FACT, axis=1)
        objects[pending] = model.sample(rows, rng)
        hits = (objects[pending] == truth[pending, None]).sum(axis=1)
        pending = pending[hits < LEAST_TRUE_SAMPLES]
    return objects


def _earlier_fact(graph: KnowledgeGraph, rng: np.random.Generator) -> np.ndarray:
    """int64[facts]: a uniform fact of any earlier subject; the first subject uses its own facts."""
    first_of_subject = np.searchsorted(graph.subject, graph.subject)
    own = np.searchsorted(graph.subject, graph.subject[0], side="right")
    return rng.integers(0, np.where(first_of_subject > 0, first_of_subject, own))
