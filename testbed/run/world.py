"""What a run knows about its world: graph, distributions, sentences, tokenizer."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.arrays import load_arrays, save_arrays
from corpus.config import KINDS, DocumentConfig, ExactConfig
from corpus.exact import ExactModel
from corpus.files import read_json, verify_folder
from corpus.generative import GenerativeModel
from corpus.graph import KnowledgeGraph, load_graph, save_graph
from corpus.resolution import Resolution
from corpus.text.counterfactual import ChosenDocuments
from corpus.text.language import Kind
from corpus.text.sentences import Sentences
from corpus.text.tokenizer import Tokenizer, load_tokenizer
from corpus.worlds.reversals import Reversal, find_reversals
from testbed.run.fitting_parts import wrong_part
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
    wrong = wrong_part(graph, model, world.sentences, settled, world.chosen)
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
