"""What a run knows about its world: graph, distributions, sentences, tokenizer."""

from typing import NamedTuple

from bayes.agents import PaperAgent, fit
from bayes.evidence import evidence_from
from corpus.errors import InputError
from corpus.files import read_json, verify_folder
from corpus.generative import GenerativeModel, load_generative
from corpus.graph import KnowledgeGraph, load_graph
from corpus.sentences import Sentences, load_sentences
from corpus.tokenizer import Tokenizer, load_tokenizer
from testbed.runs import Run, digest, recorded


class World(NamedTuple):
    """One world and what is said about it."""

    graph: KnowledgeGraph
    generative: GenerativeModel
    sentences: Sentences
    tokenizer: Tokenizer


def load_world(run: Run) -> World:
    """Read a run's world and sentences after verifying their checksums.

    Raises:
        InputError: the corpus was never built, or a file has changed.
    """
    recorded(run, "corpus")
    verify_folder(run.world)
    verify_folder(run.corpus)
    if read_json(run.corpus / "origin.json")["world"] != digest(run.world):
        raise InputError(
            f"{run.corpus} was written about another world than {run.world}; delete {run.folder}"
        )
    graph = load_graph(run.world)
    return World(
        graph,
        load_generative(run.world / "generative.npz"),
        load_sentences(run.corpus / "sentences.npz"),
        load_tokenizer(run.corpus / "tokenizer.json", graph),
    )


def agent_of(world: World, prior_mass: float = 1.0, evidence_multiplicity: float = 5.0) -> PaperAgent:
    """The paper's agent after reading the world's sentences."""
    graph = world.graph
    evidence = evidence_from(world.sentences)
    return fit(evidence, graph.upstream, len(graph.objects), prior_mass, evidence_multiplicity)
