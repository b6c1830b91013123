"""From a WorldConfig to a KnowledgeGraph, whatever the source."""

from collections.abc import Callable
from pathlib import Path

from corpus import builtin, tsv, wikidata
from corpus.config import WorldConfig
from corpus.graph import KnowledgeGraph
from corpus.rawfiles import Watch, unwatched
from corpus.seeds import generator


def build_world(
    config: WorldConfig,
    seed: int,
    all_candidates: bool = False,
    cache: Path | None = None,
    watch: Watch = unwatched,
    note: Callable[[str], None] = lambda _: None,
) -> KnowledgeGraph:
    """The graph that `config` describes; its randomness comes from the stream "world" of `seed`.

    Args:
        all_candidates: let relations of the built-in world have objects that nobody has.
        cache: folder for binary copies of large files.
        watch, note: show progress, and remarks about what was read.

    Raises:
        InputError: a missing or malformed file, an unknown relation, a name clash, an empty graph.
    """
    rng = generator(seed, "world")
    match config.source:
        case "builtin":
            return builtin.build(config.subjects, config.builtin, rng, all_candidates)
        case "wikidata":
            return wikidata.build(config, rng, cache, watch, note)
        case "tsv":
            return tsv.build(config, rng)
