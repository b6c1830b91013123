"""From a WorldConfig to a KnowledgeGraph, whatever the source."""

from collections.abc import Callable
from pathlib import Path

from corpus import builtin, tables, wikidata
from corpus.account import Account
from corpus.config import WorldConfig
from corpus.graph import KnowledgeGraph
from corpus.rawfiles import Watch, unwatched
from corpus.seeds import generator
from corpus.selection import select


def build_world(
    config: WorldConfig,
    seed: int,
    all_candidates: bool = False,
    cache: Path | None = None,
    watch: Watch = unwatched,
    note: Callable[[str], None] = lambda _: None,
    account: Account | None = None,
) -> KnowledgeGraph:
    """The graph that `config` describes; its randomness comes from the stream "world" of `seed`.

    Args:
        all_candidates: for worlds of kind `exact`: let relations of the built-in world have objects that
            nobody has, and leave out relations from files that have a single object.
        cache: folder for binary copies of large files.
        watch, note: show progress, and remarks about what was read.
        account: is told what was left out and renamed.

    Raises:
        InputError: a missing or malformed file, an unknown relation, an empty graph.
    """
    rng, account = generator(seed, "world"), account or Account()
    match config.source:
        case "builtin":
            return builtin.build(config.subjects, config.builtin, rng, all_candidates)
        case "wikidata":
            facts = wikidata.read(config, cache, watch, note, account)
        case "tsv":
            facts = tables.read(config, watch, account)
    return select(facts, config, rng, account, note, two_objects=all_candidates)
