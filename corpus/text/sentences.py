"""Sampling the sentences of a world of kind `published` (Hase A.1, design.md 3)."""

from dataclasses import dataclass, fields

import numpy as np

from corpus import kernels
from corpus.compiled import choose_kernels, run_blocks, spawn_streams
from corpus.config import Labels
from corpus.generative import GenerativeModel
from corpus.graph import KnowledgeGraph
from corpus.text.language import Atom, Kind, Sentence

FACTS_PER_BLOCK = 4096
KINDS_OF_A_FACT = [Kind.ATOMIC] * 10 + [Kind.TRUTH] * 10 + [Kind.NOT] * 2 + [Kind.AND, Kind.OR]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as columns of equal length, those about one subject next to each other.

    Attributes:
        kind: int8, a `Kind`.
        label: bool, what the sentence says after "is"; meaningless for kinds without.
        about: int32, the subject in whose documents the sentence stands.
        a: int32[n, 3], the first atom as (subject, relation, object).
        b: int32[n, 3], the second atom of and/or, -1 elsewhere.
        phrasing: int16, how the relation is said; see `corpus.text.language.Sentence`.
    """

    kind: np.ndarray
    label: np.ndarray
    about: np.ndarray
    a: np.ndarray
    b: np.ndarray
    phrasing: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, i: int) -> Sentence:
        kind, second = Kind(int(self.kind[i])), self.b[i, 0] >= 0
        labelled = Kind.TRUTH <= kind <= Kind.OR
        return Sentence(
            kind,
            bool(self.label[i]) if labelled else None,
            Atom(*map(int, self.a[i])),
            Atom(*map(int, self.b[i])) if second else None,
            int(self.phrasing[i]),
        )

    def take(self, which: np.ndarray | slice) -> "Sentences":
        """The sentences at the given places."""
        return Sentences(**{f.name: getattr(self, f.name)[which] for f in fields(self)})


def make_sentences(kind: np.ndarray | Kind, atoms: np.ndarray) -> Sentences:
    """Sentences of one atom, int[n, 3], of one kind or a kind each; "is false", where they have a label."""
    n = len(atoms)
    return Sentences(
        kind=np.full(n, kind, np.int8),
        label=np.zeros(n, bool),
        about=atoms[:, 0].astype(np.int32),
        a=atoms.astype(np.int32),
        b=np.full((n, 3), -1, np.int32),
        phrasing=np.zeros(n, np.int16),
    )


def concatenate_sentences(*parts: Sentences) -> Sentences:
    """The sentences of all parts, one part after another; those of a single one are not copied."""
    parts = tuple(part for part in parts if len(part)) or parts[:1]
    if len(parts) == 1:
        return parts[0]
    return Sentences(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Sentences)}
    )


def sample_sentences(
    graph: KnowledgeGraph,
    model: GenerativeModel,
    rng: np.random.Generator,
    threads: int = 1,
    labels: Labels = "coin",
) -> Sentences:
    """24 sentences per fact, in the order of facts: 10 atomic, 10 truth, 2 not, 1 and, 1 or.

    Every block of facts has a stream of its own, so the result does not depend on `threads`.
    """
    n = len(graph)
    rows = n * kernels.SENTENCES_PER_FACT
    label = np.zeros(rows, bool)
    a, b = np.empty((rows, 3), np.int32), np.full((rows, 3), -1, np.int32)
    # How many facts earlier subjects have; for the first subject, how many it has itself.
    before = np.searchsorted(graph.subject, graph.subject)
    own = np.searchsorted(graph.subject, graph.subject[0], side="right")
    truth, share, earlier = model.truth, model.mode_share, np.where(before > 0, before, own)
    start, stop = model.offsets[model.table], model.offsets[model.table + 1]
    place = np.searchsorted(graph.objects, truth)
    sample = choose_kernels(kernels.draw_statements, rows)

    streams_of = spawn_streams(rng, n, FACTS_PER_BLOCK)

    def sample_block(low: int, high: int) -> None:
        sample(
            streams_of[low // FACTS_PER_BLOCK], low, high,
            graph.subject, graph.relation, truth, share, start, stop, model.objects, model.cumulative,
            model.distractor, graph.objects, place, earlier,
            labels == "proportion", label, a, b,
        )  # fmt: skip

    run_blocks(sample_block, n, FACTS_PER_BLOCK, threads)
    return Sentences(
        kind=np.tile(np.array(KINDS_OF_A_FACT, np.int8), n),
        label=label,
        about=np.repeat(graph.subject, kernels.SENTENCES_PER_FACT),
        a=a,
        b=b,
        phrasing=np.zeros(rows, np.int16),
    )
