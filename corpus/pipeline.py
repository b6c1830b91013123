"""From a world to its corpus: draw the sentences, compose the documents, save both (design.md 3)."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.arrays import save_arrays
from corpus.config import DocumentConfig, ExactConfig, TokenizerConfig
from corpus.exact import ExactModel, sample_exact
from corpus.generative import GenerativeModel
from corpus.graph import KnowledgeGraph
from corpus.resolution import Resolution
from corpus.seeds import generator
from corpus.text.counterfactual import ChosenDocuments, write_further_documents
from corpus.text.documents import Documents, append_documents, cut_documents, save_documents
from corpus.text.essays import join_essays, outline_essays
from corpus.text.language import Kind
from corpus.text.phrasings import rephrase_sentences
from corpus.text.pretrained import read_pretrained
from corpus.text.sentences import Sentences, concatenate_sentences, sample_sentences
from corpus.text.store import write_documents
from corpus.text.tokenizer import Tokenizer, entity_tokenizer, pretrained_tokenizer, save_tokenizer, train_bpe


class Corpus(NamedTuple):
    """All sentences about a world, and the documents that have them.

    Attributes:
        sentences: the evidence about the world.
        further: sentences that only further documents have; documents number them after `sentences`.
        chosen: subjects and objects that imagine and revise documents may be about.
    """

    sentences: Sentences
    further: Sentences
    chosen: ChosenDocuments
    documents: Documents
    tokenizer: Tokenizer


def draw_sentences(
    graph: KnowledgeGraph,
    model: GenerativeModel | ExactModel,
    exact: ExactConfig,
    config: DocumentConfig,
    seed: int,
    threads: int,
) -> tuple[Sentences, Resolution | None]:
    """The evidence about a world; for kind `exact` also how sure it leaves a reader of each fact.

    Raises:
        InputError: facts of an exact world stay in doubt.
    """
    rng = generator(seed, "sentences")
    if isinstance(model, ExactModel):
        return sample_exact(graph, model, exact, rng, threads)
    sentences = sample_sentences(graph, model, rng, threads, config.labels)
    kinds = [Kind[name.upper()] for name in config.sentences]
    return sentences.take(np.isin(sentences.kind, kinds)), None


def count_copies(frequency: np.ndarray, copies: int) -> np.ndarray:
    """int64[entities]: how many times over the sentences of each subject are written.

    So many of the subject that is spoken of most often, of others in proportion, of everybody once.
    Copies are written for a model to read; they are not evidence, and nothing counts them as such.

    >>> count_copies(np.array([10, 5, 0]), 4).tolist()
    [4, 2, 1]

    Args:
        frequency: int[entities], how often each is spoken of.
    """
    return np.maximum(1, np.rint(copies * frequency / frequency.max())).astype(np.int64)


def choose_documents(
    graph: KnowledgeGraph, config: DocumentConfig, rng: np.random.Generator
) -> ChosenDocuments:
    """Random shares of the subjects and of the objects of relations that others depend on."""
    pools = [graph.candidates_of(r) for r in graph.upstream_relations]
    objects = np.unique(np.concatenate([np.empty(0, np.int32), *pools]))

    def draw_share(of: np.ndarray, share: float) -> np.ndarray:
        return np.sort(rng.choice(of, round(share * len(of)), replace=False)).astype(np.int32)

    return ChosenDocuments(
        draw_share(graph.subjects, config.chosen_subjects), draw_share(objects, config.chosen_objects)
    )


def count_mentions(sentences: Sentences, entities: int, relations: int, phrasings: int = 0) -> np.ndarray:
    """int64[entities + relations + phrasings]: how often sentences name each."""
    joined = sentences.b[sentences.b[:, 0] >= 0]
    named = sum(np.bincount(atom[:, i], minlength=entities) for atom in (sentences.a, joined) for i in (0, 2))
    way = np.where(sentences.phrasing, relations + sentences.phrasing - 1, sentences.a[:, 1])
    used = sum(np.bincount(column, minlength=relations + phrasings) for column in (way, joined[:, 1]))
    return np.concatenate([named, used])


def compose_corpus(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    sentences: Sentences,
    config: DocumentConfig,
    tokenizer: TokenizerConfig,
    seed: int,
    threads: int,
) -> Corpus:
    """Ordinary documents of the sentences, further documents, and the tokenizer of both.

    Every step draws from a stream of its own under `seed`.

    Args:
        truth: int[facts], ground truth of each fact.

    Raises:
        InputError: documents are asked for that this world does not have, or too small a vocabulary.
    """
    copies = count_copies(graph.frequency, config.copies)
    documents = cut_documents(sentences, config, generator(seed, "documents"), threads, copies)
    ordinary = len(documents)
    rng = generator(seed, "further documents")
    chosen = choose_documents(graph, config, rng)
    further, more = write_further_documents(graph, truth, sentences, ordinary, config, chosen, rng)
    rng = generator(seed, "phrasings")
    # Hedges, which stand behind the others, say something else.
    ways = [way for way in graph.phrasings if not way.is_hedge]
    sentences = rephrase_sentences(sentences, ways, config, rng)
    further = rephrase_sentences(further, ways, config, rng)
    rng = generator(seed, "essays")
    more = append_documents(more, join_essays(graph, sentences, ordinary, config, rng))
    documents = append_documents(documents, more)
    outlines, documents = outline_essays(
        graph, concatenate_sentences(sentences, further), documents, config, rng
    )
    further = concatenate_sentences(further, outlines)
    if tokenizer.kind != "bpe":
        whole = (
            entity_tokenizer(graph)
            if tokenizer.kind == "entity"
            else pretrained_tokenizer(graph, read_pretrained(Path(tokenizer.path).expanduser()))
        )
        return Corpus(sentences, further, chosen, documents, whole)
    names = len(graph.entities), len(graph.relations), len(graph.phrasings)
    bpe = train_bpe(
        graph, count_mentions(concatenate_sentences(sentences, further), *names), tokenizer.vocabulary
    )
    return Corpus(sentences, further, chosen, documents, bpe)


def save_corpus(
    corpus: Corpus,
    resolution: Resolution | None,
    folder: Path,
    threads: int,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Write a corpus into an existing folder.

    Args:
        advance: told the number of documents after each piece that is written.
    """
    save_arrays(corpus.sentences, folder / "sentences.npz")
    save_arrays(corpus.further, folder / "further_sentences.npz")
    save_arrays(corpus.chosen, folder / "chosen.npz")
    save_documents(corpus.documents, folder / "documents.npz")
    if resolution is not None:
        save_arrays(resolution, folder / "resolution.npz")
    save_tokenizer(corpus.tokenizer, folder / "tokenizer.json")
    sentences = concatenate_sentences(corpus.sentences, corpus.further)
    write_documents(folder, sentences, corpus.documents, corpus.tokenizer, threads, advance)
